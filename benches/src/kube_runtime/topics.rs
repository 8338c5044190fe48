//! Topics of the book that the benchmark's operator lacks, with kube-runtime: a predicate, server-side apply of a status, a finalizer.
//! The book includes these functions beside those of kubewright.

#![expect(
    dead_code,
    reason = "compiled for the book: the benchmark calls none of these functions"
)]

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams},
    runtime::{
        Controller, PredicateConfig, WatchStreamExt as _, controller::Action, finalizer, predicates,
        reflector, watcher,
    },
};
use kubewright_benches::widget::{Widget, WidgetStatus};
use serde_json::json;

// ANCHOR: predicate
/// Reconciles Nodes whose labels changed.
async fn run_node_labeler(client: Client) {
    let (nodes, writer) = reflector::store();
    let changed = watcher(Api::<Node>::all(client), watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .applied_objects()
        .predicate_filter(predicates::labels, PredicateConfig::default());
    Controller::for_stream(changed, nodes)
        .run(
            label_node,
            |_, _, _| Action::requeue(Duration::from_secs(1)),
            Arc::new(()),
        )
        .for_each(|_| std::future::ready(()))
        .await;
}
// ANCHOR_END: predicate

async fn label_node(_node: Arc<Node>, _context: Arc<()>) -> Result<Action, Infallible> {
    std::future::ready(Ok(Action::await_change())).await
}

// ANCHOR: status
/// Applies the status if it changed.
async fn apply_status(client: Client, widget: &Widget, status: &WidgetStatus) -> kube::Result<()> {
    if widget.status.as_ref() == Some(status) {
        return Ok(());
    }
    let intent = json!({
        "apiVersion": Widget::api_version(&()),
        "kind": Widget::kind(&()),
        "status": status,
    });
    let widgets = Api::<Widget>::namespaced(client, &widget.namespace().unwrap_or_default());
    let params = PatchParams::apply("widgets").force();
    widgets
        .patch_status(&widget.name_any(), &params, &Patch::Apply(&intent))
        .await?;
    Ok(())
}
// ANCHOR_END: status

// ANCHOR: finalizer
/// Creates the widget's bucket, and deletes it before the widget goes.
async fn reconcile_bucket(
    widget: Arc<Widget>,
    client: Arc<Client>,
) -> Result<Action, finalizer::Error<io::Error>> {
    let namespace = widget.namespace().unwrap_or_default();
    let widgets = Api::<Widget>::namespaced(Client::clone(&client), &namespace);
    finalizer::finalizer(
        &widgets,
        "bench.kubewright.dev/bucket",
        widget,
        |event| async move {
            match event {
                finalizer::Event::Apply(widget) => create_bucket(&widget).await?,
                finalizer::Event::Cleanup(widget) => delete_bucket(&widget).await?,
            }
            Ok(Action::await_change())
        },
    )
    .await
}
// ANCHOR_END: finalizer

async fn create_bucket(_widget: &Widget) -> io::Result<()> {
    std::future::ready(Ok(())).await
}

async fn delete_bucket(_widget: &Widget) -> io::Result<()> {
    std::future::ready(Ok(())).await
}
