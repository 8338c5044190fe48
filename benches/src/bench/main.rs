//! Measurements of the cache and the work queue; `cargo xtask bench` builds and starts them.
//!
//! `cache` compares [`subject`]s that read from a [`server`], each a process of its own that is this program again. `lister` measures
//! reads of one store within the process. `queue` compares the work queue with client-go's; `reconcile` a controller's own cost, `manager`
//! one that has nothing to do, `operator` a whole operator with controller-runtime's and kube-runtime's; `apiserver` the embedded API server
//! with the real one.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]

mod apiserver;
mod cache;
mod lister;
mod manager;
mod operator;
mod pairs;
mod process;
mod queue;
mod reconcile;
mod server;
mod stopwatch;
mod subject;

use anyhow::Result;
use clap::Parser;

#[derive(Parser)]
enum Command {
    /// Compares API servers
    Apiserver(apiserver::Arguments),
    /// Compares what a cached Pod costs
    Cache(cache::Arguments),
    /// Measures reads of a store
    Lister(lister::Arguments),
    /// Compares managers that have nothing to do
    Manager(manager::Arguments),
    /// Compares a whole operator
    Operator(operator::Arguments),
    /// Compares builds of this program: what a change or a mechanism costs and brings
    Pairs(pairs::Arguments),
    /// Compares work queues
    Queue(queue::Arguments),
    /// Compares what a reconcile costs beside what it does
    Reconcile(reconcile::Arguments),
    /// Serves Pods
    Server(server::Arguments),
    /// Keeps the Pods of a server
    Subject(subject::Arguments),
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Apiserver(arguments) => apiserver::measure(&arguments),
        Command::Cache(arguments) => cache::compare(&arguments),
        Command::Lister(arguments) => lister::measure(&arguments),
        Command::Manager(arguments) => manager::measure(&arguments),
        Command::Operator(arguments) => operator::measure(&arguments),
        Command::Pairs(arguments) => pairs::compare(&arguments),
        Command::Queue(arguments) => queue::measure(&arguments),
        Command::Reconcile(arguments) => reconcile::measure(&arguments),
        Command::Server(arguments) => server::serve(&arguments),
        Command::Subject(arguments) => subject::run(&arguments),
    }
}
