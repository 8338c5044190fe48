//! The benchmarks. `cargo xtask bench` builds and runs them.
//!
//! `cache` compares caches: it runs [`subject`]s that list and watch from a load [`server`]; each is this program in a process of its own.
//! `lister` measures reads of one store within the process. `queue` compares the work queue with client-go's. `reconcile` compares the
//! overhead of a reconcile, `manager` an idle manager, and `operator` a whole operator with kube-runtime and controller-runtime.
//! `webhooks` compares servers of admission webhooks with controller-runtime's. `controller_manager` compares our controllers with kube-controller-manager. `apiserver` compares the embedded API server with the real
//! one. `pairs` compares builds of this program.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]

mod apiserver;
mod cache;
mod controller_manager;
mod lister;
mod manager;
mod operator;
mod pairs;
mod process;
mod queue;
mod reconcile;
mod review_client;
mod server;
mod stopwatch;
mod subject;
mod webhooks;

use anyhow::Result;
use clap::Parser;

#[derive(Parser)]
enum Command {
    /// Compares API servers
    Apiserver(apiserver::Arguments),
    /// Compares CPU time and memory per cached Pod
    Cache(cache::Arguments),
    /// Compares kube-controller-manager with ours
    ControllerManager(controller_manager::Arguments),
    /// Measures reads of the store
    Lister(lister::Arguments),
    /// Compares idle managers
    Manager(manager::Arguments),
    /// Compares a whole operator
    Operator(operator::Arguments),
    /// Compares builds of this program, to measure the effect of a change
    Pairs(pairs::Arguments),
    /// Compares work queues
    Queue(queue::Arguments),
    /// Compares the overhead of a reconcile
    Reconcile(reconcile::Arguments),
    /// Runs the load server, which serves Pods
    Server(server::Arguments),
    /// Runs one subject, which caches the Pods of a load server
    Subject(subject::Arguments),
    /// Compares servers of admission webhooks
    Webhooks(webhooks::Arguments),
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Apiserver(arguments) => apiserver::measure(&arguments),
        Command::Cache(arguments) => cache::compare(&arguments),
        Command::ControllerManager(arguments) => controller_manager::measure(&arguments),
        Command::Lister(arguments) => lister::measure(&arguments),
        Command::Manager(arguments) => manager::measure(&arguments),
        Command::Operator(arguments) => operator::measure(&arguments),
        Command::Pairs(arguments) => pairs::compare(&arguments),
        Command::Queue(arguments) => queue::measure(&arguments),
        Command::Reconcile(arguments) => reconcile::measure(&arguments),
        Command::Server(arguments) => server::serve(&arguments),
        Command::Subject(arguments) => subject::run(&arguments),
        Command::Webhooks(arguments) => webhooks::measure(&arguments),
    }
}
