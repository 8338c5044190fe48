//! A manager with three idle controllers.

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kubewright::{
    Manager, NamespacedName,
    controller::{Action, ReconcileError, Reconciler, Setup},
};
use kubewright_benches::{subject, widget::WidgetInformers as _};

struct NoOpReconciler;

impl Reconciler for NoOpReconciler {
    async fn reconcile(&self, _: &NamespacedName) -> Result<Action, ReconcileError> {
        Ok(Action::await_change())
    }
}

pub(crate) async fn run() -> kubewright::Result<()> {
    Manager::from_args("widgets")
        .with_args([""; 0])
        .register(register)
        .run()
        .await
}

fn register(setup: &mut Setup) {
    let widgets = setup.informers().widgets();
    let deployments = setup.informers().of::<Deployment>();
    let sets = setup.informers().of::<StatefulSet>();
    setup.controller("widgets", NoOpReconciler).reconciles(&widgets);
    setup
        .controller("deployments", NoOpReconciler)
        .reconciles(&deployments);
    setup
        .controller("stateful-sets", NoOpReconciler)
        .reconciles(&sets);
    // Controllers start when this runnable has started, after everything else that they wait for.
    setup
        .runnable("ready", async |_| {
            subject::print_ready();
            Ok(())
        })
        .leader_only()
        .before_controllers();
}
