//! kube-runtime: three idle controllers in one process. kube-runtime has no manager, so there are no metrics, probes or leader election.

use std::{convert::Infallible, sync::Arc};

use anyhow::Result;
use futures::{
    StreamExt as _,
    future::{join, join3},
};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kube::{
    Api, Client, Resource,
    runtime::{Controller, controller::Action, reflector::Store, watcher},
};
use kubewright_benches::{subject, widget::Widget};
use serde::de::DeserializeOwned;

pub(crate) async fn run() -> Result<()> {
    let client = Client::try_default().await?;
    let (widgets, one) = controller::<Widget>(client.clone());
    let (deployments, two) = controller::<Deployment>(client.clone());
    let (sets, three) = controller::<StatefulSet>(client);
    // Wait in the same task as the controllers: a store wakes only one waiting task.
    let synced = async {
        let synced = join3(
            widgets.wait_until_ready(),
            deployments.wait_until_ready(),
            sets.wait_until_ready(),
        );
        if let (Ok(()), Ok(()), Ok(())) = synced.await {
            subject::print_ready();
        }
    };
    join(synced, join3(one, two, three)).await;
    Ok(())
}

fn controller<K>(client: Client) -> (Store<K>, impl Future<Output = ()>)
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
{
    let controller = Controller::new(Api::<K>::all(client), watcher::Config::default());
    let store = controller.store();
    let running = controller
        .run(reconcile, |_, _, _| Action::await_change(), Arc::new(()))
        .for_each(|_| std::future::ready(()));
    (store, running)
}

async fn reconcile<K>(_: Arc<K>, _: Arc<()>) -> Result<Action, Infallible> {
    Ok(Action::await_change())
}
