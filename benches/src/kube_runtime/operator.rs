//! The operator with kube-runtime's `Controller`. A reflector's stream of owned Deployments triggers their owners, so there is one watch
//! per kind.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::PostParams,
    runtime::{
        Controller, WatchStreamExt as _,
        controller::{Action, Config},
        events::{Event, EventType, Recorder, Reporter},
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};
use kubewright_benches::{
    subject::count_reconcile,
    widget::{WORKERS, Widget, WidgetStatus, new_deployment, with_requested_replicas},
};

// ANCHOR: setup
struct Context {
    client: Client,
    deployments: Store<Deployment>,
    events: Recorder,
}

pub(crate) async fn run() -> Result<()> {
    let client = Client::try_default().await?;
    let (deployments, writer) = reflector::store();
    let owned = watcher(Api::<Deployment>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .touched_objects();
    let context = Context {
        deployments,
        events: Recorder::new(client.clone(), Reporter::from("widgets")),
        client: client.clone(),
    };
    Controller::new(Api::<Widget>::all(client), watcher::Config::default())
        .with_config(Config::default().concurrency(WORKERS))
        .owns_stream(owned)
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_secs(1)),
            Arc::new(context),
        )
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
// ANCHOR_END: setup

// ANCHOR: reconcile
async fn reconcile(widget: Arc<Widget>, context: Arc<Context>) -> Result<Action, kube::Error> {
    count_reconcile();
    // Without this, the first reconciles after a start would not find existing Deployments.
    let _ = context.deployments.wait_until_ready().await;
    let namespace = widget.namespace().unwrap_or_default();
    let name = widget.name_any();
    let deployments = Api::<Deployment>::namespaced(context.client.clone(), &namespace);
    let parameters = PostParams::default();
    let cached = context.deployments.get(&ObjectRef::new(&name).within(&namespace));
    let (deployment, reason) = if let Some(found) = cached {
        match with_requested_replicas(&found, &widget) {
            Some(scaled) => {
                let updated = deployments.replace(&name, &parameters, &scaled).await?;
                (Arc::new(updated), "Scaled")
            }
            None => (found, "Changed"),
        }
    } else {
        let owner = widget.controller_owner_ref(&()).unwrap_or_default();
        let created = deployments
            .create(&parameters, &new_deployment(&widget, owner))
            .await?;
        (Arc::new(created), "Created")
    };
    let status = WidgetStatus::of(&deployment);
    if widget.status.as_ref() == Some(&status) {
        return Ok(Action::await_change());
    }
    let note = status.note();
    let mut changed = (*widget).clone();
    changed.status = Some(status);
    Api::<Widget>::namespaced(context.client.clone(), &namespace)
        .replace_status(&name, &parameters, &changed)
        .await?;
    let event = Event {
        type_: EventType::Normal,
        reason: reason.to_owned(),
        note: Some(note),
        action: "Reconcile".to_owned(),
        secondary: None,
    };
    context.events.publish(&event, &widget.object_ref(&())).await?;
    Ok(Action::await_change())
}
// ANCHOR_END: reconcile
