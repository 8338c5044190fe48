//! kube-controller-manager's command line for the controllers of `kubewright-controllers`: `controller-manager --help`.

mod flags;

use anyhow::Context as _;
use clap::Parser as _;
use flags::Flags;
use kubewright::Manager;
use kubewright_controllers::register;

/// Pods come and go by the thousand; the system's allocator keeps what they leave.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The name of the lease, and of the field manager.
const NAME: &str = "kube-controller-manager";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let options = flags.options().context("the command line is invalid")?;
    let ignored = flags.ignored();
    let mut manager = Manager::from_args(NAME).with_args(flags.manager_args());
    if let Some(config) = flags.config().await? {
        manager = manager.with_config(config);
    }
    manager
        .register(move |setup| {
            for name in &ignored {
                tracing::warn!("{name} is accepted and changes nothing here");
            }
            for gate in options.gates.ignored() {
                tracing::warn!(gate, "no controller asks for this feature gate");
            }
            register(setup, &options);
        })
        .run()
        .await?;
    Ok(())
}
