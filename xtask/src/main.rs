//! Development tasks of the workspace: see `cargo xtask --help`. Results go to stdout, messages to stderr.

mod api_bootstrap;
mod api_enums;
mod api_files;
mod api_kinds;
mod api_openapi;
mod api_protobuf;
mod api_texts;
mod api_types;
mod bench;
mod cargo_metadata;
mod check;
mod check_book;
mod check_imports;
mod check_packages;
mod control_plane;
mod controller_gen;
mod fuzz;
mod go_structs;
mod import_cycles;
mod public_names;
mod soak;
mod test;
mod yaml;

use clap::{Parser, Subcommand};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::{env, io};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks of the kubewright workspace")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Fails when the top-level modules of a package import each other in a circle
    ImportCycles,
    /// Counts the names that the runtime publishes, and fails when there are too many
    PublicNames {
        /// Print them
        #[arg(long)]
        list: bool,
    },
    /// Generates the API server's table of built-in types from the OpenAPI documents in the k8s.io/kubernetes module
    ///
    /// Needs Go, which downloads the module once.
    ApiTypes {
        /// Write nothing; fail if the table is stale
        #[arg(long)]
        check: bool,
    },
    /// Builds kube-apiserver, kube-controller-manager, kube-scheduler, etcd and kubectl for the tests, and prints their folder
    ///
    /// Needs Go, and some minutes for the first build; later runs only check for the programs. The folder is in the cache folder
    /// ($KUBEWRIGHT_CACHE, else $XDG_CACHE_HOME/kubewright, else ~/.cache/kubewright), where `cargo clean` does not remove it.
    ControlPlane {
        /// Only print the folder; fail if the programs are not built
        #[arg(long)]
        print: bool,
    },
    /// Records what controller-gen makes of the Go types in tests/controller-gen
    ///
    /// Needs Go, which downloads and builds controller-gen.
    ControllerGen {
        /// Write nothing; fail if a recording is stale
        #[arg(long)]
        check: bool,
    },
    /// Generates the embedded API server's tables of kinds and bootstrap objects from the k8s.io/kubernetes module, which Go downloads
    ApiKinds {
        /// Write nothing; fail if a table is stale
        #[arg(long)]
        check: bool,
    },
    /// Generates the embedded API server's tables for its OpenAPI documents: parameters of operations, messages of version 2
    ApiOpenapi {
        /// Write nothing; fail if a table is stale
        #[arg(long)]
        check: bool,
    },
    /// Generates the embedded API server's table of protobuf field numbers from Kubernetes' Go modules
    ApiProtobuf {
        /// Write nothing; fail if the table is stale
        #[arg(long)]
        check: bool,
    },
    /// Generates the embedded API server's descriptions of types and columns of tables from Kubernetes' Go modules
    ApiTexts {
        /// Write nothing; fail if a table is stale
        #[arg(long)]
        check: bool,
    },
    /// Benchmarks the cache, the work queue and a complete operator against their peers, and prints tables
    ///
    /// Needs Go, which builds the peers in benches/go and benches/operator-go; the operators also need the control plane. Without arguments
    /// it takes two hours: five rounds of ten subjects with 10,000 and 100,000 objects, then the other benchmarks. benches/README.md
    /// describes the method.
    Bench(bench::Options),
    /// Fuzzes the parsers of untrusted input, guided by coverage: the scan of the cache, and the embedded API server
    ///
    /// Needs a C++ compiler, for libFuzzer. Findings are written to target/fuzz/found; to reproduce one, run the program in target/fuzz
    /// with KUBEWRIGHT_FUZZ=TARGET.
    Fuzz {
        /// Seconds per target
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Run only this target
        #[arg(long)]
        target: Option<String>,
    },
    /// Checks what changed, before a commit: formatting, rules about the tree, and clippy and the unit tests of the changed packages
    ///
    /// Under two minutes when the packages' dependencies are built. `.ci/run` checks everything.
    Check {
        /// Compare with this commit instead of the one where this branch left main
        #[arg(long)]
        base: Option<String>,
    },
    /// Checks the book in docs/ and the links of the other documents: every included file and anchor, and every link to a file or heading
    CheckBook,
    /// Compares the packages in tests/golden/packages with what kubectl makes of the manifests
    CheckPackages {
        /// Also with what helm and OLM's validator make of the packages; needs Go, and five minutes for the first build
        #[arg(long)]
        all: bool,
    },
    /// Imports the definitions of large projects into scaffolds, whose structs must keep the projects' samples
    ///
    /// Needs Go, which downloads the projects' modules, and a quarter of an hour.
    CheckImports {
        /// Check only modules with this text in their names
        #[arg(long)]
        only: Option<String>,
    },
    /// Builds all test programs once, runs them side by side, and prints their times
    ///
    /// Documentation tests are not included: `cargo test --workspace --doc`.
    Test(test::Options),
    /// Runs the soak test of the cache against the real kube-apiserver
    Soak {
        /// Duration in seconds; startup and settling take two minutes more
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Repeats an earlier run, which printed this seed
        #[arg(long)]
        seed: Option<u64>,
    },
}

fn main() -> ExitCode {
    if let Some(error) = restart_without_variables_of_cargo_run() {
        eprintln!("error: the program cannot start itself again: {error}");
        return ExitCode::FAILURE;
    }
    let result = match Arguments::parse().task {
        Task::ImportCycles => import_cycles::run(),
        Task::PublicNames { list } => public_names::run(list),
        Task::ApiTypes { check } => api_types::run(check),
        Task::ControlPlane { print } => control_plane::run(print),
        Task::ControllerGen { check } => controller_gen::run(check),
        Task::ApiKinds { check } => api_kinds::run(check),
        Task::ApiOpenapi { check } => api_openapi::run(check),
        Task::ApiProtobuf { check } => api_protobuf::run(check),
        Task::ApiTexts { check } => api_texts::run(check),
        Task::Bench(options) => bench::run(&options),
        Task::Fuzz { seconds, target } => fuzz::run(seconds, target.as_deref()),
        Task::Check { base } => check::run(base.as_deref()),
        Task::CheckBook => check_book::run(),
        Task::CheckPackages { all } => check_packages::run(all),
        Task::CheckImports { only } => check_imports::run(only.as_deref()),
        Task::Test(options) => test::run(&options),
        Task::Soak { seconds, seed } => soak::run(seconds, seed),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Starts the program again without the variables with which `cargo run` describes this package. Build scripts depend on them, among them
/// ring's: cargo would build ring again, and all that uses it, once with them and once without. Returns why it cannot.
fn restart_without_variables_of_cargo_run() -> Option<io::Error> {
    let names = env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    });
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        return None;
    }
    let program = match env::current_exe() {
        Ok(program) => program,
        Err(error) => return Some(error),
    };
    let mut command = Command::new(program);
    command.args(env::args_os().skip(1));
    for name in names {
        command.env_remove(name);
    }
    Some(command.exec())
}
