//! What the writers of objects share: which versions they write, and whether they pause.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use kube::{Api, api::DynamicObject, core::ApiResource};

/// The pause after a write: without optimization the servers and the operator would use both cores.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// The versions that are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ApiVersions {
    Old,
    Both,
    New,
}

/// The state that the writers share.
pub(crate) struct Load {
    pub(crate) versions: Mutex<ApiVersions>,
    pub(crate) is_paused: AtomicBool,
    pub(crate) is_over: AtomicBool,
    /// The writes of each writer.
    pub(crate) writes: Vec<AtomicU64>,
    /// The writes of objects in the old version alone that are under way.
    pub(crate) old_writes: AtomicU64,
}

/// A write in the old version, until it is dropped.
pub(crate) struct OldWrite<'a>(&'a AtomicU64);

impl Drop for OldWrite<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Load {
    pub(crate) fn new(versions: ApiVersions, writers: usize) -> Self {
        Self {
            versions: Mutex::new(versions),
            is_paused: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            writes: (0..writers).map(|_| AtomicU64::new(0)).collect(),
            old_writes: AtomicU64::new(0),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    pub(crate) fn versions(&self) -> ApiVersions {
        *self.versions.lock().unwrap()
    }

    /// Announces a write in the old version. Look at the versions after that.
    pub(crate) fn begin_old_write(&self) -> OldWrite<'_> {
        self.old_writes.fetch_add(1, Ordering::SeqCst);
        OldWrite(&self.old_writes)
    }
}

/// The clients of the old and the new version.
pub(crate) fn apis(client: &kube::Client) -> (Api<DynamicObject>, Api<DynamicObject>) {
    let api = |version: &str| {
        let resource = ApiResource {
            group: "demo.dev".to_owned(),
            version: version.to_owned(),
            api_version: format!("demo.dev/{version}"),
            kind: "Foo".to_owned(),
            plural: "foos".to_owned(),
        };
        Api::namespaced_with(client.clone(), "default", &resource)
    };
    (api("v1alpha1"), api("v1"))
}
