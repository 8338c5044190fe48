//! Objects that a client caches, and the changes and watch failures that the client must follow.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use kubewright_testkit::{Cluster, Identity, PermissionUnit, RequestMatcher, eventually};
use kubewright_tests::new_object;
use serde_json::{Value, json};

/// Longest wait until a client is up to date: clients back off for some seconds after a failed watch.
const FOLLOW_TIMEOUT: Duration = Duration::from_mins(1);

static HISTORY: Mutex<()> = Mutex::new(());

/// Locks the history of the servers; a test holds the lock while it checks clients.
///
/// Compaction expires the watches of all clients of a server, and the tests share the real one: a client checked beside another would
/// relist once more than it should.
pub fn lock_history() -> MutexGuard<'static, ()> {
    HISTORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client's cache: resource version and text by object name.
pub type CachedObjects = BTreeMap<String, (String, String)>;

/// A namespace with objects of one kind, and an identity that may list and watch them.
pub struct FollowedKind<'c> {
    cluster: &'c Cluster,
    pub namespace: String,
    pub reader: Identity,
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
}

impl<'c> FollowedKind<'c> {
    /// Creates ConfigMaps.
    pub fn config_maps(cluster: &'c Cluster, name: &str) -> Self {
        Self::new(cluster, name, ["v1", "ConfigMap", "configmaps"])
    }

    /// Installs a custom resource and creates objects of it.
    pub fn notes(cluster: &'c Cluster, name: &str) -> Self {
        let text = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        let schema = json!({ "type": "object", "properties": { "data": text } });
        let version =
            json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "notes.clients.dev" },
            "spec": {
                "group": "clients.dev", "scope": "Namespaced", "versions": [version],
                "names": { "plural": "notes", "singular": "note", "kind": "Note", "listKind": "NoteList" },
            },
        });
        cluster.install_crd(&definition).expect("the kind is served");
        Self::new(cluster, name, ["clients.dev/v1", "Note", "notes"])
    }

    fn new(cluster: &'c Cluster, name: &str, [api_version, kind, plural]: [&'static str; 3]) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _version)| group);
        let permissions = [PermissionUnit::new(group, plural, ["list", "watch"])];
        let followed = Self {
            cluster,
            namespace: format!("{name}-system"),
            reader: cluster.operator(name, &permissions).expect("an operator"),
            api_version,
            kind,
            plural,
        };
        // More objects than a page has.
        for name in ["a", "b", "c", "d", "e"] {
            followed.apply(name, "first");
        }
        followed
    }

    /// Changes objects, closes the client's watch and expires it with a compacted history. The client's cache must equal a list each time.
    pub fn check_follower(&self, cached_objects: impl Fn() -> CachedObjects) {
        let faults = self.cluster.faults();
        let watches = RequestMatcher::watch(self.plural).user(self.reader.user());
        let wait_until_equal = |what: &str| {
            eventually(what, FOLLOW_TIMEOUT, || {
                let (cached, listed) = (cached_objects(), self.list());
                if cached == listed {
                    Ok(())
                } else {
                    Err(format!(
                        "the client has {cached:?}, but a list returns {listed:?}"
                    ))
                }
            });
        };
        wait_until_equal("the first list");
        self.apply("f", "first");
        self.apply("a", "second");
        self.delete("b");
        wait_until_equal("a creation, an update and a deletion");

        // Changes while the watch is closed must arrive with the next watch.
        faults.hold_events(watches.clone());
        self.apply("g", "first");
        self.apply("a", "third");
        self.delete("c");
        eventually("the client's watch is closed", FOLLOW_TIMEOUT, || {
            faults.close_watches(&watches) == 1
        });
        faults.release_events(&watches);
        wait_until_equal("the changes around a closed watch");

        // Changes that the history has lost can only be found by a relist.
        faults.hold_events(watches.clone());
        self.apply("h", "first");
        self.apply("a", "fourth");
        self.delete("d");
        eventually("the client's watch expires", FOLLOW_TIMEOUT, || {
            self.cluster.expire_watches(&watches).expect("the watch expires") == 1
        });
        faults.release_events(&watches);
        wait_until_equal("the changes that the history lost");
        self.apply("a", "fifth");
        wait_until_equal("a change after that");
    }

    /// Returns the number of successful list requests of the client.
    pub fn lists(&self) -> usize {
        let audit = self.cluster.audit().expect("an audit log");
        let lists = audit.by_user(self.reader.user());
        lists
            .filter(|event| event.verb == "list" && event.code == 200)
            .len()
    }

    fn list(&self) -> CachedObjects {
        let all = new_object(self.api_version, self.kind, &self.namespace, "");
        let objects = self.cluster.list(&all).expect("a list");
        objects.iter().map(entry).collect()
    }

    fn apply(&self, name: &str, text: &str) {
        let mut object = new_object(self.api_version, self.kind, &self.namespace, name);
        object["data"] = json!({ "text": text });
        self.cluster.apply(&object).expect("the object is applied");
    }

    fn delete(&self, name: &str) {
        let object = new_object(self.api_version, self.kind, &self.namespace, name);
        self.cluster.delete(&object).expect("the object is deleted");
    }
}

/// Returns an object's entry in [`CachedObjects`].
pub fn entry(object: &Value) -> (String, (String, String)) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let version = text(&metadata["resourceVersion"]);
    (text(&metadata["name"]), (version, text(&object["data"]["text"])))
}
