//! Support of the cache's tests, both of the public interface and inside the crate: a scripted API server, and a handler that records its
//! events.
//!
//! The clock is paused: sleeping takes no time, and lets all other tasks run first.

pub(crate) mod log;
pub(crate) mod server;

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{
    NamespacedName,
    cache::{Change, Deleted, EventHandler, Lister, Object, SharedInformer, SharedInformerFactory},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use server::Server;

/// Returns a ConfigMap in namespace `default` with one datum.
pub(crate) fn config_map(name: &str, datum: &str) -> Value {
    json!({"metadata": {"namespace": "default", "name": name}, "data": {"datum": datum}})
}

pub(crate) fn name(name: &str) -> NamespacedName {
    NamespacedName::namespaced("default", name)
}

/// Returns a factory of the server, and its started and synced informer of ConfigMaps.
pub(crate) async fn informer(server: &Arc<Server>) -> (SharedInformerFactory, SharedInformer<ConfigMap>) {
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    factory.start();
    factory.wait_for_cache_sync().await;
    (factory, informer)
}

/// Runs all other tasks until they are idle or wait for a timer, and one millisecond longer.
pub(crate) async fn run_until_idle() {
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
}

/// Waits longer than any backoff.
pub(crate) async fn wait_out_backoff() {
    tokio::time::sleep(std::time::Duration::from_secs(61)).await;
}

/// Returns the name and the datum of each object in the store.
pub(crate) fn contents(lister: &Lister<ConfigMap>) -> BTreeMap<String, String> {
    lister.list().map(|item| entry(&item.unwrap())).collect()
}

pub(crate) fn entry(config_map: &ConfigMap) -> (String, String) {
    let datum = config_map.data.as_ref().and_then(|data| data.get("datum"));
    (
        config_map.metadata.name.clone().unwrap(),
        datum.cloned().unwrap_or_default(),
    )
}

pub(crate) fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

/// Records its events as strings; for a sink, see [`sink`](Self::sink).
#[derive(Clone, Default)]
pub(crate) struct RecordingHandler(Arc<Mutex<Vec<String>>>);

impl RecordingHandler {
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    pub(crate) fn sink(&self) -> impl Fn(&Change<'_>) + Send + Sync + 'static {
        let recorded = self.clone();
        move |change| {
            let line = match change {
                Change::Added {
                    new,
                    is_in_initial_list,
                } => {
                    format!(
                        "add {}{}",
                        new.name().name(),
                        if *is_in_initial_list { " initial" } else { "" }
                    )
                }
                Change::Updated { old, new } if old.uid() != new.uid() => {
                    format!("recreate {}", new.name().name())
                }
                Change::Updated { new, .. } => format!("update {}", new.name().name()),
                Change::Deleted {
                    old,
                    final_state_known,
                } => {
                    format!(
                        "delete {}{}",
                        old.name().name(),
                        if *final_state_known { "" } else { " unseen" }
                    )
                }
            };
            recorded.0.lock().push(line);
        }
    }
}

impl EventHandler<ConfigMap> for RecordingHandler {
    fn on_add(&self, object: &Object<ConfigMap>, is_in_initial_list: bool) {
        let (name, datum) = entry(&object.decode().unwrap());
        self.0.lock().push(format!(
            "add {name}={datum}{}",
            if is_in_initial_list { " initial" } else { "" }
        ));
    }

    fn on_update(&self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
        let ((name, old), (_, new)) = (entry(&old.decode().unwrap()), entry(&new.decode().unwrap()));
        self.0.lock().push(format!("update {name}={old}->{new}"));
    }

    fn on_delete(&self, deleted: &Deleted<ConfigMap>) {
        let (name, datum) = entry(&deleted.object.decode().unwrap());
        self.0.lock().push(format!(
            "delete {name}={datum}{}",
            if deleted.final_state_known { "" } else { " unseen" }
        ));
    }
}
