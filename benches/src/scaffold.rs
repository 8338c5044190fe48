//! Measures what an operator's author waits for: `kubewright new`, builds and checks. Also counts the crates of a scaffold.
//!
//! `cargo run --release -p kubewright-benches --bin scaffold` prints a Markdown table. Nothing is downloaded, since the scaffold gets
//! this workspace's Cargo.lock.

#![expect(clippy::print_stdout, reason = "the table is this program's output")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use kubewright_benches::median;

const ROUNDS: usize = 3;

fn main() -> Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the package is not in a workspace")?;
    cargo(
        workspace,
        &["build", "--release", "--offline", "-p", "kubewright-cli"],
    )
    .run()?;
    let folder = tempfile::tempdir()?;
    let bench = Bench {
        // Cargo builds it into the same folder as this program.
        kubewright: std::env::current_exe()?.with_file_name("kubewright"),
        target: folder.path().join("target"),
        project: folder.path().join("0/shop"),
    };

    println!("| | |\n|---|---:|");
    let new = rounds(|round| bench.new_project(&folder.path().join(format!("{round}/shop"))))?;
    println!("| `kubewright new` | {:.0} ms |", new * 1000.0);
    fs::copy(workspace.join("Cargo.lock"), bench.project.join("Cargo.lock"))?;

    let runtime = bench.crates("normal,no-proc-macro")?;
    let all = bench.crates("normal,build")?;
    println!("| crates, including those for build scripts and macros | {all} |");
    println!("| crates linked into the operator | {runtime} |");

    println!("| `cargo build`, first | {:.0} s |", bench.build()?);
    let edited = rounds(|round| bench.edit(round).and_then(|()| bench.build()))?;
    println!("| `cargo build` after editing a line | {edited:.1} s |");

    bench.generate(&[])?;
    let check = rounds(|_| bench.generate(&["--check"]))?;
    println!("| `kubewright generate --check`, already built | {check:.2} s |");
    Ok(())
}

struct Bench {
    kubewright: PathBuf,
    target: PathBuf,
    project: PathBuf,
}

impl Bench {
    fn new_project(&self, path: &Path) -> Result<f64> {
        let mut command = Command::new(&self.kubewright);
        command.arg("new").arg(path);
        seconds(command.args(["--kind", "Foo", "--group", "demo.dev"]))
    }

    /// Returns the number of crates that the operator depends on along `edges`, cargo's names for dependency kinds.
    fn crates(&self, edges: &str) -> Result<usize> {
        let tree = [
            "tree",
            "--offline",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--edges",
            edges,
        ];
        let output = cargo(&self.project, &tree).run()?;
        let lines = String::from_utf8(output.stdout)?;
        let crates: BTreeSet<&str> = lines.lines().map(|line| line.trim_end_matches(" (*)")).collect();
        // Do not count the operator itself.
        Ok(crates.len() - 1)
    }

    fn build(&self) -> Result<f64> {
        seconds(cargo(&self.project, &["build", "--offline"]).env("CARGO_TARGET_DIR", &self.target))
    }

    /// Changes a string in the controller's source.
    fn edit(&self, round: usize) -> Result<()> {
        let path = self.project.join("src/controllers/foo.rs");
        let before = fs::read_to_string(&path)?;
        let after = before.replacen("{reason} ", &format!("{{reason}} ({round}) "), 1);
        ensure!(
            after != before,
            "the scaffold's controller does not contain the expected string: update this benchmark"
        );
        Ok(fs::write(path, after)?)
    }

    fn generate(&self, arguments: &[&str]) -> Result<f64> {
        let mut command = Command::new(&self.kubewright);
        command
            .arg("generate")
            .args(arguments)
            .current_dir(&self.project)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TARGET_DIR", &self.target);
        seconds(&mut command)
    }
}

/// Returns the median of all rounds.
fn rounds(measure: impl Fn(usize) -> Result<f64>) -> Result<f64> {
    let measured = (0..ROUNDS).map(measure);
    Ok(median(measured.collect::<Result<Vec<_>>>()?))
}

fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).current_dir(folder);
    command
}

fn seconds(command: &mut Command) -> Result<f64> {
    let start = Instant::now();
    command.run()?;
    Ok(start.elapsed().as_secs_f64())
}

trait Run {
    /// Runs the command to its end. The error of a failed command contains its standard error.
    fn run(&mut self) -> Result<Output>;
}

impl Run for Command {
    fn run(&mut self) -> Result<Output> {
        let output = self.output().with_context(|| format!("{self:?} cannot be run"))?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{self:?} failed: {error}");
        Ok(output)
    }
}
