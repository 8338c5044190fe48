//! Chores of the workspace: `cargo xtask --help`. What a chore makes goes to standard output, talk to standard error.

mod api_internal;
mod api_kinds;
mod api_protobuf;
mod api_texts;
mod api_types;
mod bench;
mod control_plane;
mod fuzz;
mod go_structs;
mod import_cycles;
mod public_names;
mod soak;
mod yaml;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Chores of the kubewright workspace")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Fails when the top-level modules of a package import each other in a circle
    ImportCycles,
    /// Counts the names that the runtime publishes, and fails when there are too many
    PublicNames {
        /// Print them
        #[arg(long)]
        list: bool,
    },
    /// Writes the API server's table of built-in types from the OpenAPI documents in the k8s.io/kubernetes module
    ///
    /// Needs Go, which downloads the module once.
    ApiTypes {
        /// Only compare; fail when the table differs
        #[arg(long)]
        check: bool,
    },
    /// Builds kube-apiserver, kube-controller-manager, etcd and kubectl for the tests, and prints their folder
    ///
    /// Needs Go, and some minutes once; afterwards it sees that they are there. They lie in the cache folder
    /// ($KUBEWRIGHT_CACHE, else $XDG_CACHE_HOME/kubewright, else ~/.cache/kubewright), where `cargo clean` does not
    /// reach them.
    ControlPlane {
        /// Only print the folder; fail when nothing is built
        #[arg(long)]
        print: bool,
    },
    /// Writes the embedded API server's tables from what Kubernetes publishes in its Go module, which Go fetches
    ApiKinds {
        /// Write nothing; fail when a table is stale
        #[arg(long)]
        check: bool,
    },
    /// Writes the embedded API server's table of protobuf's field numbers from what Kubernetes publishes in its Go modules
    ApiProtobuf {
        /// Write nothing; fail when the table is stale
        #[arg(long)]
        check: bool,
    },
    /// Writes the embedded API server's texts about types, and the columns of its tables, from what Kubernetes publishes in its Go modules
    ApiTexts {
        /// Write nothing; fail when a table is stale
        #[arg(long)]
        check: bool,
    },
    /// Measures the cache, the work queue and a whole operator beside their peers, and prints tables
    ///
    /// Needs Go, which builds the peers in benches/go and benches/operator-go; the operators also need the control plane. Without
    /// arguments it takes two hours: five rounds of ten subjects with 10,000 and 100,000 objects, then the others. benches/README.md
    /// says how it is measured.
    Bench(bench::Options),
    /// Fuzzes what is read from outside: the scan of the cache and the API server in memory, led by the code that is reached
    ///
    /// Needs a C++ compiler, for libFuzzer. What is found lies in target/fuzz/found; KUBEWRIGHT_FUZZ=TARGET and the program in
    /// target/fuzz repeat it.
    Fuzz {
        /// For how long each target, in seconds
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Only this one
        #[arg(long)]
        target: Option<String>,
    },
    /// Runs the soak test of the cache against the real kube-apiserver
    Soak {
        /// For how long, in seconds; what starts before and settles after takes two minutes more
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Repeats the choices of an earlier run, which printed it
        #[arg(long)]
        seed: Option<u64>,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::ImportCycles => import_cycles::run(),
        Chore::PublicNames { list } => public_names::run(list),
        Chore::ApiTypes { check } => api_types::run(check),
        Chore::ControlPlane { print } => control_plane::run(print),
        Chore::ApiKinds { check } => api_kinds::run(check),
        Chore::ApiProtobuf { check } => api_protobuf::run(check),
        Chore::ApiTexts { check } => api_texts::run(check),
        Chore::Bench(options) => bench::run(&options),
        Chore::Fuzz { seconds, target } => fuzz::run(seconds, target.as_deref()),
        Chore::Soak { seconds, seed } => soak::run(seconds, seed),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
