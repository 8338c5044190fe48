//! kube-controller-manager's command line for the controllers of `kubewright-controllers`: `controller-manager --help`.

mod flags;
mod upstream_flags;

use std::env;

use anyhow::Context as _;
use clap::Parser as _;
use flags::Flags;
use kubewright::Manager;
use kubewright_controllers::register;
use tokio::runtime::Builder;

/// Pods come and go by the thousand; the system's allocator keeps what they leave.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The name of the lease, and of the field manager.
const NAME: &str = "kube-controller-manager";

/// The variable in which tokio looks for the number of threads.
const WORKER_THREADS: &str = "TOKIO_WORKER_THREADS";

/// Controllers wait for the API server most of the time, and informers have a thread of their own: on one more thread, controllers wake no
/// other threads, and the allocator keeps less memory.
fn main() -> anyhow::Result<()> {
    let mut builder = Builder::new_multi_thread();
    if env::var_os(WORKER_THREADS).is_none() {
        builder.worker_threads(1);
    }
    builder.enable_all().build()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let (arguments, ignored) = upstream_flags::take(env::args_os())?;
    let flags = Flags::parse_from(arguments);
    let options = flags.options().context("the command line is invalid")?;
    let (absent, as_service_accounts) = (flags.absent_controllers(), flags.use_service_account_credentials);
    let (certificate, key) = flags.certificate()?;
    let mut manager = Manager::from_args(NAME)
        .with_args(flags.manager_args())
        .serve_tls(certificate, key);
    if let Some(config) = flags.config().await? {
        manager = manager.with_config(config);
    }
    manager
        .register(move |setup| {
            for flag in &ignored {
                tracing::warn!("--{} changes nothing here: {}", flag.name, flag.reason);
            }
            for name in &absent {
                tracing::warn!("--controllers: {name:?} is not part of this program");
            }
            for gate in options.gates.ignored() {
                tracing::warn!(gate, "no controller asks for this feature gate");
            }
            if as_service_accounts {
                setup.component_service_accounts("kube-system");
            }
            register(setup, &options);
        })
        .run()
        .await?;
    Ok(())
}
