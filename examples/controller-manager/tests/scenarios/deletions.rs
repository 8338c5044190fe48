//! Deletions with each propagation policy, and namespaces.

use kubewright_testkit::{Failure, Fault, RequestMatcher, eventually};
use serde_json::{Value, json};

use crate::{
    outcome::normalized,
    workloads::{Scenarios, TIMEOUT, conditions, named},
};

impl Scenarios<'_> {
    /// Owners that are deleted without their dependents, and created again, adopt them.
    pub(crate) fn adoptions(&mut self) {
        for (kind, name) in [
            ("Deployment", "web"),
            ("StatefulSet", "db"),
            ("DaemonSet", "agent"),
        ] {
            self.replace_owner(&named("apps/v1", kind, name));
        }
        let kinds = [
            "ControllerRevision",
            "DaemonSet",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
        ];
        self.record("adopted", "apps/v1", &kinds);
    }

    /// Deletes an owner without its dependents, creates it again, and waits until everything has an owner.
    pub(crate) fn replace_owner(&self, owner: &Value) {
        let mut again = owner.clone();
        again["spec"] = self.cluster.get(owner).unwrap().unwrap()["spec"].clone();
        self.delete(owner, "Orphan");
        eventually("the owner is gone", TIMEOUT, || {
            self.cluster.get(owner).unwrap().map_or(Ok(()), Err)
        });
        self.cluster.apply(&again).unwrap();
        eventually("what it left is adopted", TIMEOUT, || {
            let pods = self.list("v1", "Pod");
            let sets = self.list("apps/v1", "ReplicaSet");
            let revisions = self.list("apps/v1", "ControllerRevision");
            let objects = pods.iter().chain(&sets).chain(&revisions);
            let name = &owner["metadata"]["name"];
            let orphans = objects.filter(|object| {
                object["metadata"]["ownerReferences"].is_null() && object["metadata"]["name"] != *name
            });
            match orphans.map(|object| &object["metadata"]["name"]).next() {
                None => Ok(()),
                Some(name) => Err(name.to_string()),
            }
        });
    }

    pub(crate) fn cascades(&mut self) {
        self.delete(&named("apps/v1", "Deployment", "web"), "Foreground");
        self.delete(&named("apps/v1", "StatefulSet", "db"), "Orphan");
        self.delete(&named("apps/v1", "DaemonSet", "agent"), "Background");
        eventually("the pods of both are gone", TIMEOUT, || {
            let pods = self.list("v1", "Pod");
            let app = |pod: &Value| {
                pod["metadata"]["labels"]["app"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            let left: Vec<_> = pods
                .iter()
                .map(app)
                .filter(|app| app == "web" || app == "agent")
                .collect();
            let owned = pods
                .iter()
                .any(|pod| app(pod) == "db" && !pod["metadata"]["ownerReferences"].is_null());
            if left.is_empty() && !owned && self.list("apps/v1", "StatefulSet").is_empty() {
                Ok(())
            } else {
                Err(format!("{left:?}, owned: {owned}"))
            }
        });
        self.dependent_of_an_absent_owner();
        self.record("orphaned", "v1", &["Pod"]);
        self.record("orphaned", "apps/v1", &["ReplicaSet", "ControllerRevision"]);
    }

    /// An object is deleted if no cache has ever shown its owner, and the API server does not know it either.
    fn dependent_of_an_absent_owner(&self) {
        let mut dependent = named("v1", "ConfigMap", "dependent");
        dependent["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": "00000000-0000-4000-8000-000000000000",
        }]);
        self.cluster.apply(&dependent).unwrap();
        eventually("the dependent of an absent owner is gone", TIMEOUT, || {
            self.cluster.get(&dependent).unwrap().map_or(Ok(()), Err)
        });
    }

    /// Two hundred namespaces at once: one that a finalizer holds, and one in which the API server refuses to delete collections of ConfigMaps.
    pub(crate) fn namespaces(&mut self) {
        let object =
            |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
        let names: Vec<String> = (0..200).map(|number| format!("doomed-{number}")).collect();
        for name in &names {
            self.cluster.create_namespace(name).unwrap();
        }
        let mut held = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {}});
        held["metadata"] =
            json!({"namespace": "doomed-0", "name": "held", "finalizers": ["example.com/hold"]});
        self.cluster.apply(&held).unwrap();
        let collections = RequestMatcher::verb("deletecollection")
            .resource("configmaps")
            .namespace("doomed-1");
        let refusal = Failure::new(405, "MethodNotAllowed", "collections are not deleted here");
        let refused = self.cluster.faults().always(collections, Fault::Respond(refusal));
        let mut single = named("v1", "ConfigMap", "single");
        single["metadata"]["namespace"] = json!("doomed-1");
        self.cluster.apply(&single).unwrap();
        for name in &names {
            self.cluster.delete(&object("Namespace", name)).unwrap();
        }
        self.wait(&object("Namespace", "doomed-0"), |found| {
            conditions(found).contains(&"NamespaceFinalizersRemaining True SomeFinalizersRemain".to_owned())
        });
        let found = self
            .cluster
            .get(&object("Namespace", "doomed-0"))
            .unwrap()
            .unwrap();
        self.lines
            .push(format!("held: {}", normalized(&found["status"], &[])));
        self.cluster
            .merge_patch(&held, &json!({"metadata": {"finalizers": null}}))
            .unwrap();
        // Each takes about 60 requests, and beside programs that compile, two minutes were not enough.
        eventually("the namespaces are gone", 3 * TIMEOUT, || {
            let namespaces = self.cluster.list(&object("Namespace", "")).unwrap();
            let left = namespaces.iter().filter(|namespace| {
                namespace["metadata"]["name"]
                    .as_str()
                    .unwrap()
                    .starts_with("doomed")
            });
            match left.count() {
                0 => Ok(()),
                left => Err(left),
            }
        });
        refused.remove();
    }
}
