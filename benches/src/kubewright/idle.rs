//! A manager with three controllers that have nothing to do.

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kubewright::{
    Manager, NamespacedName,
    controller::{Action, ReconcileError, Reconciler, Setup},
};
use kubewright_benches::{subject, widget::WidgetInformers as _};

struct Nothing;

impl Reconciler for Nothing {
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
    setup.controller("widgets", Nothing).reconciles(&widgets);
    setup.controller("deployments", Nothing).reconciles(&deployments);
    setup.controller("stateful-sets", Nothing).reconciles(&sets);
    // The last thing that controllers wait for.
    setup
        .runnable("ready", async |_| {
            subject::ready();
            Ok(())
        })
        .leader_only()
        .before_controllers();
}
