//! Measurements of the cache and the work queue; `cargo xtask bench` builds and starts them.
//!
//! `cache` compares [`subject`]s that read from a [`server`], each a process of its own that is this program again. `lister` measures
//! reads of one store within the process. `queue` compares the work queue with client-go's, `operator` a whole operator with
//! controller-runtime's and kube-runtime's.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]

mod cache;
mod lister;
mod operator;
mod process;
mod queue;
mod server;
mod subject;

use anyhow::Result;
use clap::Parser;

#[derive(Parser)]
enum Command {
    /// Compares what a cached Pod costs
    Cache(cache::Arguments),
    /// Measures reads of a store
    Lister(lister::Arguments),
    /// Compares a whole operator
    Operator(operator::Arguments),
    /// Compares work queues
    Queue(queue::Arguments),
    /// Serves Pods
    Server(server::Arguments),
    /// Keeps the Pods of a server
    Subject(subject::Arguments),
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Cache(arguments) => cache::compare(&arguments),
        Command::Lister(arguments) => lister::measure(&arguments),
        Command::Operator(arguments) => operator::measure(&arguments),
        Command::Queue(arguments) => queue::measure(&arguments),
        Command::Server(arguments) => server::serve(&arguments),
        Command::Subject(arguments) => subject::run(&arguments),
    }
}
