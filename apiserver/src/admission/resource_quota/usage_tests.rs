use super::pods::{is_pod_resource, missing_resources, pod_usage};
use super::*;
use crate::auth::{Authorizer, User};
use crate::kinds::Catalog;
use crate::storage::Store;
use serde_json::json;

/// A server without objects, for evaluators that look at other objects.
struct Fixture {
    store: Store,
    catalog: Catalog,
    authorizer: Authorizer,
    user: User,
}

impl Fixture {
    fn new() -> Self {
        Self {
            store: Store::default(),
            catalog: Catalog::built_in().unwrap(),
            authorizer: Authorizer::new(&[]),
            user: User::system(),
        }
    }

    fn store(&self, group: &str, plural: &str, key: &str, object: Value) {
        let table = self.catalog.any_version(group, plural).unwrap().table();
        self.store.create(&table, key, object).unwrap();
    }

    fn usage(&self, group: &str, plural: &str, object: &Value) -> Value {
        let attributes = self.attributes(group, plural);
        let evaluator = Evaluator::of(attributes.kind).unwrap();
        evaluator.usage(&attributes, object).into()
    }

    fn attributes(&self, group: &str, plural: &str) -> Attributes<'_> {
        Attributes {
            operation: Operation::Create,
            kind: self.catalog.any_version(group, plural).unwrap(),
            namespace: "n",
            name: "",
            subresource: "",
            user: &self.user,
            store: &self.store,
            catalog: &self.catalog,
            authorizer: &self.authorizer,
            dry_run: false,
            report: None,
            webhooks: None,
        }
    }
}

fn pod(containers: &Value) -> Value {
    json!({ "metadata": { "name": "p" }, "spec": { "containers": containers } })
}

fn resources(requests: &Value, limits: &Value) -> Value {
    json!({ "name": "c", "resources": { "requests": requests, "limits": limits } })
}

#[test]
fn pod_usage_sums_requests_and_limits() {
    let requests = json!({ "cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Mi", "a.dev/gpu": "2", "b": "1" });
    let object = pod(&json!([
        resources(&requests, &json!({ "cpu": "2" })),
        resources(&requests, &json!({}))
    ]));
    let expected = json!({
        "count/pods": "1", "pods": "1", "cpu": "2", "requests.cpu": "2", "limits.cpu": "2", "memory": "2Gi", "requests.memory": "2Gi",
        "hugepages-2Mi": "8Mi", "requests.hugepages-2Mi": "8Mi", "requests.a.dev/gpu": "4",
    });
    assert_eq!(Value::from(pod_usage(&object)), expected);
}

#[test]
fn pod_resources_and_overhead_come_on_top_of_containers() {
    let mut object = pod(&json!([resources(
        &json!({ "cpu": "1" }),
        &json!({ "memory": "1Gi" })
    )]));
    object["spec"]["resources"] = json!({ "requests": { "cpu": "3", "ephemeral-storage": "1" } });
    object["spec"]["overhead"] = json!({ "cpu": "250m", "memory": "1Mi" });
    let usage = pod_usage(&object);
    for (name, quantity) in [
        ("cpu", json!("3250m")),
        ("limits.memory", json!("1025Mi")),
        ("limits.cpu", Value::Null),
        ("requests.memory", json!("1Mi")),
        ("ephemeral-storage", Value::Null),
    ] {
        assert_eq!(usage.get(name).unwrap_or(&Value::Null), &quantity, "{name}");
    }
}

#[test]
fn ended_pods_use_only_their_place_in_the_store() {
    let ended = json!({ "count/pods": "1" });
    let deleted = |time: &str, grace: Value| json!({ "metadata": { "deletionTimestamp": time, "deletionGracePeriodSeconds": grace }, "spec": {} });
    for (object, has_ended) in [
        (json!({ "spec": {}, "status": { "phase": "Succeeded" } }), true),
        (json!({ "spec": {}, "status": { "phase": "Failed" } }), true),
        (json!({ "spec": {}, "status": { "phase": "Running" } }), false),
        (deleted("2020-01-01T00:00:00Z", json!(30)), true),
        (deleted("2020-01-01T00:00:00Z", Value::Null), false),
        (deleted("2999-01-01T00:00:00Z", json!(30)), false),
    ] {
        assert_eq!(Value::from(pod_usage(&object)) == ended, has_ended, "{object}");
    }
}

#[test]
fn resized_pods_use_the_larger_of_old_and_new_resources() {
    let status = |more: Value| {
        let mut status = json!({ "containerStatuses": [{
            "name": "c", "resources": { "requests": { "cpu": "2" }, "limits": { "cpu": "3" } }, "allocatedResources": { "cpu": "4" },
        }] });
        meta::entry_mut_any(&mut status, "conditions").clone_from(&more);
        status
    };
    let infeasible = json!([{ "type": "PodResizePending", "reason": "Infeasible" }]);
    for (spec, conditions, expected) in [
        ("1", Value::Null, ("4", "3")),
        ("5", Value::Null, ("5", "5")),
        ("5", infeasible, ("4", "3")),
    ] {
        let mut object = pod(&json!([resources(
            &json!({ "cpu": spec }),
            &json!({ "cpu": spec })
        )]));
        object["status"] = status(conditions);
        let usage = pod_usage(&object);
        assert_eq!(
            (&usage["requests.cpu"], &usage["limits.cpu"]),
            (&json!(expected.0), &json!(expected.1))
        );
    }
}

#[test]
fn containers_must_set_limited_compute_resources() {
    let set = resources(&json!({ "cpu": "1" }), &json!({ "memory": "1" }));
    let unset = json!({ "name": "d" });
    let mut object = pod(&json!([unset, set]));
    let limited = [
        "cpu",
        "limits.memory",
        "memory",
        "pods",
        "requests.ephemeral-storage",
    ];
    assert_eq!(
        missing_resources(&limited, &object).as_deref(),
        Some("cpu for: d; limits.memory for: d; memory for: c,d")
    );
    assert_eq!(missing_resources(&["pods"], &object), None);
    object["spec"]["resources"] = json!({ "requests": { "cpu": "1" } });
    assert_eq!(missing_resources(&limited, &object), None);
}

#[test]
fn pods_are_limited_by_known_names() {
    for name in [
        "pods",
        "count/pods",
        "cpu",
        "requests.memory",
        "limits.ephemeral-storage",
        "hugepages-2Mi",
        "requests.hugepages-1Gi",
        "requests.a.dev/gpu",
        "requests.deviceclass.resource.kubernetes.io/a",
    ] {
        assert!(is_pod_resource(name), "{name}");
    }
    for name in [
        "requests.storage",
        "services",
        "a.dev/gpu",
        "limits.a.dev/gpu",
        "requests.kubernetes.io/x",
        "count/services",
    ] {
        assert!(!is_pod_resource(name), "{name}");
    }
}

#[test]
fn objects_are_counted_by_their_resource() {
    let fixture = Fixture::new();
    for (group, plural, expected) in [
        (
            "",
            "configmaps",
            json!({ "count/configmaps": "1", "configmaps": "1" }),
        ),
        ("", "secrets", json!({ "count/secrets": "1", "secrets": "1" })),
        ("", "endpoints", json!({ "count/endpoints": "1" })),
        ("apps", "deployments", json!({ "count/deployments.apps": "1" })),
    ] {
        assert_eq!(fixture.usage(group, plural, &json!({})), expected);
    }
    for group in ["", "events.k8s.io"] {
        assert_eq!(Evaluator::of(fixture.attributes(group, "events").kind), None);
    }
}

#[test]
fn services_use_node_ports_and_load_balancers() {
    let fixture = Fixture::new();
    for (spec, node_ports, load_balancers) in [
        (json!({ "type": "ClusterIP", "ports": [{}] }), "0", "0"),
        (json!({ "type": "NodePort", "ports": [{}, {}] }), "2", "0"),
        (json!({ "type": "LoadBalancer", "ports": [{}, {}] }), "2", "1"),
        (
            json!({ "type": "LoadBalancer", "ports": [{}, { "nodePort": 30000 }], "allocateLoadBalancerNodePorts": false }),
            "1",
            "1",
        ),
    ] {
        let expected = json!({
            "count/services": "1", "services": "1", "services.nodeports": node_ports, "services.loadbalancers": load_balancers,
        });
        assert_eq!(fixture.usage("", "services", &json!({ "spec": spec })), expected);
    }
}

#[test]
fn volume_claims_use_storage_of_their_class() {
    let fixture = Fixture::new();
    let mut claim = json!({ "spec": { "storageClassName": "gold", "resources": { "requests": { "storage": "1500m" } } } });
    let usage = |claim: &Value| fixture.usage("", "persistentvolumeclaims", claim);
    assert_eq!(
        usage(&claim),
        json!({
            "count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1", "requests.storage": "2",
            "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1", "gold.storageclass.storage.k8s.io/requests.storage": "2",
        })
    );
    claim["status"] = json!({ "allocatedResources": { "storage": "2Gi" } });
    claim["metadata"] = json!({ "annotations": { "volume.beta.kubernetes.io/storage-class": "" } });
    assert_eq!(
        usage(&claim),
        json!({ "count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1", "requests.storage": "2Gi" })
    );
    let attributes = fixture.attributes("", "persistentvolumeclaims");
    let is_resource = |name: &str| Evaluator::VolumeClaims.is_resource(&attributes, name);
    for name in usage(&claim).as_object().unwrap().keys() {
        assert!(is_resource(name) && is_resource("silver.storageclass.storage.k8s.io/requests.storage"));
    }
    assert!(!is_resource("gold.storageclass.storage.k8s.io/pods") && !is_resource("requests.cpu"));
}

#[test]
fn resource_claims_use_devices_of_classes() {
    let fixture = Fixture::new();
    let class = json!({ "metadata": { "name": "gpu" }, "spec": { "extendedResourceName": "a.dev/gpu" } });
    fixture.store("resource.k8s.io", "deviceclasses", "gpu", class);
    let exactly = |class: &str, count: i64| json!({ "deviceClassName": class, "allocationMode": "ExactCount", "count": count });
    let all = json!({ "deviceClassName": "nic", "allocationMode": "All" });
    let requests = json!([
        { "exactly": exactly("gpu", 2) },
        { "firstAvailable": [exactly("gpu", 1), exactly("gpu", 3), all] },
    ]);
    let mut claim = json!({ "metadata": { "name": "c" }, "spec": { "devices": { "requests": requests } } });
    let usage = |claim: &Value| fixture.usage("resource.k8s.io", "resourceclaims", claim);
    let mut expected = json!({
        "count/resourceclaims.resource.k8s.io": "1",
        "gpu.deviceclass.resource.k8s.io/devices": "5", "nic.deviceclass.resource.k8s.io/devices": "32",
        "requests.deviceclass.resource.kubernetes.io/gpu": "5", "requests.deviceclass.resource.kubernetes.io/nic": "32",
        "requests.a.dev/gpu": "5",
    });
    assert_eq!(usage(&claim), expected);
    let attributes = fixture.attributes("resource.k8s.io", "resourceclaims");
    for (name, is_known) in [
        ("requests.a.dev/gpu", true),
        ("requests.a.dev/nic", false),
        ("requests.deviceclass.resource.kubernetes.io/gpu", true),
        ("requests.deviceclass.resource.kubernetes.io/nic", false),
        ("nic.deviceclass.resource.k8s.io/devices", true),
        ("requests.cpu", false),
    ] {
        assert_eq!(
            Evaluator::DeviceClaims.is_resource(&attributes, name),
            is_known,
            "{name}"
        );
    }
    // The claim of a pod's extended resources adds only what the pod does not request.
    let mut owner = pod(&json!([resources(&json!({ "a.dev/gpu": "2" }), &json!({}))]));
    owner["metadata"]["uid"] = json!("u");
    fixture.store("", "pods", "n/p", owner);
    claim["metadata"]["annotations"] = json!({ "resource.kubernetes.io/extended-resource-claim": "true" });
    claim["metadata"]["ownerReferences"] =
        json!([{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true }]);
    expected["requests.a.dev/gpu"] = json!("3");
    assert_eq!(usage(&claim), expected);
}
