//! An API server and the controllers. Nothing runs pods: the tests write the status of pods, and of Jobs where no controller does.

use kubewright::testing::TestOperator;
use kubewright_controllers::{Options, register};
use kubewright_testkit::{Cluster, Identity, until};
use serde_json::{Value, json};

pub(crate) struct Scenario {
    pub(crate) cluster: Cluster,
    pub(crate) identity: Identity,
    _operator: TestOperator,
}

impl Scenario {
    pub(crate) async fn start(controllers: &str) -> Self {
        let options = Options::default().select(controllers).unwrap();
        let cluster = Cluster::embedded().unwrap();
        cluster.create_namespace("shop").unwrap();
        let permissions = TestOperator::permissions(|setup| register(setup, &options));
        let identity = cluster.operator("manager", &permissions).unwrap();
        let config = identity.config().await.unwrap();
        let operator = TestOperator::start(config, move |setup| register(setup, &options));
        Self {
            cluster,
            identity,
            _operator: operator,
        }
    }

    /// Waits until as many Jobs exist, and returns them.
    pub(crate) async fn jobs(&self, count: usize) -> Vec<Value> {
        for _ in 0..3000 {
            let mut jobs = self.cluster.list(&job("any", &json!({}))).unwrap();
            // Items of a list do not say what they are.
            for job in &mut jobs {
                (job["apiVersion"], job["kind"]) = (json!("batch/v1"), json!("Job"));
            }
            if jobs.len() == count {
                return jobs;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!(
            "there are not {count} Jobs: {:#?}",
            self.cluster.list(&job("any", &json!({})))
        );
    }

    /// Waits until the Job counts as many active pods, and they are all that exist. Returns them.
    pub(crate) async fn active_pods(&self, job: &Value, count: usize) -> Vec<Value> {
        let counts = |job: &Value| job["status"]["active"].as_u64().unwrap_or(0) == count as u64;
        until(&format!("{count} pods are active"), async || {
            let found = self.cluster.get(job).unwrap().unwrap_or_default();
            let mut pods = self.cluster.list(&object("v1", "Pod", "")).unwrap();
            for pod in &mut pods {
                (pod["apiVersion"], pod["kind"]) = (json!("v1"), json!("Pod"));
            }
            if counts(&found) && pods.len() == count {
                Ok(pods)
            } else {
                Err(format!("{} pods, {}", pods.len(), found["status"]))
            }
        })
        .await
    }

    /// Waits until an event with this reason has been counted so often.
    pub(crate) async fn event(&self, reason: &str, count: i64) {
        until(&format!("{count} events with the reason {reason}"), async || {
            let events = self.cluster.list(&object("v1", "Event", "")).unwrap();
            let mut counts = events
                .iter()
                .filter(|event| event["reason"] == reason)
                .map(|event| {
                    let series = event["series"]["count"].as_i64();
                    series.or(event["count"].as_i64()).unwrap_or(1)
                });
            counts
                .any(|counted| counted >= count)
                .then_some(())
                .ok_or_else(|| json!(events).to_string())
        })
        .await;
    }

    pub(crate) fn finish(&self, job: &Value, condition: &str) {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let of = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
        let interim = if condition == "Complete" {
            "SuccessCriteriaMet"
        } else {
            "FailureTarget"
        };
        let mut status = json!({"startTime": now, "conditions": [of(interim), of(condition)]});
        if condition == "Complete" {
            status["completionTime"] = json!(now);
        }
        self.cluster.patch_status(job, &status).unwrap();
    }
}

fn template() -> Value {
    json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}})
}

fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": "shop", "name": name}})
}

pub(crate) fn job(name: &str, spec: &Value) -> Value {
    let mut job = object("batch/v1", "Job", name);
    job["spec"] = json!({"template": template()});
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    job
}

/// A CronJob that is due: it was to start each second.
pub(crate) fn every_second(name: &str, spec: &Value) -> Value {
    let mut cron_job = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"namespace": "shop", "name": name},
        "spec": {"schedule": "@every 1s", "jobTemplate": {"spec": {"template": template()}}},
    });
    for (key, value) in spec.as_object().unwrap() {
        cron_job["spec"][key] = value.clone();
    }
    cron_job
}
