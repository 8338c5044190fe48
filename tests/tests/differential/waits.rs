//! What a case waits for, apart from its steps. kube-apiserver reads watches and some lists from caches, and removes a deleted definition
//! after its response. Without these waits, the recording depends on the load of the machine.

use crate::case::Step;
use crate::server::{StepResult, TestServer};
use serde_json::Value;
use std::time::{Duration, Instant};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";

/// Longest wait for a deleted definition. One whose objects have finalizers stays.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(30);

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

    /// Waits until the definitions that these steps delete are gone, also from discovery.
    pub(crate) async fn await_removed_definitions(&self, steps: &[Step]) {
        let deletions = steps.iter().filter(|step| step.method == "DELETE");
        for name in deletions.filter_map(|step| step.path.strip_prefix(DEFINITIONS)) {
            let name = name.split('?').next().unwrap_or(name);
            let start = Instant::now();
            while self.is_being_removed(name).await {
                if start.elapsed() > REMOVAL_TIMEOUT {
                    eprintln!("the deleted definition {name} stays");
                    break;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
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
