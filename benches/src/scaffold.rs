//! Measures what an operator's author waits for: `kubewright new`, builds and checks. Also counts the crates of a scaffold.
//!
//! `cargo run --release -p kubewright-benches --bin scaffold` prints a Markdown table. With `-- --typed-apply` it measures what the types of
//! `#[derive(ApplyConfiguration)]` cost the compiler. Nothing is downloaded, since the scaffold gets this workspace's Cargo.lock.

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

/// Rounds of `--typed-apply`. Each builds the operator with the types and without them.
const PAIRS: usize = 9;

/// What `/proc` counts CPU time in, on all platforms that Rust supports.
const TICKS_PER_SECOND: f64 = 100.0;

fn main() -> Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the package is not in a workspace")?;
    let mut build = cargo(
        workspace,
        &["build", "--offline", "--workspace", "--bin", "kubewright"],
    );
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    build.run()?;
    let folder = tempfile::tempdir()?;
    let bench = Bench {
        // Cargo builds it into the same folder as this program.
        kubewright: std::env::current_exe()?.with_file_name("kubewright"),
        target: folder.path().join("target"),
        project: folder.path().join("0/shop"),
    };
    if std::env::args().any(|argument| argument == "--typed-apply") {
        return typed_apply(&bench, workspace, folder.path());
    }

    println!("| | |\n|---|---:|");
    let new = rounds(|round| bench.new_project(&folder.path().join(format!("{round}/shop"))))?;
    println!("| `kubewright new` | {:.0} ms |", new * 1000.0);
    fs::copy(workspace.join("Cargo.lock"), bench.project.join("Cargo.lock"))?;

    let runtime = bench.crates("normal,no-proc-macro")?;
    let all = bench.crates("normal,build")?;
    println!("| crates, including those for build scripts and macros | {all} |");
    println!("| crates linked into the operator | {runtime} |");

    let before = cpu_of_children()?;
    bench.build()?;
    let first = cpu_of_children()? - before;
    println!("| `cargo build`, first, all processes | {first:.0} CPU s |");
    let edited = rounds(|round| bench.edit(round).and_then(|()| bench.build()))?;
    println!("| `cargo build` after editing a line | {edited:.1} s |");

    bench.generate(&[])?;
    let check = rounds(|_| bench.generate(&["--check"]))?;
    println!("| `kubewright generate --check`, already built | {check:.2} s |");
    Ok(())
}

/// Compares builds of a scaffold's operator, whose dependencies are built, with those of one whose types do not derive `ApplyConfiguration`.
fn typed_apply(bench: &Bench, workspace: &Path, folder: &Path) -> Result<()> {
    let projects = ["with", "without"].map(|name| folder.join(name).join("shop"));
    for project in &projects {
        bench.new_project(project)?;
        fs::copy(workspace.join("Cargo.lock"), project.join("Cargo.lock"))?;
    }
    let [_, without] = &projects;
    let derive = "ApplyConfiguration, ";
    let types = without.join("src/api/foo.rs");
    // The import, and the types of the spec and the status.
    for _ in 0..3 {
        replace(&types, derive, "")?;
    }
    // The whole object is an intent as well.
    replace(
        &without.join("src/controllers/foo.rs"),
        "FooApply::of(foo).status(status)",
        "Foo { status: Some(status), ..foo.clone() }",
    )?;
    // That of the command: some dependencies are built there already.
    let target = bench.kubewright.ancestors().nth(2).context("no target folder")?;
    let mut measured = [Vec::new(), Vec::new()];
    // The first round also builds the dependencies.
    for round in 0..=PAIRS {
        for at in [round % 2, 1 - round % 2] {
            let (project, measured) = (&projects[at], &mut measured[at]);
            let library = project.join("src/lib.rs");
            fs::write(&library, fs::read(&library)?)?;
            let before = cpu_of_children()?;
            cargo(project, &["build", "--offline"])
                .env("CARGO_TARGET_DIR", target)
                .env("CARGO_INCREMENTAL", "0")
                // A check of this workspace may have set it.
                .env_remove("RUSTC_WORKSPACE_WRAPPER")
                .run()?;
            if round > 0 {
                measured.push(cpu_of_children()? - before);
            }
        }
    }
    let [with, without] = measured;
    let ratios = with.iter().zip(&without).map(|(with, without)| with / without);
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    let (lowest, highest) = (ratios[0], ratios[PAIRS - 1]);
    println!("| operator's build, dependencies built | CPU s |\n|---|---:|");
    println!("| with `ApplyConfiguration` | {:.2} |", median(with));
    println!("| without | {:.2} |", median(without));
    println!(
        "| ratio of the pairs | {:.3} ({lowest:.3} to {highest:.3}) |",
        median(ratios)
    );
    Ok(())
}

/// Replaces the first occurrence.
fn replace(path: &Path, old: &str, new: &str) -> Result<()> {
    let before = fs::read_to_string(path)?;
    ensure!(
        before.contains(old),
        "{} does not contain {old:?}: update this benchmark",
        path.display()
    );
    Ok(fs::write(path, before.replacen(old, new, 1))?)
}

/// Returns the CPU time of all processes that this one started and that ended, in seconds.
fn cpu_of_children() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat")?;
    // The name may contain blanks. After it, `cutime` and `cstime` are the fields 14 and 15.
    let (_, fields) = text.rsplit_once(')').context("/proc/self/stat has no name")?;
    let ticks = fields.split_whitespace().skip(13).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS_PER_SECOND)
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
        replace(&path, "{reason} ", &format!("{{reason}} ({round}) "))
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
