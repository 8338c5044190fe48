//! What happens to the objects that a client copies, and to the watches that it copies them by.

use std::{collections::BTreeMap, time::Duration};

use kubewright_testkit::{Cluster, Identity, PermissionUnit, RequestMatcher, eventually};
use kubewright_tests::named;
use serde_json::{Value, json};

/// Clients back off for some seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// A copy: versions and texts by names.
pub type Copy = BTreeMap<String, (String, String)>;

/// A namespace with objects of one kind, and who may read them.
pub struct World<'c> {
    cluster: &'c Cluster,
    pub namespace: String,
    pub reader: Identity,
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
}

impl<'c> World<'c> {
    /// ConfigMaps.
    pub fn of_maps(cluster: &'c Cluster, name: &str) -> Self {
        Self::new(cluster, name, ["v1", "ConfigMap", "configmaps"])
    }

    /// Objects of a custom resource.
    pub fn of_notes(cluster: &'c Cluster, name: &str) -> Self {
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
        cluster.install_crd(&definition).expect("its kind is served");
        Self::new(cluster, name, ["clients.dev/v1", "Note", "notes"])
    }

    fn new(cluster: &'c Cluster, name: &str, [api_version, kind, plural]: [&'static str; 3]) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _version)| group);
        let rights = [PermissionUnit::new(group, plural, ["list", "watch"])];
        let world = Self {
            cluster,
            namespace: format!("{name}-system"),
            reader: cluster.operator(name, &rights).expect("an operator"),
            api_version,
            kind,
            plural,
        };
        // More than a page.
        for name in ["a", "b", "c", "d", "e"] {
            world.put(name, "first");
        }
        world
    }

    /// Changes, a closed watch and a lost history; the client must follow, and loses nothing.
    pub fn try_follower(&self, copy: impl Fn() -> Copy) {
        let faults = self.cluster.faults();
        let watches = RequestMatcher::watch(self.plural).user(self.reader.user());
        let follows = |what: &str| {
            eventually(what, PATIENCE, || {
                let (seen, listed) = (copy(), self.list());
                if seen == listed {
                    Ok(())
                } else {
                    Err(format!("the client has {seen:?}, a list {listed:?}"))
                }
            });
        };
        follows("the first list");
        self.put("f", "first");
        self.put("a", "second");
        self.delete("b");
        follows("a creation, an update and a deletion");

        // What happens while there is no watch comes with the next one.
        faults.hold_events(watches.clone());
        self.put("g", "first");
        self.put("a", "third");
        self.delete("c");
        eventually("its watch is closed", PATIENCE, || {
            faults.close_watches(&watches) == 1
        });
        faults.release_events(&watches);
        follows("the changes around a closed watch");

        // Here only another list knows it.
        faults.hold_events(watches.clone());
        self.put("h", "first");
        self.put("a", "fourth");
        self.delete("d");
        eventually("its watch expires", PATIENCE, || {
            self.cluster.expire_watches(&watches).expect("it expires") == 1
        });
        faults.release_events(&watches);
        follows("the changes that the history lost");
        self.put("a", "fifth");
        follows("a change after that");
    }

    /// How many lists the client was given.
    pub fn lists(&self) -> usize {
        let audit = self.cluster.audit().expect("an audit log");
        let lists = audit.by_user(self.reader.user());
        lists
            .filter(|event| event.verb == "list" && event.code == 200)
            .len()
    }

    fn list(&self) -> Copy {
        let all = named(self.api_version, self.kind, &self.namespace, "");
        let objects = self.cluster.list(&all).expect("a list");
        objects.iter().map(entry).collect()
    }

    fn put(&self, name: &str, text: &str) {
        let mut object = named(self.api_version, self.kind, &self.namespace, name);
        object["data"] = json!({ "text": text });
        self.cluster.apply(&object).expect("applied");
    }

    fn delete(&self, name: &str) {
        let object = named(self.api_version, self.kind, &self.namespace, name);
        self.cluster.delete(&object).expect("deleted");
    }
}

/// An object as copies hold it.
pub fn entry(object: &Value) -> (String, (String, String)) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let version = text(&metadata["resourceVersion"]);
    (text(&metadata["name"]), (version, text(&object["data"]["text"])))
}
