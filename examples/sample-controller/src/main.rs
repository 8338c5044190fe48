//! Runs the sample-controller: `sample-controller --help`.

use kubewright::Manager;
use sample_controller::controller::FooController;

#[tokio::main]
async fn main() -> kubewright::Result<()> {
    Manager::from_args("sample-controller")
        .register(FooController::register)
        .run()
        .await
}
