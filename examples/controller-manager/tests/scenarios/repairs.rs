//! Rare writes: controllers restore changed fields and delete leftovers.

use kubewright_testkit::eventually;
use serde_json::{Value, json};

use crate::workloads::{Scenarios, TIMEOUT, named, selector, template};

impl Scenarios<'_> {
    /// A revision that does not exist is asked for, and the history shrinks to one old ReplicaSet.
    pub(crate) fn history_of_deployment(&self) {
        let web = named("apps/v1", "Deployment", "web");
        let annotation = "deprecated.deployment.rollback.to";
        self.patch(&web, &json!({"metadata": {"annotations": {annotation: "99"}}}));
        self.wait(&web, |found| {
            found["metadata"]["annotations"][annotation].is_null()
        });
        self.patch(&web, &json!({"spec": {"revisionHistoryLimit": 1}}));
        eventually("two ReplicaSets are left", TIMEOUT, || {
            match self.list("apps/v1", "ReplicaSet").len() {
                2 => Ok(()),
                count => Err(count),
            }
        });
    }

    /// A pod gets its label back, and the claim of a pod that is scaled down gets an owner.
    pub(crate) fn claims(&self) {
        let mut disk = named("apps/v1", "StatefulSet", "disk");
        let resources = json!({"requests": {"storage": "1Mi"}});
        disk["spec"] = json!({
            "replicas": 2, "serviceName": "disk", "selector": selector("disk"), "template": template("disk", 1, "Always"),
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}}],
        });
        self.apply_and_wait(&disk, |disk| disk["status"]["availableReplicas"] == 2);
        let (pod, label) = (named("v1", "Pod", "disk-0"), "statefulset.kubernetes.io/pod-name");
        self.patch(&pod, &json!({"metadata": {"labels": {label: null}}}));
        self.wait(&pod, |pod| pod["metadata"]["labels"][label] == "disk-0");
        // The second pod waits, so that its claim can be looked at.
        let (second, claim) = (
            named("v1", "Pod", "disk-1"),
            named("v1", "PersistentVolumeClaim", "data-disk-1"),
        );
        self.patch(
            &second,
            &json!({"metadata": {"finalizers": ["example.com/hold"]}}),
        );
        self.patch(&disk, &json!({"spec": {"replicas": 1}}));
        self.wait(&claim, |claim| {
            claim["metadata"]["ownerReferences"][0]["kind"] == "Pod"
        });
        self.patch(&second, &json!({"metadata": {"finalizers": null}}));
        self.delete(&disk, "Background");
        eventually("the pods are gone", TIMEOUT, || {
            let pods = self.list("v1", "Pod");
            let left = pods
                .iter()
                .filter(|pod| pod["metadata"]["labels"]["app"] == "disk");
            match left.count() {
                0 => Ok(()),
                left => Err(left),
            }
        });
    }

    /// The CA is published again, and the token of a deleted account goes with it.
    pub(crate) fn credentials(&self) {
        let root_ca = named("v1", "ConfigMap", "kube-root-ca.crt");
        self.patch(&root_ca, &json!({"data": {"ca.crt": "other"}}));
        self.wait(&root_ca, |found| {
            found["data"]["ca.crt"] != "other" && !found.is_null()
        });
        let robot = named("v1", "ServiceAccount", "robot");
        self.cluster.apply(&robot).unwrap();
        let mut token = named("v1", "Secret", "robot");
        token["type"] = json!("kubernetes.io/service-account-token");
        token["metadata"]["annotations"] = json!({"kubernetes.io/service-account.name": "robot"});
        self.cluster.apply(&token).unwrap();
        self.wait(&token, |token| !token["data"]["token"].is_null());
        self.cluster.delete(&robot).unwrap();
        self.wait(&token, Value::is_null);
    }

    /// A deleted pod that no kubelet ends, since it has no node. The pod garbage collector, which looks each 20 seconds, marks it as failed.
    pub(crate) fn lose_pod(&self) {
        let mut lost = lost_pod();
        lost["metadata"]["finalizers"] = json!(["example.com/hold"]);
        let containers = json!([{"name": "main", "image": "image:1"}]);
        lost["spec"] = json!({"schedulerName": "none", "containers": containers});
        eventually("the pod is created", TIMEOUT, || {
            self.cluster.apply(&lost).map_err(|error| error.to_string())
        });
        self.cluster.delete(&lost).unwrap();
    }

    pub(crate) fn collect_lost_pod(&self) {
        self.wait(&lost_pod(), |lost| lost["status"]["phase"] == "Failed");
        self.patch(&lost_pod(), &json!({"metadata": {"finalizers": null}}));
        self.wait(&lost_pod(), Value::is_null);
    }

    pub(crate) fn patch(&self, object: &Value, change: &Value) {
        self.cluster.merge_patch(object, change).unwrap();
    }
}

/// Where its events and its line are not recorded.
fn lost_pod() -> Value {
    let mut lost = named("v1", "Pod", "lost");
    lost["metadata"]["namespace"] = json!("default");
    lost
}
