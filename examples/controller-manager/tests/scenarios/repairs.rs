//! Rare writes: controllers restore changed fields and delete leftovers.

use kubewright_testkit::eventually;
use serde_json::{Value, json};

use crate::workloads::{Scenarios, TIMEOUT, merge, named, selector, template};

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

    /// A revision without an owner has the name of the first revision of a workload, and other data: the controller must choose another name.
    pub(crate) fn hash_collisions(&self) {
        for (kind, more) in [
            ("StatefulSet", json!({"replicas": 0, "serviceName": "twin"})),
            ("DaemonSet", json!({})),
        ] {
            let mut twin = named("apps/v1", kind, "twin");
            twin["spec"] = json!({"selector": selector("twin"), "template": template("twin", 1, "Always")});
            // No pods.
            twin["spec"]["template"]["spec"]["nodeSelector"] = json!({"none": "none"});
            merge(&mut twin["spec"], more);
            self.cluster.apply(&twin).unwrap();
            let first = self.revision_of("twin");
            self.delete(&twin, "Background");
            self.wait(&first, Value::is_null);
            let mut taken = first.clone();
            taken["data"] = json!({"spec": {"other": true}});
            taken["revision"] = json!(1);
            self.cluster.apply(&taken).unwrap();
            self.apply_and_wait(&twin, |twin| twin["status"]["collisionCount"] == 1);
            let second = self.revision_of("twin");
            assert_ne!(first, second);
            self.delete(&twin, "Background");
            self.wait(&second, Value::is_null);
            self.cluster.delete(&taken).unwrap();
        }
    }

    /// Waits for the revision of an owner.
    fn revision_of(&self, owner: &str) -> Value {
        let name = eventually("the revision exists", TIMEOUT, || {
            let revisions = self.list("apps/v1", "ControllerRevision");
            let own = revisions
                .iter()
                .find(|revision| revision["metadata"]["ownerReferences"][0]["name"] == owner);
            own.and_then(|revision| Some(revision["metadata"]["name"].as_str()?.to_owned()))
        });
        named("apps/v1", "ControllerRevision", &name)
    }

    /// The CA is published again, the token of a deleted account goes with it, and a deleted token is removed from its account's list.
    pub(crate) fn credentials(&self) {
        let root_ca = named("v1", "ConfigMap", "kube-root-ca.crt");
        self.patch(&root_ca, &json!({"data": {"ca.crt": "other"}}));
        self.wait(&root_ca, |found| {
            found["data"]["ca.crt"] != "other" && !found.is_null()
        });
        let robot = named("v1", "ServiceAccount", "robot");
        self.cluster.apply(&robot).unwrap();
        let create_token = |name: &str| {
            let mut token = named("v1", "Secret", name);
            token["type"] = json!("kubernetes.io/service-account-token");
            token["metadata"]["annotations"] = json!({"kubernetes.io/service-account.name": "robot"});
            self.cluster.apply(&token).unwrap();
            self.wait(&token, |token| !token["data"]["token"].is_null());
            token
        };
        let (token, listed) = (create_token("robot"), create_token("robot-listed"));
        self.patch(&robot, &json!({"secrets": [{"name": "robot-listed"}]}));
        self.cluster.delete(&listed).unwrap();
        self.wait(&robot, |robot| {
            !robot.is_null() && robot["secrets"].as_array().is_none_or(Vec::is_empty)
        });
        self.cluster.delete(&robot).unwrap();
        self.wait(&token, Value::is_null);
    }

    /// Pods that no kubelet ends: a deleted one without a node, and one of a node that does not exist. The pod garbage collector marks them
    /// as failed. It looks each 20 seconds, and knows a node for 40 seconds before it believes that it is gone.
    pub(crate) fn lose_pods(&self) {
        for (lost, spec) in [
            (lost_pod("lost"), json!({"schedulerName": "none"})),
            (lost_pod("lost-with-node"), json!({"nodeName": "gone"})),
        ] {
            let mut pod = lost.clone();
            pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
            pod["spec"] = json!({"containers": [{"name": "main", "image": "image:1"}]});
            merge(&mut pod["spec"], spec);
            eventually("the pod is created", TIMEOUT, || {
                self.cluster.apply(&pod).map_err(|error| error.to_string())
            });
        }
        self.cluster.delete(&lost_pod("lost")).unwrap();
    }

    pub(crate) fn collect_lost_pods(&self) {
        for lost in [lost_pod("lost"), lost_pod("lost-with-node")] {
            self.wait(&lost, |lost| lost["status"]["phase"] == "Failed");
            self.patch(&lost, &json!({"metadata": {"finalizers": null}}));
            self.wait(&lost, Value::is_null);
        }
    }

    pub(crate) fn patch(&self, object: &Value, change: &Value) {
        self.cluster.merge_patch(object, change).unwrap();
    }
}

/// A pod where its events and its line are not recorded.
fn lost_pod(name: &str) -> Value {
    let mut lost = named("v1", "Pod", name);
    lost["metadata"]["namespace"] = json!("default");
    lost
}
