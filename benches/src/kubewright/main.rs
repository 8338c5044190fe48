//! The operators of kubewright, as a program of its own that is measured from outside.

mod idle;
mod operator;
mod webhooks;

use anyhow::{Result, bail};
use kubewright::controller::OwnEvents;
use kubewright_benches::subject;

/// Uses tokio's default runtime, as operators do.
#[tokio::main]
async fn main() -> Result<()> {
    subject::answer_count_requests();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        [] => operator::run(OwnEvents::default()).await?,
        ["ignore-own-events"] => operator::run(OwnEvents::Ignore).await?,
        ["idle"] => idle::run().await?,
        ["webhooks", address, certificates] => webhooks::run(address, certificates).await?,
        _ => bail!(
            "unknown command {arguments:?}: use no command (the whole operator), ignore-own-events, idle, or webhooks ADDRESS CERTIFICATES"
        ),
    }
    bail!("the operator ended")
}
