//! Runs the CronJob operator: `cronjob --help`.

use cronjob::{controller::CronJobController, webhook::CronJobWebhook};
use kubewright::Manager;

// ANCHOR: main
#[tokio::main]
async fn main() -> kubewright::Result<()> {
    Manager::from_args("cronjob")
        .register(CronJobController::register)
        .register(CronJobWebhook::register)
        .run()
        .await
}
// ANCHOR_END: main
