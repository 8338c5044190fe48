//! What a case waits for, apart from its steps. kube-apiserver reads watches and some lists from caches, and removes a deleted definition
//! after its response. Without these waits, the recording depends on the load of the machine.

use crate::case::Step;
use crate::server::{StepResult, TestServer};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";

/// Longest wait for a deleted definition. One whose objects have finalizers stays.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(30);

/// When a deleted definition is changed if it stays, and how often.
const REMINDER_INTERVAL: Duration = Duration::from_secs(5);

const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl TestServer {
    /// Waits until a request that is served from a watch cache sees all earlier writes: a list without a version waits for them.
    pub(crate) async fn await_watch_cache(&self, step: &Step) {
        let Some((collection, query)) = step.path.split_once('?') else {
            return;
        };
        if step.method == "GET" && (query.contains("watch") || query.contains("resourceVersion")) {
            self.get(collection).await;
        }
    }

    /// Waits until the garbage collector has seen the config maps and jobs of all namespaces: it handles the events of a kind in order, so it
    /// deletes an object whose owner does not exist after those before it.
    pub(crate) async fn await_collector(&self, namespace: &str) {
        let absent = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": "absent" }]);
        let metadata = json!({ "name": "seen-by-collector", "ownerReferences": absent });
        let container = json!({ "name": "c", "image": "i" });
        let template = json!({ "spec": { "restartPolicy": "Never", "containers": [container] } });
        for (collection, object) in [
            (
                "/api/v1/namespaces/NS/configmaps",
                json!({ "metadata": metadata }),
            ),
            (
                "/apis/batch/v1/namespaces/NS/jobs",
                json!({ "metadata": metadata, "spec": { "template": template } }),
            ),
        ] {
            let collection = collection.replace("NS", namespace);
            let create = Step {
                method: "POST".into(),
                path: collection.clone(),
                body: Some(object),
                ..Step::default()
            };
            let StepResult(code, body) = self.run_step(&create).await.0;
            assert_eq!(code, 201, "{body}");
            let gone = Step {
                method: "GET".into(),
                path: format!("{collection}/seen-by-collector"),
                until: Some(404),
                ..Step::default()
            };
            let StepResult(code, body) = self.run_step(&gone).await.0;
            assert_eq!(code, 404, "{body}");
        }
    }

    /// Waits until the definitions that these steps delete are gone, also from discovery.
    pub(crate) async fn await_removed_definitions(&self, steps: &[Step]) {
        let deletions = steps.iter().filter(|step| step.method == "DELETE");
        for name in deletions.filter_map(|step| step.path.strip_prefix(DEFINITIONS)) {
            let name = name.split('?').next().unwrap_or(name);
            let (start, mut reminded) = (Instant::now(), Instant::now());
            while self.is_being_removed(name).await {
                self.remind_finalizer(&format!("{DEFINITIONS}{name}"), &mut reminded)
                    .await;
                if start.elapsed() > REMOVAL_TIMEOUT {
                    eprintln!("the deleted definition {name} stays");
                    break;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }

    /// While a request waits until a definition is gone: changes the definition at times, so that kube-apiserver's finalizer looks at it again.
    /// The finalizer forgets a definition if its first attempt fails, as while the storage of a new kind initializes, and its second one
    /// conflicts with the condition that the first one wrote: it ignores events that change nothing but that condition.
    pub(crate) async fn remind_finalizer(&self, path: &str, last: &mut Instant) {
        if !path.starts_with(DEFINITIONS) || last.elapsed() < REMINDER_INTERVAL {
            return;
        }
        *last = Instant::now();
        let now = format!("{:?}", std::time::SystemTime::now());
        let step = Step {
            method: "PATCH".into(),
            path: path.into(),
            content_type: Some("application/merge-patch+json".into()),
            body: Some(json!({ "metadata": { "annotations": { "reminder": now } } })),
            ..Step::default()
        };
        // It may be gone by now.
        self.send(&step).await;
    }

    async fn is_being_removed(&self, name: &str) -> bool {
        let StepResult(code, definition) = self.get(&format!("{DEFINITIONS}{name}")).await;
        if code == 200 {
            return !definition["metadata"]["deletionTimestamp"].is_null();
        }
        let Some((plural, group)) = name.split_once('.') else {
            return false;
        };
        let StepResult(_, group) = self.get(&format!("/apis/{group}")).await;
        for version in list(&group["versions"]) {
            let version = version["groupVersion"].as_str().unwrap_or_default();
            let StepResult(_, resources) = self.get(&format!("/apis/{version}")).await;
            if list(&resources["resources"])
                .iter()
                .any(|resource| resource["name"] == plural)
            {
                return true;
            }
        }
        false
    }

    async fn get(&self, path: &str) -> StepResult {
        let step = Step {
            method: "GET".into(),
            path: path.into(),
            ..Step::default()
        };
        self.run_step(&step).await.0
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
