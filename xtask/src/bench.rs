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
    /// Measure only what a reconcile costs beside what it does
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue"])]
    reconcile: bool,
    /// Measure only a manager that has nothing to do, on the real API server
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue", "reconcile"])]
    manager: bool,
    /// Measure only a whole operator, on the real API server
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue", "reconcile", "manager"])]
    operator: bool,
    /// Measure only the embedded API server, beside the real one
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue", "reconcile", "manager", "operator"])]
    apiserver: bool,
    /// Arguments of the one that is measured, or of the comparison of caches, such as `--only kubewright --objects 10000 --rounds 3`
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
    let [release, operator] = if options.smoke {
        ["dev"; 2]
    } else {
        ["release", "operator"]
    };
    let bench = build(root, "benches", "bench", release)?;
    let one = [
        options.lister,
        options.queue,
        options.reconcile,
        options.manager,
        options.operator,
        options.apiserver,
    ];
    let all = !one.contains(&true);
    let part = |name: &str| {
        let mut command = Command::new(&bench);
        command.arg(name);
        if options.write {
            command.arg("--write").arg(&readme);
        }
        if !all || name == "cache" {
            command.args(&options.arguments);
        }
        command
    };
    // With how much less it is done for a look, and for a quick one.
    let measure = |mut command: Command, smoke: &[&str], quick: &[&str]| {
        if options.smoke {
            command.args(smoke);
        } else if options.quick {
            command.args(quick);
        }
        succeed(&mut command)
    };
    let with = |name: &str, flag: &str, program: PathBuf| {
        let mut command = part(name);
        command.arg(flag).arg(program);
        command
    };
    let peers = || go(&root.join("benches/go"), &bench, "peers");
    // Those in Rust lie beside the one in Go.
    let operators = || {
        let mut of_rust = PathBuf::new();
        for program in ["bench-kubewright", "bench-kube-runtime"] {
            of_rust = build(root, "benches", program, operator)?;
        }
        go(&root.join("benches/operator-go"), &of_rust, "operator")
    };
    let single = &["--rounds", "1"][..];
    if all {
        let smoke = ["--objects", "500", "--events", "512", "--rounds", "1"];
        let quick = ["--objects", "5000", "--events", "5024", "--rounds", "1"];
        measure(with("cache", "--peers", peers()?), &smoke, &quick)?;
    }
    if all || options.lister {
        let few = ["--objects", "2000", "--seconds", "1", "--rounds", "1"];
        measure(part("lister"), &few, &few)?;
    }
    if all || options.queue {
        let queue = with("queue", "--peers", peers()?);
        measure(queue, &["--keys", "10000", "--rounds", "1"], single)?;
    }
    if all || options.reconcile {
        let reconcile = with("reconcile", "--go", operators()?);
        measure(reconcile, &["--keys", "1000", "--rounds", "1"], single)?;
    }
    if all || options.manager {
        measure(with("manager", "--go", operators()?), single, single)?;
    }
    if all || options.operator {
        let (smoke, quick) = (
            ["--widgets", "20", "--rounds", "1"],
            ["--widgets", "200", "--rounds", "1"],
        );
        measure(with("operator", "--go", operators()?), &smoke, &quick)?;
    }
    if all || options.apiserver {
        let kubewright = build(root, "cli", "kubewright", release)?;
        let (smoke, quick) = (
            ["--part", "50", "--rounds", "1"],
            ["--part", "5", "--rounds", "1"],
        );
        measure(with("apiserver", "--kubewright", kubewright), &smoke, &quick)?;
    }
    Ok(())
}

/// Counts do not depend on what the compiler makes faster: the debug build is enough.
fn allocations(root: &Path, options: &Options) -> anyhow::Result<()> {
    let mut command = Command::new(build(root, "benches", "bench-allocations", "dev")?);
    command.arg(root.join("benches/allocations.toml"));
    command.args(options.check.then_some("--check"));
    command.args(options.update.then_some("--update"));
    succeed(&mut command)
}

/// Builds a program of a package and says where it is.
fn build(root: &Path, package: &str, program: &str, profile: &str) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(root)
        .args(["build", "--locked", "--profile", profile, "--bin", program, "-p"])
        .arg(format!("kubewright-{package}"));
    succeed(&mut command)?;
    // Beside the profile's folder that this program was built into.
    let this = std::env::current_exe()?;
    let target = this
        .parent()
        .and_then(Path::parent)
        .context("this program lies in no target folder")?;
    Ok(target
        .join(if profile == "dev" { "debug" } else { profile })
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
