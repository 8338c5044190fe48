//! A handler that holds what it was told against what may be told.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{Deleted, EventHandler, Object};
use parking_lot::Mutex;

use crate::support::entry;

/// What a handler knows from what it was told; refuses a life that does not alternate.
#[derive(Clone, Default)]
pub(crate) struct Mirror(Arc<Mutex<View>>);

#[derive(Default)]
struct View {
    objects: BTreeMap<String, String>,
    complaints: Vec<String>,
    resyncs: usize,
}

impl Mirror {
    /// Name and datum of what is there, or the first thing that should not have been told.
    pub(crate) fn contents(&self) -> Result<BTreeMap<String, String>, String> {
        let view = self.0.lock();
        match view.complaints.first() {
            Some(complaint) => Err(complaint.clone()),
            None => Ok(view.objects.clone()),
        }
    }

    /// How often it was told of what had not changed.
    pub(crate) fn resyncs(&self) -> usize {
        self.0.lock().resyncs
    }

    fn put(&self, what: &str, expected: Option<&str>, object: &Object<ConfigMap>) {
        let (name, datum) = (object.name().name().to_owned(), datum(object));
        let mut view = self.0.lock();
        let before = view.objects.insert(name.clone(), datum);
        if before.as_deref() != expected {
            view.complaints
                .push(format!("{what} {name} from {expected:?} where it was {before:?}"));
        }
    }
}

/// Of what does not decode: what says so.
pub(crate) fn datum(object: &Object<ConfigMap>) -> String {
    object
        .decode()
        .map_or("undecodable".into(), |decoded| entry(&decoded).1)
}

impl EventHandler<ConfigMap> for Mirror {
    fn on_add(&self, object: &Object<ConfigMap>, _: bool) {
        self.put("add", None, object);
    }

    fn on_update(&self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
        let before = datum(old);
        let (before_it, after_it) = (old.metadata(), new.metadata());
        // Without a version nobody knows that two are the same: each is told as a change.
        let is_resync = !after_it.resource_version().is_empty()
            && after_it.resource_version() == before_it.resource_version()
            && after_it.uid() == before_it.uid();
        self.0.lock().resyncs += usize::from(is_resync);
        self.put("update", Some(&before), new);
    }

    /// The final state may hold what no update brought.
    fn on_delete(&self, deleted: &Deleted<ConfigMap>) {
        let name = deleted.object.name().name();
        let mut view = self.0.lock();
        if view.objects.remove(name).is_none() {
            view.complaints.push(format!("delete {name} where it was not"));
        }
    }
}
