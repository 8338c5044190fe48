//! Builds the measurements of `benches/` and starts them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail};
use clap::Args;

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub(crate) struct Options {
    /// A short run: fewer objects, one round; its figures are rough
    #[arg(long)]
    quick: bool,
    /// Only see whether every subject runs: a debug build, few objects; its figures mean nothing
    #[arg(long, conflicts_with = "quick")]
    smoke: bool,
    /// Put the tables into benches/README.md
    #[arg(long, conflicts_with_all = ["quick", "smoke"])]
    write: bool,
    /// Count allocations instead
    #[arg(long, conflicts_with_all = ["quick", "smoke", "write"])]
    allocations: bool,
    /// Fail when allocations are not within 10 % of those stored
    #[arg(long, requires = "allocations")]
    check: bool,
    /// Store the allocations
    #[arg(long, requires = "allocations", conflicts_with = "check")]
    update: bool,
    /// Measure only reads of the store
    #[arg(long, conflicts_with = "allocations")]
    lister: bool,
    /// Measure only the work queue
    #[arg(long, conflicts_with_all = ["allocations", "lister"])]
    queue: bool,
    /// Measure only a whole operator, on the real API server
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue"])]
    operator: bool,
    /// Arguments of the comparison, such as `--only kubewright --objects 10000 --rounds 3`
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies in no workspace")?;
    if options.allocations {
        return allocations(root, options);
    }
    let readme = root.join("benches/README.md");
    let bench = build(root, "bench", !options.smoke)?;
    let part = |name: &str| {
        let mut command = Command::new(&bench);
        command.arg(name);
        if options.write {
            command.arg("--write").arg(&readme);
        }
        command
    };
    let all = !options.lister && !options.queue && !options.operator;
    if all {
        let mut cache = part("cache");
        cache
            .arg("--peers")
            .arg(go(&root.join("benches/go"), &bench, "peers")?);
        match options {
            Options { smoke: true, .. } => {
                cache.args(["--objects", "500", "--events", "512", "--rounds", "1"])
            }
            Options { quick: true, .. } => {
                cache.args(["--objects", "5000", "--events", "5024", "--rounds", "1"])
            }
            _ => &mut cache,
        };
        succeed(cache.args(&options.arguments))?;
    }
    if all || options.lister {
        let mut lister = part("lister");
        if options.quick || options.smoke {
            lister.args(["--objects", "2000", "--seconds", "1"]);
        }
        succeed(&mut lister)?;
    }
    if all || options.queue {
        let mut queue = part("queue");
        queue
            .arg("--peers")
            .arg(go(&root.join("benches/go"), &bench, "peers")?);
        match options {
            Options { smoke: true, .. } => queue.args(["--keys", "10000", "--rounds", "1"]),
            Options { quick: true, .. } => queue.args(["--rounds", "1"]),
            _ => &mut queue,
        };
        succeed(&mut queue)?;
    }
    if all || options.operator {
        let mut operator = part("operator");
        operator
            .arg("--go")
            .arg(go(&root.join("benches/operator-go"), &bench, "operator")?);
        match options {
            Options { smoke: true, .. } => operator.args(["--widgets", "20", "--rounds", "1"]),
            Options { quick: true, .. } => operator.args(["--widgets", "200", "--rounds", "1"]),
            _ => &mut operator,
        };
        succeed(&mut operator)?;
    }
    Ok(())
}

/// Counts do not depend on what the compiler makes faster: the debug build is enough.
fn allocations(root: &Path, options: &Options) -> anyhow::Result<()> {
    let mut command = Command::new(build(root, "bench-allocations", false)?);
    command.arg(root.join("benches/allocations.toml"));
    command.args(options.check.then_some("--check"));
    command.args(options.update.then_some("--update"));
    succeed(&mut command)
}

/// Builds a program and says where it is.
fn build(root: &Path, program: &str, release: bool) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(root)
        .args(["build", "--locked", "-p", "kubewright-benches", "--bin", program])
        .args(release.then_some("--release"));
    succeed(&mut command)?;
    // Beside the profile's folder that this program was built into.
    let this = std::env::current_exe()?;
    let target = this
        .parent()
        .and_then(Path::parent)
        .context("this program lies in no target folder")?;
    Ok(target
        .join(if release { "release" } else { "debug" })
        .join(program))
}

/// Builds a Go program beside the other.
fn go(folder: &Path, bench: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let program = bench.with_file_name(format!("bench-{name}"));
    let mut command = Command::new("go");
    command
        .current_dir(folder)
        .envs([("CGO_ENABLED", "0"), ("GOWORK", "off"), ("GOFLAGS", "")])
        .args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o"])
        .arg(&program)
        .arg(".");
    succeed(&mut command)?;
    Ok(program)
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().display().to_string();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    if !status.success() {
        bail!("{program}: {status}");
    }
    Ok(())
}
