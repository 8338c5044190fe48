//! The same on the real kube-apiserver: every resource that it serves, its answers to patches, its finalizers.

use serde_json::{Value, json};

use crate::{
    owners::{owned, owner_names, reference},
    scenario::{Scenario, config_map, namespace, object, pod},
};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn objects_and_namespaces_are_collected_on_the_real_api_server() {
    let mut scenario = Scenario::on_real("namespace,garbagecollector,podgc");
    scenario.cluster.create_namespace("shop").unwrap();
    scenario.set_knobs(&json!({"garbagecollector.syncPeriod": "200ms"}));
    // The API server of this group does not answer, so that discovery of it fails.
    let unanswered = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.unanswered.dev"},
        "spec": {
            "group": "unanswered.dev", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1, "insecureSkipTLSVerify": true,
            "service": {"namespace": "shop", "name": "nothing"},
        },
    });
    scenario.apply(&unanswered);
    scenario.start_controllers().await;

    // In the background, down to the last dependent.
    let root = scenario.apply(&config_map("root"));
    let child = scenario.apply(&owned("child", &[&root]));
    let grandchild = scenario.apply(&owned("grandchild", &[&child]));
    scenario.cluster.delete(&root).unwrap();
    for object in [&child, &grandchild] {
        scenario.gone(object).await;
    }

    // In the foreground, after the dependents.
    let root = scenario.apply(&config_map("foreground"));
    let mut held = owned("held", &[&root]);
    held["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
    let held = scenario.apply(&held);
    scenario.delete_with(&root, "Foreground");
    let is_deleting = |object: &Value| object["metadata"]["deletionTimestamp"].is_string();
    scenario.cluster.wait_until(&held, is_deleting).await;
    assert!(scenario.cluster.get(&root).unwrap().is_some());
    let release = json!({"metadata": {"finalizers": null}});
    scenario.cluster.merge_patch(&held, &release).unwrap();
    scenario.gone(&root).await;

    // Orphans, of a built-in kind and of a custom one.
    let (root, keeper) = (
        scenario.apply(&config_map("orphaning")),
        scenario.apply(&config_map("keeper")),
    );
    let orphan = scenario.apply(&owned("orphan", &[&root, &keeper]));
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.demo.dev"},
        "spec": {"group": "demo.dev", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]},
    });
    scenario.cluster.install_crd(&definition).unwrap();
    let mut custom = object("Foo", "shop", "custom");
    custom["apiVersion"] = json!("demo.dev/v1");
    custom["metadata"]["ownerReferences"] = json!([reference(&root), reference(&keeper)]);
    let custom = scenario.apply(&custom);
    // Only when its informer knows it does an orphaning owner find it: an object after it, whose owner never existed, is collected by then.
    let mut probe = custom.clone();
    probe["metadata"] =
        json!({"namespace": "shop", "name": "probe", "ownerReferences": [reference(&keeper)]});
    probe["metadata"]["ownerReferences"][0]["uid"] = json!("6b0a2f0e-0f7b-4f5d-9d2c-111111111111");
    let probe = scenario.apply(&probe);
    scenario.gone(&probe).await;
    scenario.delete_with(&root, "Orphan");
    scenario.gone(&root).await;
    for object in [&orphan, &custom] {
        let found = scenario.cluster.get(object).unwrap().unwrap();
        assert_eq!(owner_names(&found), ["keeper"]);
    }

    // A namespace stays while its content is not known: only what is known is deleted.
    let unknown = namespace("unknown");
    scenario.apply(&unknown);
    let content = scenario.apply(&object("ConfigMap", "unknown", "content"));
    scenario.cluster.delete(&unknown).unwrap();
    scenario.gone(&content).await;
    let names_the_group = |found: &Value| {
        let conditions = found["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            condition["type"] == "NamespaceDeletionDiscoveryFailure"
                && condition["status"] == "True"
                && message.contains("unanswered.dev/v1")
        })
    };
    let kept = scenario.cluster.wait_until(&unknown, names_the_group).await;
    assert_eq!(kept["spec"]["finalizers"], json!(["kubernetes"]));
    scenario.cluster.delete(&unanswered).unwrap();
    scenario.gone(&unknown).await;

    // The namespace, with what is left and a pod.
    scenario.apply(&pod("p"));
    scenario.cluster.delete(&namespace("shop")).unwrap();
    scenario.gone(&namespace("shop")).await;
    scenario.assert_nothing_forbidden();
}
