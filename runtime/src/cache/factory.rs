//! One informer per (kind, namespaces, selectors, what it keeps).

use super::{IndexSpec, SharedInformer};
use crate::{Kind, client::Connection};

/// What distinguishes two informers of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InformerOptions {
    /// Only these namespaces; none: those of the factory. Ignored for cluster-scoped kinds.
    pub namespaces: Option<Vec<String>>,
    /// Only objects whose labels match, as kubectl's `-l`.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, as kubectl's `--field-selector`.
    pub field_selector: Option<String>,
}

/// Makes informers and runs them. Cloning copies a pointer.
#[derive(Clone)]
pub struct SharedInformerFactory {}

impl SharedInformerFactory {
    /// A factory that lists and watches through `connection`. Nothing is sent before [`start`](Self::start).
    pub fn new(_connection: Connection) -> Self {
        unimplemented!()
    }
    /// The namespaces that informers without namespaces of their own watch; empty: all. Takes effect for informers that start afterwards.
    pub fn set_namespaces(&self, _namespaces: Vec<String>) {
        unimplemented!()
    }
    /// The informer of a kind.
    pub fn of<K: Kind>(&self) -> SharedInformer<K> {
        unimplemented!()
    }
    /// The informer of a kind, restricted.
    pub fn with<K: Kind>(&self, _options: InformerOptions) -> SharedInformer<K> {
        unimplemented!()
    }
    /// Adds indexes to the informer of a kind; what is there already (same name and path) is left alone.
    pub fn indexed<K: Kind>(&self, _indexes: &[IndexSpec]) -> SharedInformer<K> {
        unimplemented!()
    }
    /// The informer of a custom kind, with the kind's indexes; remembers the kind's definition for the operator's manifests.
    pub fn custom<K: crate::CustomKind>(&self) -> SharedInformer<K> {
        unimplemented!()
    }
    /// Starts the informers that are not running yet; may be called again after more were made.
    pub fn start(&self) {
        unimplemented!()
    }
    /// Waits until all started informers hold their first list.
    pub async fn wait_for_cache_sync(&self) {
        unimplemented!()
    }
    /// Stops all informers and returns when their tasks ended. They do not start again.
    pub async fn shutdown(&self) {
        unimplemented!()
    }
    /// What was made, for roles and hints.
    pub fn informers(&self) -> Vec<(crate::KindInfo, InformerOptions)> {
        unimplemented!()
    }
}
