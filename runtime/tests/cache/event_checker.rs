//! A handler that checks that its events are consistent.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{Deleted, EventHandler, Object};
use parking_lot::Mutex;

use crate::support::entry;

/// A handler's view of the objects, from its events. Events that do not fit the state before are errors.
#[derive(Clone, Default)]
pub(crate) struct EventChecker(Arc<Mutex<View>>);

#[derive(Default)]
struct View {
    objects: BTreeMap<String, String>,
    complaints: Vec<String>,
    resyncs: usize,
}

impl EventChecker {
    /// Returns the name and the datum of each object, or the first inconsistent event.
    pub(crate) fn contents(&self) -> Result<BTreeMap<String, String>, String> {
        let view = self.0.lock();
        match view.complaints.first() {
            Some(complaint) => Err(complaint.clone()),
            None => Ok(view.objects.clone()),
        }
    }

    /// Returns the number of resync events.
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

/// Returns the datum of an object, or its decode error.
pub(crate) fn datum(object: &Object<ConfigMap>) -> String {
    object
        .decode()
        .map_or("undecodable".into(), |decoded| entry(&decoded).1)
}

impl EventHandler<ConfigMap> for EventChecker {
    fn on_add(&self, object: &Object<ConfigMap>, _: bool) {
        self.put("add", None, object);
    }

    fn on_update(&self, old: &Object<ConfigMap>, new: &Object<ConfigMap>) {
        let before = datum(old);
        let (before_it, after_it) = (old.metadata(), new.metadata());
        // Objects without a resource version cannot be compared: each is delivered as a change.
        let is_resync = !after_it.resource_version().is_empty()
            && after_it.resource_version() == before_it.resource_version()
            && after_it.uid() == before_it.uid();
        self.0.lock().resyncs += usize::from(is_resync);
        self.put("update", Some(&before), new);
    }

    /// The final state may differ from the last update.
    fn on_delete(&self, deleted: &Deleted<ConfigMap>) {
        let name = deleted.object.name().name();
        let mut view = self.0.lock();
        if view.objects.remove(name).is_none() {
            view.complaints.push(format!("delete {name} where it was not"));
        }
    }
}
