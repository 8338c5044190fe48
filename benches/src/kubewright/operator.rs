//! The operator with kubewright, as `kubewright new` scaffolds it, except that it creates and updates (instead of applying), as the others do.

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::{
    Manager, NamespacedName,
    cache::{Lister, LookupError},
    client::{Create, TypedClient, Update, UpdateStatus},
    controller::{Action, OwnEvents, ReconcileError, Reconciler, Setup, controller_reference},
    events::{EventType, Recorder},
};
use kubewright_benches::{
    subject::count_reconcile,
    widget::{
        WORKERS, WidgetClient, WidgetInformers as _, WidgetLister, WidgetStatus, new_deployment,
        with_requested_replicas,
    },
};

// ANCHOR: setup
struct Widgets {
    lister: WidgetLister,
    deployments: Lister<Deployment>,
    status: WidgetClient<(UpdateStatus,)>,
    writer: TypedClient<Deployment, (Create, Update)>,
    events: Recorder,
}
// ANCHOR_END: setup

pub(crate) async fn run(own_events: OwnEvents) -> kubewright::Result<()> {
    Manager::from_args("widgets")
        .with_args([""; 0])
        .register(move |setup| register(setup, own_events))
        .run()
        .await
}

// ANCHOR: register
fn register(setup: &mut Setup, own_events: OwnEvents) {
    let (widgets, deployments) = (setup.informers().widgets(), setup.informers().of::<Deployment>());
    let reconciler = Widgets {
        lister: widgets.lister(),
        deployments: deployments.lister(),
        status: setup.client(),
        writer: setup.client(),
        events: setup.recorder(),
    };
    setup
        .controller("widgets", reconciler)
        .reconciles(&widgets)
        .owns(&deployments)
        .workers(usize::from(WORKERS))
        .own_events(own_events);
}
// ANCHOR_END: register

// ANCHOR: reconcile
impl Reconciler for Widgets {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        count_reconcile();
        let widget = match self.lister.get(key) {
            Ok(widget) => widget,
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        let (deployment, reason) = match self.deployments.get(key) {
            Ok(found) => match with_requested_replicas(&found, &widget) {
                Some(scaled) => (self.writer.update(&scaled).await?.into(), "Scaled"),
                None => (found, "Changed"),
            },
            Err(LookupError::NotFound { .. }) => {
                let new = new_deployment(&widget, controller_reference(&*widget));
                (self.writer.create(&new).await?.into(), "Created")
            }
            Err(error) => return Err(error.into()),
        };
        let status = WidgetStatus::of(&deployment);
        if widget.status.as_ref() == Some(&status) {
            return Ok(Action::await_change());
        }
        let note = status.note();
        let mut changed = (*widget).clone();
        changed.status = Some(status);
        self.status.update_status(&changed).await?;
        self.events.event(&*widget, EventType::Normal, reason, note);
        Ok(Action::await_change())
    }
}
// ANCHOR_END: reconcile
