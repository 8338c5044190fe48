//! Rollouts, and a drained node.

use std::time::Duration;

use kubewright_testkit::{Cluster, eventually};
use serde_json::{Value, json};

pub(crate) const NAMESPACE: &str = "scenarios";
/// Of each step.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(2);

/// The scenarios, and what was recorded so far.
pub(crate) struct Scenarios<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) lines: Vec<String>,
}

impl Scenarios<'_> {
    pub(crate) fn run(&mut self, node_to_drain: &str) {
        self.lose_pods();
        self.deployments();
        self.history_of_deployment();
        self.stateful_sets();
        self.claims();
        self.hash_collisions();
        self.daemon_sets();
        self.replicas();
        self.drain(node_to_drain);
        self.jobs();
        self.foreign_job();
        self.accounts();
        self.credentials();
        self.adoptions();
        self.cascades();
        self.namespaces();
        self.collect_lost_pods();
    }

    /// Rollout, rollback, pause, and an image that cannot be pulled.
    fn deployments(&mut self) {
        let web = named("apps/v1", "Deployment", "web");
        let spec = |version: u64, more: Value| {
            let mut deployment = web.clone();
            deployment["spec"] = json!({"replicas": 3, "selector": selector("web"), "template": template("web", version, "Always")});
            merge(&mut deployment["spec"], more);
            deployment
        };
        let is_rolled_out = |web: &Value| {
            let status = &web["status"];
            let counts = ["replicas", "updatedReplicas", "availableReplicas"];
            counts.iter().all(|count| status[count] == 3)
        };
        for version in [1, 2, 1] {
            self.apply_and_wait(&spec(version, json!({})), is_rolled_out);
        }
        self.record("rolled back", "apps/v1", &["Deployment", "ReplicaSet"]);
        self.apply_and_wait(&spec(3, json!({"paused": true})), |web| {
            conditions(web).contains(&"Progressing Unknown DeploymentPaused".to_owned())
        });
        self.record("paused", "apps/v1", &["Deployment", "ReplicaSet"]);
        let mut broken = spec(3, json!({"paused": false, "progressDeadlineSeconds": 1}));
        broken["spec"]["template"]["metadata"]["annotations"] =
            json!({"simulation.kubewright.dev/waiting": "ImagePullBackOff"});
        self.apply_and_wait(&broken, |web| {
            // The deadline may pass before the first pod counts as progress.
            web["status"]["updatedReplicas"] == 1
                && conditions(web).contains(&"Progressing False ProgressDeadlineExceeded".to_owned())
        });
        self.record("stuck", "apps/v1", &["Deployment", "ReplicaSet"]);
        self.apply_and_wait(&spec(1, json!({"paused": false})), is_rolled_out);
        self.record("repaired", "apps/v1", &["Deployment", "ReplicaSet"]);
    }

    /// The last version is the second one again; the first one does not fit into the history.
    fn stateful_sets(&mut self) {
        for version in [1, 2, 3, 2] {
            let mut db = named("apps/v1", "StatefulSet", "db");
            db["spec"] = json!({
                "replicas": 3, "serviceName": "db", "revisionHistoryLimit": 1,
                "selector": selector("db"), "template": template("db", version, "Always"),
            });
            self.apply_and_wait(&db, |db| {
                let status = &db["status"];
                let counts = ["replicas", "updatedReplicas", "availableReplicas"];
                counts.iter().all(|count| status[count] == 3)
                    && status["currentRevision"] == status["updateRevision"]
            });
        }
        self.record("rolled out", "apps/v1", &["StatefulSet"]);
    }

    fn daemon_sets(&self) {
        for version in [1, 2, 3, 2] {
            let mut agent = named("apps/v1", "DaemonSet", "agent");
            agent["spec"] = json!({
                "revisionHistoryLimit": 1, "selector": selector("agent"), "template": template("agent", version, "Always"),
            });
            self.apply_and_wait(&agent, |agent| {
                let status = &agent["status"];
                let counts = [
                    "desiredNumberScheduled",
                    "updatedNumberScheduled",
                    "numberAvailable",
                ];
                counts.iter().all(|count| status[count] == 2)
            });
        }
    }

    /// Each is scaled down, replaced by one that adopts its pods, and deleted with them.
    fn replicas(&mut self) {
        let selectors = [
            ("v1", "ReplicationController", json!({"app": "old"})),
            ("apps/v1", "ReplicaSet", selector("bare")),
        ];
        for (api_version, kind, selector) in selectors {
            let app = if api_version == "v1" { "old" } else { "bare" };
            let owner = named(api_version, kind, app);
            for replicas in [3, 2] {
                let mut scaled = owner.clone();
                scaled["spec"] = json!({"replicas": replicas, "selector": selector, "template": template(app, 1, "Always")});
                self.apply_and_wait(&scaled, |found| {
                    let status = &found["status"];
                    status["replicas"] == replicas && status["availableReplicas"] == replicas
                });
            }
            self.replace_owner(&owner);
            self.record("replaced", api_version, &[kind]);
            self.delete(&owner, "Background");
            eventually("the pods are gone", TIMEOUT, || {
                let pods = self.list("v1", "Pod");
                let left = pods.iter().filter(|pod| pod["metadata"]["labels"]["app"] == app);
                match left.count() {
                    0 => Ok(()),
                    left => Err(left),
                }
            });
        }
    }

    /// All pods of a node but the daemons go to the other.
    fn drain(&mut self, node: &str) {
        let cordoned = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}});
        self.cluster
            .merge_patch(&cordoned, &json!({"spec": {"unschedulable": true}}))
            .unwrap();
        let is_drained =
            |pod: &Value| pod["spec"]["nodeName"] == node && pod["metadata"]["labels"]["app"] != "agent";
        for pod in self.list("v1", "Pod").iter().filter(|pod| is_drained(pod)) {
            let name = pod["metadata"]["name"].as_str().unwrap();
            self.cluster.delete(&named("v1", "Pod", name)).unwrap();
        }
        // The status alone may still be the one from before.
        eventually("other pods are ready elsewhere", TIMEOUT, || {
            let pods = self.list("v1", "Pod");
            let ready = |app: &str| {
                let is_ready = |pod: &&Value| {
                    pod["metadata"]["labels"]["app"] == app
                        && conditions(pod).contains(&"Ready True ".to_owned())
                };
                pods.iter().filter(is_ready).count()
            };
            let (left, web, db) = (
                pods.iter().filter(|pod| is_drained(pod)).count(),
                ready("web"),
                ready("db"),
            );
            if (left, web, db) == (0, 3, 3) {
                Ok(())
            } else {
                Err(format!("{left} pods are left, {web} and {db} are ready"))
            }
        });
        for (kind, name) in [("Deployment", "web"), ("StatefulSet", "db")] {
            self.wait(&named("apps/v1", kind, name), |found| {
                found["status"]["availableReplicas"] == 3 && found["status"]["replicas"] == 3
            });
        }
        self.record("drained", "apps/v1", &["DaemonSet", "Deployment", "StatefulSet"]);
        self.record("drained", "v1", &["Pod"]);
    }

    pub(crate) fn apply_and_wait(&self, object: &Value, is_done: impl Fn(&Value) -> bool) {
        let applied = self.cluster.apply(object).unwrap();
        let generation = &applied["metadata"]["generation"];
        self.wait(object, |found| {
            let observed = &found["status"]["observedGeneration"];
            (observed.is_null() || observed == generation) && is_done(found)
        });
    }

    pub(crate) fn wait(&self, object: &Value, is_done: impl Fn(&Value) -> bool) {
        let what = format!("{} {} is done", object["kind"], object["metadata"]["name"]);
        eventually(&what, TIMEOUT, || {
            let found = self.cluster.get(object).unwrap().unwrap_or_default();
            if is_done(&found) {
                Ok(())
            } else {
                Err(found["status"].to_string())
            }
        });
    }

    pub(crate) fn delete(&self, object: &Value, policy: &str) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let root = match text(&object["apiVersion"]).as_str() {
            "v1" => "/api/v1".to_owned(),
            group => format!("/apis/{group}"),
        };
        let plural = text(&object["kind"]).to_lowercase() + "s";
        let name = text(&object["metadata"]["name"]);
        let path = format!("{root}/namespaces/{NAMESPACE}/{plural}/{name}?propagationPolicy={policy}");
        self.cluster
            .request(http::Method::DELETE, &path, "application/json", None)
            .unwrap();
    }

    pub(crate) fn list(&self, api_version: &str, kind: &str) -> Vec<Value> {
        self.cluster.list(&named(api_version, kind, "")).unwrap()
    }
}

pub(crate) fn conditions(object: &Value) -> Vec<String> {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .map(|condition| {
            let field = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", field("type"), field("status"), field("reason"))
        })
        .collect()
}

pub(crate) fn selector(app: &str) -> Value {
    json!({"matchLabels": {"app": app}})
}

pub(crate) fn template(app: &str, version: u64, policy: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {"restartPolicy": policy, "containers": [{"name": "main", "image": format!("image:{version}")}]},
    })
}

pub(crate) fn merge(object: &mut Value, more: Value) {
    let Value::Object(more) = more else {
        panic!("no object: {more}")
    };
    for (name, value) in more {
        object[name] = value;
    }
}

pub(crate) fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "namespace": NAMESPACE, "name": name } })
}
