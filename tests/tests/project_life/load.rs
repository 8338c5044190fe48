//! What the writers of objects share: which versions they write, and the objects that they wrote.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::RwLock;

use crate::object::{NEW, OLD, Object};

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
    /// Locked for reading during each write: who locks it for writing waits for the writes that are under way.
    pub(crate) versions: RwLock<ApiVersions>,
    pub(crate) is_over: AtomicBool,
    /// The steps of each writer.
    pub(crate) steps: Vec<AtomicU64>,
    /// The objects that exist, by name.
    objects: Mutex<BTreeMap<String, Object>>,
}

impl Load {
    pub(crate) fn new(versions: ApiVersions, writers: usize) -> Self {
        Self {
            versions: RwLock::new(versions),
            is_over: AtomicBool::new(false),
            steps: (0..writers).map(|_| AtomicU64::new(0)).collect(),
            objects: Mutex::new(BTreeMap::new()),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Returns the objects that exist while no write is under way.
    pub(crate) fn objects(&self) -> BTreeMap<String, Object> {
        self.objects.lock().unwrap().clone()
    }

    /// Records an object as it was written.
    pub(crate) fn record(&self, object: &Object) {
        let mut objects = self.objects.lock().unwrap();
        objects.insert(object.name.clone(), object.clone());
    }

    /// Records that an object was deleted.
    pub(crate) fn forget(&self, object: &Object) {
        self.objects.lock().unwrap().remove(&object.name);
    }
}

impl ApiVersions {
    /// Returns the version that is written in a step.
    pub(crate) fn of_step(self, step: u64) -> &'static str {
        match self {
            Self::Old => OLD,
            Self::Both if step.is_multiple_of(2) => OLD,
            Self::Both | Self::New => NEW,
        }
    }
}
