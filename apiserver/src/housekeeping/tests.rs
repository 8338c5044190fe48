use super::HousekeepingTask;
use crate::admission::AdmissionPlugin;
use crate::meta;
use crate::registry::{Registry, Target};
use crate::request::DeleteOptions;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{advance, sleep};

const DELAY: Duration = Duration::from_millis(30);
/// A little less and a little more than the delay.
const BEFORE: Duration = Duration::from_millis(29);
const AFTER: Duration = Duration::from_millis(2);

/// A registry with running housekeeping tasks.
struct Cluster(Arc<Registry>);

impl Cluster {
    async fn start(tasks: &[HousekeepingTask]) -> Self {
        let cluster = Self(Registry::for_tests(AdmissionPlugin::defaults()));
        cluster.create("namespaces", json!({ "metadata": { "name": "shop" } }));
        for task in tasks {
            tokio::spawn(task.run(cluster.0.clone(), DELAY));
        }
        // The tasks begin with all objects.
        sleep(DELAY * 2).await;
        cluster
    }

    /// Returns the target of an object in the namespace `shop`, or of a cluster-scoped one; `plural` may have a group.
    fn target(&self, plural: &str, name: &str) -> Target {
        let (plural, group) = plural.split_once('.').unwrap_or((plural, ""));
        let kind = self.0.resource(group, plural).unwrap();
        let namespace = if kind.namespaced { "shop" } else { "" };
        Target::new(&kind, namespace, name)
    }

    fn create(&self, plural: &str, object: Value) {
        self.0.create_for_tests(&self.target(plural, ""), object);
    }

    fn define_foo(&self) {
        let schema = json!({ "type": "object" });
        let version =
            json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
        self.create(
            "customresourcedefinitions.apiextensions.k8s.io",
            json!({
                "metadata": { "name": "foos.demo.dev" },
                "spec": {
                    "group": "demo.dev", "scope": "Namespaced", "versions": [version],
                    "names": { "plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList" },
                },
            }),
        );
    }

    fn delete(&self, plural: &str, name: &str) {
        let target = self.target(plural, name);
        self.0.delete(&target, &DeleteOptions::default()).unwrap();
    }

    /// Changes an object as the server does, without validation of the status.
    fn change(&self, plural: &str, name: &str, change: impl Fn(&mut Value)) {
        let target = self.target(plural, name);
        self.0.update_as_server(&target, |object| change(object)).unwrap();
    }

    fn exists(&self, plural: &str, name: &str) -> bool {
        self.0.get(&self.target(plural, name)).is_ok()
    }

    /// Checks that the object disappears within a time.
    async fn expect_deletion_within(&self, plural: &str, name: &str, time: Duration) {
        let mut waited = Duration::ZERO;
        while self.exists(plural, name) {
            assert!(waited < time, "{plural} {name} was not deleted");
            wait(AFTER).await;
            waited += AFTER;
        }
    }

    /// Checks that the object disappears after the delay, and not before.
    async fn expect_deletion_after_delay(&self, plural: &str, name: &str) {
        wait(BEFORE).await;
        assert!(
            self.exists(plural, name),
            "{plural} {name} was deleted without delay"
        );
        wait(AFTER).await;
        assert!(!self.exists(plural, name), "{plural} {name} was not deleted");
    }
}

/// Moves the clock and runs the tasks that are due.
async fn wait(time: Duration) {
    // Let the tasks see the changes before the clock moves.
    settle().await;
    advance(time).await;
    settle().await;
}

async fn settle() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

/// A client that deletes an object, then its namespace, and finalizes the namespace itself.
#[tokio::test(start_paused = true)]
async fn delay_starts_again_at_each_change() {
    let cluster = Cluster::start(&[HousekeepingTask::Namespaces]).await;
    cluster.create("configmaps", json!({ "metadata": { "name": "settings" } }));
    wait(DELAY * 2).await;
    cluster.delete("configmaps", "settings");
    wait(DELAY / 2).await;
    cluster.delete("namespaces", "shop");
    wait(BEFORE).await;
    let namespace = cluster.0.get(&cluster.target("namespaces", "shop")).unwrap();
    assert_eq!(namespace.value()["spec"]["finalizers"], json!(["kubernetes"]));
    cluster
        .expect_deletion_within("namespaces", "shop", DELAY * 4)
        .await;
}

#[tokio::test(start_paused = true)]
async fn changes_that_never_end_do_not_hold_up_the_deletion() {
    let cluster = Cluster::start(&[HousekeepingTask::Namespaces]).await;
    cluster.create("namespaces", json!({ "metadata": { "name": "other" } }));
    cluster.delete("namespaces", "shop");
    let mut changes = 0;
    while cluster.exists("namespaces", "shop") {
        assert!(changes < 40, "the namespace was not deleted");
        changes += 1;
        cluster.change("namespaces", "other", |namespace| {
            namespace["metadata"]["labels"] = json!({ "change": changes.to_string() });
        });
        wait(DELAY / 3).await;
    }
    assert!(changes > 10, "the delay was not extended: {changes}");
}

#[tokio::test(start_paused = true)]
async fn deleted_namespace_is_finalized_after_the_delay() {
    let cluster = Cluster::start(&[HousekeepingTask::Namespaces]).await;
    cluster.create("configmaps", json!({ "metadata": { "name": "settings" } }));
    cluster.delete("namespaces", "shop");
    wait(BEFORE).await;
    let namespace = cluster.0.get(&cluster.target("namespaces", "shop")).unwrap();
    assert_eq!(namespace.value()["spec"]["finalizers"], json!(["kubernetes"]));
    assert!(cluster.exists("configmaps", "settings"));
    cluster
        .expect_deletion_within("namespaces", "shop", DELAY * 4)
        .await;
}

#[tokio::test(start_paused = true)]
async fn deleted_definition_is_served_as_terminating_during_the_delay() {
    let cluster = Cluster::start(&[HousekeepingTask::CustomResourceDefinitions]).await;
    cluster.define_foo();
    settle().await;
    cluster.create(
        "foos.demo.dev",
        json!({ "apiVersion": "demo.dev/v1", "kind": "Foo", "metadata": { "name": "one" } }),
    );
    let definitions = "customresourcedefinitions.apiextensions.k8s.io";
    cluster.delete(definitions, "foos.demo.dev");
    wait(BEFORE).await;
    assert!(cluster.exists("foos.demo.dev", "one"));
    cluster
        .expect_deletion_within(definitions, "foos.demo.dev", DELAY * 4)
        .await;
    assert!(
        cluster.0.resource("demo.dev", "foos").is_err(),
        "the kind is still served"
    );
}

#[tokio::test(start_paused = true)]
async fn dependents_are_deleted_after_the_delay() {
    let cluster = Cluster::start(&[HousekeepingTask::GarbageCollector]).await;
    cluster.create("configmaps", json!({ "metadata": { "name": "owner" } }));
    let owner = cluster.0.get(&cluster.target("configmaps", "owner")).unwrap();
    let reference =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": meta::uid(owner.value()) });
    cluster.create(
        "secrets",
        json!({ "metadata": { "name": "owned", "ownerReferences": [reference] } }),
    );
    wait(DELAY * 2).await;
    cluster.delete("configmaps", "owner");
    cluster.expect_deletion_after_delay("secrets", "owned").await;
}

fn claim() -> Value {
    let resources = json!({ "requests": { "storage": "1Gi" } });
    json!({ "metadata": { "name": "data" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": resources } })
}

fn pod(node: Option<&str>) -> Value {
    let claim = json!({ "claimName": "data" });
    json!({ "metadata": { "name": "one" }, "spec": {
        "nodeName": node, "containers": [{ "name": "main", "image": "main" }],
        "volumes": [{ "name": "data", "persistentVolumeClaim": claim }], "terminationGracePeriodSeconds": 0,
    } })
}

#[tokio::test(start_paused = true)]
async fn deleted_claim_disappears_after_the_scheduled_pods_that_use_it() {
    let cluster = Cluster::start(&[HousekeepingTask::StorageProtection]).await;
    cluster.create("persistentvolumeclaims", claim());
    cluster.create("pods", pod(Some("node-1")));
    cluster.delete("persistentvolumeclaims", "data");
    wait(DELAY * 10).await;
    assert!(
        cluster.exists("persistentvolumeclaims", "data"),
        "the claim is in use"
    );
    cluster.delete("pods", "one");
    cluster
        .expect_deletion_after_delay("persistentvolumeclaims", "data")
        .await;
}

#[tokio::test(start_paused = true)]
async fn pod_without_node_does_not_hold_a_claim() {
    let cluster = Cluster::start(&[HousekeepingTask::StorageProtection]).await;
    cluster.create("persistentvolumeclaims", claim());
    cluster.create("pods", pod(None));
    wait(DELAY * 2).await;
    cluster.delete("persistentvolumeclaims", "data");
    cluster
        .expect_deletion_after_delay("persistentvolumeclaims", "data")
        .await;
}

#[tokio::test(start_paused = true)]
async fn deleted_volume_disappears_when_it_is_not_bound() {
    let cluster = Cluster::start(&[HousekeepingTask::StorageProtection]).await;
    let source = json!({ "path": "/data" });
    let spec =
        json!({ "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" }, "hostPath": source });
    cluster.create(
        "persistentvolumes",
        json!({ "metadata": { "name": "disk" }, "spec": spec }),
    );
    let set_phase = |phase: &str| {
        cluster.change("persistentvolumes", "disk", |volume| {
            volume["status"]["phase"] = json!(phase);
        });
    };
    set_phase("Bound");
    cluster.delete("persistentvolumes", "disk");
    wait(DELAY * 10).await;
    assert!(cluster.exists("persistentvolumes", "disk"), "the volume is bound");
    set_phase("Released");
    cluster
        .expect_deletion_after_delay("persistentvolumes", "disk")
        .await;
}

#[tokio::test(start_paused = true)]
async fn deleted_attributes_class_disappears_when_no_claim_names_it() {
    let cluster = Cluster::start(&[HousekeepingTask::StorageProtection]).await;
    let classes = "volumeattributesclasses.storage.k8s.io";
    let class = json!({ "metadata": { "name": "fast" }, "driverName": "disk.demo.dev", "parameters": { "iops": "9" } });
    cluster.create(classes, class);
    let mut user = claim();
    user["spec"]["volumeAttributesClassName"] = json!("fast");
    cluster.create("persistentvolumeclaims", user);
    wait(DELAY * 2).await;
    cluster.delete(classes, "fast");
    wait(DELAY * 10).await;
    assert!(cluster.exists(classes, "fast"), "a claim names the class");
    cluster.delete("persistentvolumeclaims", "data");
    cluster.expect_deletion_within(classes, "fast", DELAY * 4).await;
}

#[test]
fn tasks_are_selected_by_name_as_controllers_are() {
    use HousekeepingTask::{CustomResourceDefinitions, ExtensionServers, FlowSchemas, GarbageCollector};
    let select = |names: &str| {
        let names: Vec<String> = names.split(',').map(str::to_owned).collect();
        HousekeepingTask::select(&names)
    };
    assert_eq!(select("*").unwrap(), HousekeepingTask::ALL);
    assert_eq!(
        select("*,-namespaces,-storage-protection").unwrap(),
        [
            CustomResourceDefinitions,
            ExtensionServers,
            FlowSchemas,
            GarbageCollector
        ]
    );
    assert_eq!(
        select("flow-schemas,custom-resource-definitions").unwrap(),
        [CustomResourceDefinitions, FlowSchemas]
    );
    assert_eq!(select("-garbage-collector").unwrap(), []);
    assert_eq!(select("").unwrap(), []);
    assert_eq!(
        select("*,-nodes").unwrap_err().to_string(),
        "unknown housekeeping task \"-nodes\": this server has custom-resource-definitions, extension-servers, flow-schemas, garbage-collector, \
         namespaces, storage-protection"
    );
}

#[tokio::test(start_paused = true)]
async fn api_services_of_definitions_are_restored() {
    let cluster = Cluster::start(&[HousekeepingTask::CustomResourceDefinitions]).await;
    let (plural, name) = ("apiservices.apiregistration.k8s.io", "v1.demo.dev");
    let priority = || {
        let object = cluster.0.get(&cluster.target(plural, name)).unwrap();
        object.value()["spec"]["versionPriority"].clone()
    };
    cluster.define_foo();
    settle().await;
    cluster.delete(plural, name);
    settle().await;
    assert!(cluster.exists(plural, name), "it was not created again");
    let set_priority = |object: &mut Value| object["spec"]["versionPriority"] = json!(7);
    cluster.change(plural, name, set_priority);
    settle().await;
    assert_eq!(priority(), 100);
    // A deletion that the history no longer has.
    cluster.delete(plural, name);
    cluster.0.store.compact();
    settle().await;
    assert!(
        cluster.exists(plural, name),
        "it was not created after the compaction"
    );
    // One without the label is its owner's, also after the definition.
    cluster.change(plural, name, |object| {
        object["metadata"]["labels"] = json!({});
        set_priority(object);
    });
    settle().await;
    assert_eq!(priority(), 7);
    cluster.delete("customresourcedefinitions.apiextensions.k8s.io", "foos.demo.dev");
    wait(DELAY * 2).await;
    assert_eq!(priority(), 7);
}
