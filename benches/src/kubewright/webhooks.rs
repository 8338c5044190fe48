//! A manager that validates Widgets.

use kubewright::{
    Manager,
    controller::Setup,
    webhooks::{AdmissionError, AdmissionRequest, Validation, Validator},
};
use kubewright_benches::{subject, widget::Widget};

struct Replicas;

impl Validator<Widget> for Replicas {
    async fn create(&self, widget: &Widget, _: &AdmissionRequest) -> Result<Validation, AdmissionError> {
        let mut validation = Validation::new();
        if widget.spec.replicas < 0 {
            validation.invalid("spec.replicas", widget.spec.replicas, "must be at least 0");
        }
        Ok(validation)
    }
}

/// Serves at an address, with the certificate in a folder.
pub(crate) async fn run(address: &str, certificates: &str) -> kubewright::Result<()> {
    let address = format!("--webhook-bind-address={address}");
    let certificates = format!("--webhook-cert-dir={certificates}");
    let local = [
        "--metrics-bind-address=127.0.0.1:0",
        "--health-bind-address=127.0.0.1:0",
    ];
    Manager::from_args("widgets")
        .with_args([
            &*address,
            &*certificates,
            local[0],
            local[1],
            "--leader-elect=false",
        ])
        .register(register)
        .run()
        .await
}

fn register(setup: &mut Setup) {
    setup.validator::<Widget>(Replicas);
    setup.runnable("ready", async |stop| {
        subject::print_ready();
        stop.cancelled().await;
        Ok(())
    });
}
