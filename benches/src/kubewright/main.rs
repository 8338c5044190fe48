//! The operators of kubewright, as a program of its own that is measured from outside.

mod idle;
mod operator;

use anyhow::{Result, bail};
use kubewright::controller::OwnEvents;
use kubewright_benches::subject;

/// Uses tokio's default runtime, as operators do.
#[tokio::main]
async fn main() -> Result<()> {
    subject::answer_count_requests();
    match std::env::args().nth(1).as_deref() {
        None => operator::run(OwnEvents::default()).await?,
        Some("ignore-own-events") => operator::run(OwnEvents::Ignore).await?,
        Some("idle") => idle::run().await?,
        Some(other) => {
            bail!("unknown command {other:?}: use no command (the whole operator), ignore-own-events or idle")
        }
    }
    bail!("the operator ended")
}
