//! Runs the bucket operator: `external-resource --help`.

use external_resource::{controller::BucketController, storage::Storage};
use kubewright::{Manager, clap, controller::Setup};

/// The operator's own flags.
#[derive(clap::Args)]
struct StorageArgs {
    /// URL of the storage service
    #[arg(long, env = "STORAGE_URL", default_value = "http://storage.default.svc")]
    storage_url: http::Uri,
}

#[tokio::main]
async fn main() -> kubewright::Result<()> {
    let register = |setup: &mut Setup| {
        let args: StorageArgs = setup.args();
        BucketController::register(setup, Storage::new(args.storage_url));
    };
    Manager::from_args("external-resource")
        .register(register)
        .run()
        .await
}
