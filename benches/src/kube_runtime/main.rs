//! The operators of kube-runtime, as a program of its own that is measured from outside.

mod idle;
mod operator;
mod topics;

use anyhow::{Result, bail};
use kubewright_benches::subject;

/// Uses tokio's default runtime, as operators do.
#[tokio::main]
async fn main() -> Result<()> {
    subject::answer_count_requests();
    match std::env::args().nth(1).as_deref() {
        None => operator::run().await?,
        Some("idle") => idle::run().await?,
        Some(other) => bail!("unknown command {other:?}: use no command (the whole operator) or idle"),
    }
    bail!("the operator ended")
}
