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
    /// Measure only servers of admission webhooks, beside controller-runtime's
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue", "reconcile", "manager", "operator"])]
    webhooks: bool,
    /// Measure only the controllers, compared with kube-controller-manager, on the real API server
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue", "reconcile", "manager", "operator", "webhooks"])]
    controller_manager: bool,
    /// Measure only the embedded API server, compared with the real one
    #[arg(long, conflicts_with_all = ["allocations", "lister", "queue", "reconcile", "manager", "operator", "webhooks", "controller_manager"])]
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
    let measured = if options.smoke { "dev" } else { "benchmark" };
    let selected = [
        options.lister,
        options.queue,
        options.reconcile,
        options.manager,
        options.operator,
        options.webhooks,
        options.controller_manager,
        options.apiserver,
    ];
    let benchmarks = Benchmarks {
        options,
        root,
        bench: build(root, "kubewright-benches", "bench", measured)?,
        all: !selected.contains(&true),
    };
    benchmarks.library()?;
    benchmarks.operators()?;
    benchmarks.programs()
}

/// The benchmarks that the options select.
struct Benchmarks<'o> {
    options: &'o Options,
    root: &'o Path,
    /// The program that measures.
    bench: PathBuf,
    /// Whether none is selected, so that all run.
    all: bool,
}

/// Arguments of rustc with which the README of the controller manager makes a small program.
const SMALL_STATIC_PROGRAM: [&str; 4] = [
    "-C",
    "target-feature=+crt-static",
    "-C",
    "relocation-model=static",
];

const ONE_ROUND: &[&str] = &["--rounds", "1"];

impl Benchmarks<'_> {
    /// Cache, lister and queue.
    fn library(&self) -> anyhow::Result<()> {
        let peers = || go(&self.root.join("benches/go"), &self.bench, "peers");
        if self.all {
            let smoke = ["--objects", "500", "--events", "512", "--rounds", "1"];
            let quick = ["--objects", "5000", "--events", "5024", "--rounds", "1"];
            self.measure(self.with_program("cache", "--peers", peers()?), &smoke, &quick)?;
        }
        if self.all || self.options.lister {
            let short = ["--objects", "2000", "--seconds", "1", "--rounds", "1"];
            self.measure(self.benchmark("lister"), &short, &short)?;
        }
        if self.all || self.options.queue {
            let queue = self.with_program("queue", "--peers", peers()?);
            self.measure(queue, &["--keys", "10000", "--rounds", "1"], ONE_ROUND)?;
        }
        Ok(())
    }

    /// The overhead of a reconcile, an idle manager, a complete operator, and webhooks.
    fn operators(&self) -> anyhow::Result<()> {
        let operators = || {
            // The Rust programs are built next to the Go program.
            let mut rust_program = PathBuf::new();
            for program in ["bench-kubewright", "bench-kube-runtime"] {
                rust_program = build(self.root, "kubewright-benches", program, self.operator_profile())?;
            }
            go(&self.root.join("benches/operator-go"), &rust_program, "operator")
        };
        if self.all || self.options.reconcile {
            let reconcile = self.with_program("reconcile", "--go", operators()?);
            self.measure(reconcile, &["--keys", "1000", "--rounds", "1"], ONE_ROUND)?;
        }
        if self.all || self.options.manager {
            let manager = self.with_program("manager", "--go", operators()?);
            self.measure(manager, ONE_ROUND, ONE_ROUND)?;
        }
        if self.all || self.options.operator {
            let operator = self.with_program("operator", "--go", operators()?);
            let smoke = ["--widgets", "20", "--rounds", "1"];
            let quick = ["--widgets", "200", "--rounds", "1"];
            self.measure(operator, &smoke, &quick)?;
        }
        if self.all || self.options.webhooks {
            let webhooks = self.with_program("webhooks", "--go", operators()?);
            let short = ["--seconds", "1", "--rounds", "1"];
            self.measure(webhooks, &short, &short)?;
        }
        Ok(())
    }

    /// The controllers, and the API server.
    fn programs(&self) -> anyhow::Result<()> {
        if self.all || self.options.controller_manager {
            let name = "controller-manager";
            let ours = if self.options.smoke {
                build(self.root, name, name, "dev")?
            } else {
                build_with(self.root, name, name, name, &SMALL_STATIC_PROGRAM)?
            };
            let smoke = ["--deployments", "2", "--large", "50", "--rounds", "1"];
            let quick = ["--large", "0", "--rounds", "1"];
            self.measure(self.with_program(name, "--kubewright", ours), &smoke, &quick)?;
        }
        if self.all || self.options.apiserver {
            let profile = if self.options.smoke { "dev" } else { "benchmark" };
            let kubewright = build(self.root, "kubewright-cli", "kubewright", profile)?;
            let smoke = ["--part", "50", "--rounds", "1"];
            let quick = ["--part", "5", "--rounds", "1"];
            self.measure(
                self.with_program("apiserver", "--kubewright", kubewright),
                &smoke,
                &quick,
            )?;
        }
        Ok(())
    }

    /// Operators are measured as a new project builds them.
    fn operator_profile(&self) -> &'static str {
        if self.options.smoke { "dev" } else { "operator" }
    }

    fn benchmark(&self, name: &str) -> Command {
        let mut command = Command::new(&self.bench);
        command.arg(name);
        if self.options.write {
            command.arg("--write").arg(self.root.join("benches/README.md"));
        }
        if !self.all || name == "cache" {
            command.args(&self.options.arguments);
        }
        command
    }

    fn with_program(&self, name: &str, flag: &str, program: PathBuf) -> Command {
        let mut command = self.benchmark(name);
        command.arg(flag).arg(program);
        command
    }

    /// Runs a command with the arguments that make it shorter for `--smoke` or `--quick`.
    fn measure(&self, mut command: Command, smoke: &[&str], quick: &[&str]) -> anyhow::Result<()> {
        if self.options.smoke {
            command.args(smoke);
        } else if self.options.quick {
            command.args(quick);
        }
        run_command(&mut command)
    }
}

/// Counts allocations. The numbers do not depend on optimizations, so a debug build is enough.
fn allocations(root: &Path, options: &Options) -> anyhow::Result<()> {
    let mut command = Command::new(build(root, "kubewright-benches", "bench-allocations", "dev")?);
    command.arg(root.join("benches/allocations.toml"));
    command.args(options.check.then_some("--check"));
    command.args(options.update.then_some("--update"));
    run_command(&mut command)
}

/// Builds a program of a package and returns its path.
fn build(root: &Path, package: &str, program: &str, profile: &str) -> anyhow::Result<PathBuf> {
    build_with(root, package, program, profile, &[])
}

/// As [`build`], with arguments of rustc for the program alone.
fn build_with(
    root: &Path,
    package: &str,
    program: &str,
    profile: &str,
    rustc_arguments: &[&str],
) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args([
        "rustc",
        "--locked",
        "--profile",
        profile,
        "--bin",
        program,
        "-p",
        package,
        "--",
    ]);
    command.args(rustc_arguments);
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
