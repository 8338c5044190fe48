//! The operators that are measured from outside: kube-runtime's. A program of its own, as operators are.

mod idle;
mod operator;

use anyhow::{Result, bail};
use kubewright_benches::subject;

/// Tokio as `#[tokio::main]` sets it up, as in an operator.
#[tokio::main]
async fn main() -> Result<()> {
    subject::answer();
    match std::env::args().nth(1).as_deref() {
        None => operator::run().await?,
        Some("idle") => idle::run().await?,
        Some(other) => bail!("unknown command {other:?}; there are none, for the whole operator, and idle"),
    }
    bail!("the operator ended")
}
