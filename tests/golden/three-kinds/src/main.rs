//! Starts the operator. `shop --help` lists its flags; `shop manifests` prints its CRDs and permissions.

use kubewright::Manager;

use shop::controllers::BackupPlanController;
use shop::controllers::DNSPolicyController;
use shop::controllers::FooController;
use shop::controllers::NodeController;
use shop::webhooks::BackupPlanWebhook;
use shop::webhooks::DNSPolicyWebhook;
use shop::webhooks::PodWebhook;

#[tokio::main]
async fn main() -> kubewright::Result<()> {
    Manager::from_args("shop")
        .version(env!("CARGO_PKG_VERSION"))
        .register(FooController::register)
        .register(BackupPlanController::register)
        .register(DNSPolicyController::register)
        .register(BackupPlanWebhook::register)
        .register(PodWebhook::register)
        .register(DNSPolicyWebhook::register)
        .register(NodeController::register)
        .run()
        .await
}
