//! What is known of the API server's objects.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::object;

/// The kinds that matter, in the order of the controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Namespace,
    Node,
    ServiceAccount,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
    Pod,
}

impl Kind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Namespace,
        Self::Node,
        Self::ServiceAccount,
        Self::Deployment,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::Pod,
    ];

    /// Its group and version, and its plural.
    pub(crate) fn api(self) -> (&'static str, &'static str) {
        match self {
            Self::Namespace => ("v1", "namespaces"),
            Self::Node => ("v1", "nodes"),
            Self::ServiceAccount => ("v1", "serviceaccounts"),
            Self::Pod => ("v1", "pods"),
            Self::Deployment => ("apps/v1", "deployments"),
            Self::ReplicaSet => ("apps/v1", "replicasets"),
            Self::StatefulSet => ("apps/v1", "statefulsets"),
            Self::DaemonSet => ("apps/v1", "daemonsets"),
            Self::Job => ("batch/v1", "jobs"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespace => "Namespace",
            Self::Node => "Node",
            Self::ServiceAccount => "ServiceAccount",
            Self::Pod => "Pod",
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
        }
    }

    fn namespaced(self) -> bool {
        !matches!(self, Self::Namespace | Self::Node)
    }

    /// The path of its objects in a namespace; in all where it is empty.
    pub(crate) fn path(self, namespace: &str) -> String {
        let (version, plural) = self.api();
        let root = if version.contains('/') { "apis" } else { "api" };
        if self.namespaced() && !namespace.is_empty() {
            format!("/{root}/{version}/namespaces/{namespace}/{plural}")
        } else {
            format!("/{root}/{version}/{plural}")
        }
    }
}

/// Namespace and name.
pub(crate) type Key = (String, String);

/// All objects that matter, as they were last seen, our own writes included.
#[derive(Debug, Default)]
pub(crate) struct World {
    objects: HashMap<Kind, BTreeMap<Key, Value>>,
    /// Since when something has been waited for, by what.
    timers: HashMap<String, Instant>,
}

impl World {
    /// All objects of a kind, by namespace and name.
    pub(crate) fn all(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        self.objects.get(&kind).into_iter().flat_map(BTreeMap::values)
    }

    pub(crate) fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Value> {
        self.objects
            .get(&kind)?
            .get(&(namespace.to_owned(), name.to_owned()))
    }

    /// Those of a kind whose controller is this object.
    pub(crate) fn owned<'a>(&'a self, kind: Kind, owner: &'a Value) -> impl Iterator<Item = &'a Value> {
        let uid = object::uid(owner);
        self.all(kind)
            .filter(move |found| object::controller(found) == Some(uid))
    }

    /// Takes an object in, unless a newer version of it is known.
    pub(crate) fn put(&mut self, kind: Kind, object: Value) {
        let objects = self.objects.entry(kind).or_default();
        let key = object::key(&object);
        match objects.get(&key) {
            Some(known) if object::version(known) > object::version(&object) => {}
            _ => drop(objects.insert(key, object)),
        }
    }

    /// Takes an object out, unless a newer one has its name.
    pub(crate) fn remove(&mut self, kind: Kind, object: &Value) {
        let objects = self.objects.entry(kind).or_default();
        let key = object::key(object);
        let is_newer = |known: &Value| object::version(known) > object::version(object);
        if !objects.get(&key).is_some_and(is_newer) {
            objects.remove(&key);
        }
    }

    /// Takes an object out, whatever was known.
    pub(crate) fn forget(&mut self, kind: Kind, key: &Key) {
        self.objects.entry(kind).or_default().remove(key);
    }

    /// Takes a whole list in, read at `version`; what is newer than that stays.
    pub(crate) fn replace(&mut self, kind: Kind, list: Vec<Value>, version: u64) {
        let objects = self.objects.entry(kind).or_default();
        objects.retain(|_, known| object::version(known) > version);
        for object in list {
            self.put(kind, object);
        }
    }

    /// How long is left of `wait`, which began when this was first asked; None when it is over.
    pub(crate) fn left(&mut self, what: String, wait: Duration, now: Instant) -> Option<Duration> {
        let since = *self.timers.entry(what).or_insert(now);
        let left = (since + wait).saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Forgets the waits of objects that are gone.
    pub(crate) fn sweep(&mut self) {
        let uids: std::collections::HashSet<String> = self
            .all(Kind::Pod)
            .map(|pod| object::uid(pod).to_owned())
            .collect();
        self.timers
            .retain(|what, _| uids.contains(what.split('/').next().unwrap_or_default()));
    }
}
