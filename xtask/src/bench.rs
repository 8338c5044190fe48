//! Builds and runs the benchmarks of `benches/`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail};
use clap::Args;

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub(crate) struct Options {
    /// A short run with fewer objects and one round; the figures are rough
    #[arg(long)]
    quick: bool,
    /// Only check that every benchmark runs: debug build, few objects; the figures are meaningless
    #[arg(long, conflicts_with = "quick")]
    smoke: bool,
    /// Write the tables to benches/README.md
    #[arg(long, conflicts_with_all = ["quick", "smoke"])]
    write: bool,
    /// Count allocations instead of measuring
    #[arg(long, conflicts_with_all = ["quick", "smoke", "write"])]
    allocations: bool,
    /// Fail if allocations differ from the stored ones by more than 10 %
    #[arg(long, requires = "allocations")]
    check: bool,
    /// Store the numbers of allocations
    #[arg(long, requires = "allocations", conflicts_with = "check")]
    update: bool,
    /// Measure only reads of the store
    #[arg(long, conflicts_with = "allocations")]
    lister: bool,
    /// Measure only the work queue
    #[arg(long, conflicts_with_all = ["allocations", "lister"])]
    queue: bool,
    /// Measure only the overhead of a reconcile
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue"])]
    reconcile: bool,
    /// Measure only an idle manager, on the real API server
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue", "reconcile"])]
    manager: bool,
    /// Measure only a complete operator, on the real API server
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue", "reconcile", "manager"])]
    operator: bool,
    /// Measure only the embedded API server, compared with the real one
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue", "reconcile", "manager", "operator"])]
    apiserver: bool,
    /// Arguments of the selected benchmark, or of the cache benchmark, such as `--only kubewright --objects 10000 --rounds 3`
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask has no parent folder")?;
    if options.allocations {
        return allocations(root, options);
    }
    let readme = root.join("benches/README.md");
    // The command is measured as `cargo install` builds it, operators as a new project builds them.
    let [installed, measured, operator] = if options.smoke {
        ["dev"; 3]
    } else {
        ["release", "benchmark", "operator"]
    };
    let bench = build(root, "benches", "bench", measured)?;
    let selected = [
        options.lister,
        options.queue,
        options.reconcile,
        options.manager,
        options.operator,
        options.apiserver,
    ];
    let all = !selected.contains(&true);
    let benchmark = |name: &str| {
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
    // Runs a command with the arguments that make it shorter for `--smoke` or `--quick`.
    let measure = |mut command: Command, smoke: &[&str], quick: &[&str]| {
        if options.smoke {
            command.args(smoke);
        } else if options.quick {
            command.args(quick);
        }
        run_command(&mut command)
    };
    let with_program = |name: &str, flag: &str, program: PathBuf| {
        let mut command = benchmark(name);
        command.arg(flag).arg(program);
        command
    };
    let peers = || go(&root.join("benches/go"), &bench, "peers");
    // The Rust programs are built next to the Go program.
    let operators = || {
        let mut rust_program = PathBuf::new();
        for program in ["bench-kubewright", "bench-kube-runtime"] {
            rust_program = build(root, "benches", program, operator)?;
        }
        go(&root.join("benches/operator-go"), &rust_program, "operator")
    };
    let one_round = &["--rounds", "1"][..];
    if all {
        let smoke = ["--objects", "500", "--events", "512", "--rounds", "1"];
        let quick = ["--objects", "5000", "--events", "5024", "--rounds", "1"];
        measure(with_program("cache", "--peers", peers()?), &smoke, &quick)?;
    }
    if all || options.lister {
        let short = ["--objects", "2000", "--seconds", "1", "--rounds", "1"];
        measure(benchmark("lister"), &short, &short)?;
    }
    if all || options.queue {
        let queue = with_program("queue", "--peers", peers()?);
        measure(queue, &["--keys", "10000", "--rounds", "1"], one_round)?;
    }
    if all || options.reconcile {
        let reconcile = with_program("reconcile", "--go", operators()?);
        measure(reconcile, &["--keys", "1000", "--rounds", "1"], one_round)?;
    }
    if all || options.manager {
        measure(
            with_program("manager", "--go", operators()?),
            one_round,
            one_round,
        )?;
    }
    if all || options.operator {
        let (smoke, quick) = (
            ["--widgets", "20", "--rounds", "1"],
            ["--widgets", "200", "--rounds", "1"],
        );
        measure(with_program("operator", "--go", operators()?), &smoke, &quick)?;
    }
    if all || options.apiserver {
        let kubewright = build(root, "cli", "kubewright", installed)?;
        let (smoke, quick) = (
            ["--part", "50", "--rounds", "1"],
            ["--part", "5", "--rounds", "1"],
        );
        measure(
            with_program("apiserver", "--kubewright", kubewright),
            &smoke,
            &quick,
        )?;
    }
    Ok(())
}

/// Counts allocations. The numbers do not depend on optimizations, so a debug build is enough.
fn allocations(root: &Path, options: &Options) -> anyhow::Result<()> {
    let mut command = Command::new(build(root, "benches", "bench-allocations", "dev")?);
    command.arg(root.join("benches/allocations.toml"));
    command.args(options.check.then_some("--check"));
    command.args(options.update.then_some("--update"));
    run_command(&mut command)
}

/// Builds a program of a package and returns its path.
fn build(root: &Path, package: &str, program: &str, profile: &str) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(root)
        .args(["build", "--locked", "--profile", profile, "--bin", program, "-p"])
        .arg(format!("kubewright-{package}"));
    run_command(&mut command)?;
    // The programs are in a sibling of the profile's folder that contains this program.
    let this = std::env::current_exe()?;
    let target = this
        .parent()
        .and_then(Path::parent)
        .context("xtask is not in a target folder")?;
    Ok(target
        .join(if profile == "dev" { "debug" } else { profile })
        .join(program))
}

/// Builds a Go program next to the given one.
fn go(folder: &Path, bench: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let program = bench.with_file_name(format!("bench-{name}"));
    let mut command = Command::new("go");
    command
        .current_dir(folder)
        .envs([("CGO_ENABLED", "0"), ("GOWORK", "off"), ("GOFLAGS", "")])
        .args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o"])
        .arg(&program)
        .arg(".");
    run_command(&mut command)?;
    Ok(program)
}

fn run_command(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().display().to_string();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    if !status.success() {
        bail!("{program}: {status}");
    }
    Ok(())
}
