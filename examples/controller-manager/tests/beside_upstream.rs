//! The same scenarios with this program and with kube-controller-manager, each on a real API server of its own: the objects at the end, and the
//! reasons of the events, are equal.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

use std::{collections::BTreeSet, thread, time::Duration};

use kubewright_testkit::{Cluster, ControlPlane, SimulationOptions, eventually};
use regex::{Captures, Regex};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_controller-manager");
const TIMEOUT: Duration = Duration::from_mins(2);
const NAMESPACE: &str = "scenarios";
const CONTROLLERS: [&str; 11] = [
    "serviceaccount-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "replicaset-controller",
    "deployment-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "cronjob-controller",
    "ttl-after-finished-controller",
    "pod-garbage-collector-controller",
];

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn scenarios_end_as_with_kube_controller_manager() {
    let (ours, theirs) = thread::scope(|scope| {
        let ours = scope.spawn(|| {
            let plane = ControlPlane::builder().api_server_arg("--enable-admission-plugins=ServiceAccount");
            let cluster = Cluster::start_real(plane).unwrap();
            let _manager = cluster
                .launch(cluster.admin(), PROGRAM)
                .arg(format!("--controllers={}", CONTROLLERS.join(",")))
                .args(["--leader-elect=false", "--secure-port=0"])
                .start()
                .unwrap();
            Outcome::of_scenarios(&cluster)
        });
        let theirs = scope.spawn(|| {
            let plane = ControlPlane::builder().controller_manager(&CONTROLLERS);
            Outcome::of_scenarios(&Cluster::start_real(plane).unwrap())
        });
        (ours.join().unwrap(), theirs.join().unwrap())
    });
    let differing = ours
        .objects
        .iter()
        .zip(&theirs.objects)
        .filter(|(ours, theirs)| ours != theirs);
    let report: Vec<_> = differing
        .map(|(ours, theirs)| format!("ours:   {ours}\ntheirs: {theirs}\n"))
        .collect();
    assert!(report.is_empty(), "{}", report.join("\n"));
    assert_eq!(ours.objects.len(), theirs.objects.len());
    assert_eq!(ours.events, theirs.events);
}

/// What is compared.
struct Outcome {
    /// The objects, without what differs in each run, at several moments, as lines that begin with the moment.
    objects: Vec<String>,
    /// Kind of the object, type and reason of the events.
    events: BTreeSet<[String; 3]>,
}

impl Outcome {
    fn of_scenarios(cluster: &Cluster) -> Self {
        let options = SimulationOptions {
            nodes: 2,
            pod_start: Duration::from_millis(20),
            pod_run: Duration::from_millis(50),
        };
        let simulation = cluster.simulate(options).unwrap();
        cluster.create_namespace(NAMESPACE).unwrap();
        let account = named("v1", "ServiceAccount", "default");
        eventually("the service account exists", TIMEOUT, || {
            cluster.get(&account).unwrap()
        });
        let mut scenarios = Scenarios {
            cluster,
            objects: Vec::new(),
        };
        scenarios.deployments();
        scenarios.stateful_sets();
        scenarios.daemon_sets(&simulation.nodes()[1]);
        scenarios.jobs();
        scenarios.cascades();
        scenarios.namespaces();
        let events = cluster.list(&named("v1", "Event", "")).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of_controllers = |event: &&Value| {
            let kind = event["involvedObject"]["kind"].as_str().unwrap();
            kind != "Pod" && kind != "Node"
        };
        let events = events
            .iter()
            .filter(of_controllers)
            .map(|event| [&event["involvedObject"]["kind"], &event["type"], &event["reason"]].map(text));
        Self {
            objects: scenarios.objects,
            events: events.collect(),
        }
    }
}

struct Scenarios<'a> {
    cluster: &'a Cluster,
    objects: Vec<String>,
}

impl Scenarios<'_> {
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

    fn stateful_sets(&mut self) {
        for version in [1, 2] {
            let mut db = named("apps/v1", "StatefulSet", "db");
            db["spec"] = json!({"replicas": 3, "serviceName": "db", "selector": selector("db"), "template": template("db", version, "Always")});
            self.apply_and_wait(&db, |db| {
                let status = &db["status"];
                let counts = ["replicas", "updatedReplicas", "availableReplicas"];
                counts.iter().all(|count| status[count] == 3)
                    && status["currentRevision"] == status["updateRevision"]
            });
        }
        self.record("rolled out", "apps/v1", &["StatefulSet"]);
    }

    /// A rollout, then a node is drained.
    fn daemon_sets(&mut self, node: &str) {
        for version in [1, 2] {
            let mut agent = named("apps/v1", "DaemonSet", "agent");
            agent["spec"] =
                json!({"selector": selector("agent"), "template": template("agent", version, "Always")});
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
        let cordoned = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}});
        self.cluster
            .merge_patch(&cordoned, &json!({"spec": {"unschedulable": true}}))
            .unwrap();
        for pod in self.list("v1", "Pod") {
            if pod["spec"]["nodeName"] == node && pod["metadata"]["labels"]["app"] != "agent" {
                self.cluster
                    .delete(&named("v1", "Pod", pod["metadata"]["name"].as_str().unwrap()))
                    .unwrap();
            }
        }
        for (kind, name) in [("Deployment", "web"), ("StatefulSet", "db")] {
            self.wait(&named("apps/v1", kind, name), |found| {
                found["status"]["availableReplicas"] == 3 && found["status"]["replicas"] == 3
            });
        }
        self.record("drained", "apps/v1", &["DaemonSet", "Deployment", "StatefulSet"]);
        self.record("drained", "v1", &["Pod"]);
    }

    /// Jobs that complete, that fail, indexed ones, and those of a CronJob.
    fn jobs(&mut self) {
        let job = |name: &str, spec: Value, exit_code: u64| {
            let mut job = named("batch/v1", "Job", name);
            job["spec"] = json!({"template": template(name, 1, "Never")});
            job["spec"]["template"]["metadata"] =
                json!({"annotations": {"simulation.kubewright.dev/exit-code": exit_code.to_string()}});
            merge(&mut job["spec"], spec);
            job
        };
        let ended = |found: &Value| {
            found["status"]["conditions"]
                .as_array()
                .is_some_and(|conditions| {
                    conditions
                        .iter()
                        .any(|condition| condition["type"] == "Complete" || condition["type"] == "Failed")
                })
        };
        for object in [
            job("good", json!({"completions": 4, "parallelism": 2}), 0),
            job("bad", json!({"backoffLimit": 0}), 3),
            job(
                "indexed",
                json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed"}),
                0,
            ),
            job("suspended", json!({"suspend": true}), 0),
        ] {
            let is_suspended = object["spec"]["suspend"] == true;
            self.apply_and_wait(&object, |found| {
                ended(found) || is_suspended && !found["status"]["conditions"].is_null()
            });
        }
        self.record("jobs", "batch/v1", &["Job"]);
        let mut burst = named("batch/v1", "CronJob", "burst");
        burst["spec"] = json!({
            "schedule": "@every 1s", "successfulJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"template": template("burst", 1, "Never")}},
        });
        self.cluster.apply(&burst).unwrap();
        let events = named("v1", "Event", "");
        eventually("an old job is deleted", TIMEOUT, || {
            let events = self.cluster.list(&events).unwrap();
            let is_deletion = |event: &Value| {
                event["involvedObject"]["kind"] == "CronJob" && event["reason"] == "SuccessfulDelete"
            };
            events.iter().any(is_deletion).then_some(())
        });
        self.cluster.delete(&burst).unwrap();
        eventually("the jobs of the CronJob are gone", TIMEOUT, || {
            let jobs = self.list("batch/v1", "Job");
            let left = jobs
                .iter()
                .filter(|job| !job["metadata"]["ownerReferences"].is_null());
            if left.count() == 0 {
                Ok(())
            } else {
                Err("some are left".to_owned())
            }
        });
    }

    fn cascades(&mut self) {
        let delete = |kind: &str, name: &str, policy: &str| {
            let path =
                format!("/apis/apps/v1/namespaces/{NAMESPACE}/{kind}/{name}?propagationPolicy={policy}");
            self.cluster
                .request(http::Method::DELETE, &path, "application/json", None)
                .unwrap();
        };
        delete("deployments", "web", "Foreground");
        delete("statefulsets", "db", "Orphan");
        delete("daemonsets", "agent", "Background");
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
        self.record("orphaned", "v1", &["Pod"]);
        self.record("orphaned", "apps/v1", &["ReplicaSet", "ControllerRevision"]);
    }

    /// Two hundred namespaces at once, and one that a finalizer holds.
    fn namespaces(&mut self) {
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
        self.objects
            .push(format!("held: {}", normalized(&found["status"], &[])));
        self.cluster
            .merge_patch(&held, &json!({"metadata": {"finalizers": null}}))
            .unwrap();
        eventually("the namespaces are gone", TIMEOUT, || {
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
    }

    fn apply_and_wait(&self, object: &Value, is_done: impl Fn(&Value) -> bool) {
        let applied = self.cluster.apply(object).unwrap();
        let generation = &applied["metadata"]["generation"];
        self.wait(object, |found| {
            let observed = &found["status"]["observedGeneration"];
            (observed.is_null() || observed == generation) && is_done(found)
        });
    }

    fn wait(&self, object: &Value, is_done: impl Fn(&Value) -> bool) {
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

    fn list(&self, api_version: &str, kind: &str) -> Vec<Value> {
        self.cluster.list(&named(api_version, kind, "")).unwrap()
    }

    /// Notes the objects of these kinds.
    fn record(&mut self, moment: &str, api_version: &str, kinds: &[&str]) {
        let replica_sets = self.list("apps/v1", "ReplicaSet");
        let revisions = self.list("apps/v1", "ControllerRevision");
        let hashes: Vec<(String, String)> = replica_sets
            .iter()
            .map(|set| {
                let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
                let waits = &set["spec"]["template"]["metadata"]["annotations"];
                let hash = set["metadata"]["labels"]["pod-template-hash"].as_str().unwrap();
                (hash.to_owned(), format!("<{image}{waits}>").replace('"', ""))
            })
            .chain(revisions.iter().map(|revision| {
                let name = revision["metadata"]["name"].as_str().unwrap();
                let hash = name.rsplit('-').next().unwrap();
                (hash.to_owned(), format!("<{}>", revision["revision"]))
            }))
            .collect();
        for kind in kinds {
            let items = self.list(api_version, kind);
            let mut lines: Vec<_> = items
                .iter()
                .map(|item| format!("{moment}: {kind} {}", normalized(item, &hashes)))
                .collect();
            lines.sort();
            self.objects.extend(lines);
        }
    }
}

/// Returns the object's text without uids, versions, times, addresses, nodes and generated names.
fn normalized(object: &Value, hashes: &[(String, String)]) -> String {
    let mut object = object.clone();
    for field in ["managedFields", "resourceVersion", "uid", "creationTimestamp"] {
        object["metadata"]
            .as_object_mut()
            .map(|metadata| metadata.remove(field));
    }
    let is_daemon = object["metadata"]["labels"]["app"] == "agent";
    if object["kind"] == "Pod" && !is_daemon {
        object["spec"]["nodeName"] = json!("~");
    }
    let mut text = object.to_string();
    for (hash, name) in hashes {
        text = text.replace(hash, name);
    }
    let uids = Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap();
    let times = Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").unwrap();
    let addresses = Regex::new(r"\b10(\.\d+){3}\b").unwrap();
    // Five letters that the API server chose, also those of the token's volume.
    let generated =
        Regex::new(r"(kube-api-access-|>-|[a-z]-|\d-)[bcdfghjklmnpqrstvwxz2456789]{5}\b").unwrap();
    let text = uids.replace_all(&text, "~");
    let text = times.replace_all(&text, "~");
    let text = addresses.replace_all(&text, "~");
    generated
        .replace_all(&text, |found: &Captures<'_>| format!("{}~", &found[1]))
        .into_owned()
}

fn conditions(object: &Value) -> Vec<String> {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .map(|condition| {
            let field = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", field("type"), field("status"), field("reason"))
        })
        .collect()
}

fn selector(app: &str) -> Value {
    json!({"matchLabels": {"app": app}})
}

fn template(app: &str, version: u64, policy: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {"restartPolicy": policy, "containers": [{"name": "main", "image": format!("image:{version}")}]},
    })
}

fn merge(object: &mut Value, more: Value) {
    let Value::Object(more) = more else {
        panic!("no object: {more}")
    };
    for (name, value) in more {
        object[name] = value;
    }
}

fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "namespace": NAMESPACE, "name": name } })
}
