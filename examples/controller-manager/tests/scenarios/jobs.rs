//! Jobs and a CronJob.

use kubewright_testkit::eventually;
use serde_json::{Value, json};

use crate::workloads::{Scenarios, TIMEOUT, merge, named, template};

impl Scenarios<'_> {
    /// Jobs with each end, one that expires, and those of a CronJob that is suspended and deleted.
    pub(crate) fn jobs(&mut self) {
        // It deletes an old Job when the second minute begins.
        let mut burst = named("batch/v1", "CronJob", "burst");
        burst["spec"] = json!({
            "schedule": "@every 1s", "successfulJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"template": template("burst", 1, "Never")}},
        });
        // It fails again after the backoff of 10 s.
        let retried = job("retried", json!({"backoffLimit": 1}), 3);
        for object in [&burst, &retried] {
            self.cluster.apply(object).unwrap();
        }
        for object in [
            job("good", json!({"completions": 4, "parallelism": 2}), 0),
            job("bad", json!({"backoffLimit": 0}), 3),
            job("indexed", indexed(json!({})), 0),
            job("per-index", indexed(json!({"backoffLimitPerIndex": 0})), 3),
            job("policy", failure_policy(), 3),
            job("kept", json!({"ttlSecondsAfterFinished": 3600}), 0),
        ] {
            self.apply_and_wait(&object, has_ended);
        }
        self.apply_and_wait(&job("suspended", json!({"suspend": true}), 0), |found| {
            !found["status"]["conditions"].is_null()
        });
        self.stopped_job();
        self.wait(&retried, has_ended);
        let expiring = job("expiring", json!({"ttlSecondsAfterFinished": 1}), 0);
        self.cluster.apply(&expiring).unwrap();
        eventually("the finished job has expired", TIMEOUT, || {
            match self.cluster.get(&expiring).unwrap() {
                None => Ok(()),
                Some(job) => Err(job["status"].to_string()),
            }
        });
        self.suspend(&burst);
        self.record("jobs", "batch/v1", &["CronJob", "Job"]);
        self.cluster.delete(&burst).unwrap();
        eventually("the jobs of the CronJob are gone", TIMEOUT, || {
            match self.jobs_of_cron_job().len() {
                0 => Ok(()),
                left => Err(left),
            }
        });
    }

    /// A CronJob has a Job that it did not start.
    pub(crate) fn foreign_job(&self) {
        let mut idle = named("batch/v1", "CronJob", "idle");
        idle["spec"] = json!({
            "schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": {"spec": {"template": template("idle", 1, "Never")}},
        });
        let idle = self.cluster.apply(&idle).unwrap();
        let mut foreign = job("foreign", json!({"suspend": true}), 0);
        foreign["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "batch/v1", "kind": "CronJob", "name": "idle", "uid": idle["metadata"]["uid"], "controller": true,
        }]);
        self.cluster.apply(&foreign).unwrap();
        let event = |event: &Value| event["reason"] == "UnexpectedJob";
        eventually("the foreign Job is noticed", TIMEOUT, || {
            self.list("v1", "Event").iter().any(event).then_some(())
        });
        self.wait(&foreign, |found| !found["status"]["conditions"].is_null());
        self.cluster.delete(&idle).unwrap();
        self.wait(&foreign, Value::is_null);
    }

    /// A Job whose pods do not end: it shrinks, is suspended and resumed, adopts a pod, and reaches its deadline.
    fn stopped_job(&self) {
        let mut stopped = job("stopped", json!({"completions": 6, "parallelism": 3}), 0);
        let annotations = &mut stopped["spec"]["template"]["metadata"]["annotations"];
        annotations["simulation.kubewright.dev/run"] = json!("3600000");
        let has_active =
            |count: u64| move |job: &Value| job["status"]["active"].as_u64().unwrap_or(0) == count;
        self.apply_and_wait(&stopped, has_active(3));
        for (change, active) in [
            (json!({"parallelism": 1}), 1),
            (json!({"suspend": true}), 0),
            (json!({"suspend": false}), 1),
        ] {
            self.patch(&stopped, &json!({ "spec": change }));
            self.wait(&stopped, has_active(active));
        }
        let pods = self.list("v1", "Pod");
        let is_active = |pod: &&Value| {
            pod["metadata"]["labels"]["job-name"] == "stopped"
                && pod["metadata"]["deletionTimestamp"].is_null()
        };
        let pod = pods.iter().find(is_active).unwrap()["metadata"]["name"].as_str();
        let pod = named("v1", "Pod", pod.unwrap());
        self.patch(&pod, &json!({"metadata": {"ownerReferences": null}}));
        self.wait(&pod, |pod| {
            pod["metadata"]["ownerReferences"][0]["name"] == "stopped"
        });
        self.patch(&stopped, &json!({"spec": {"activeDeadlineSeconds": 1}}));
        self.wait(&stopped, has_ended);
    }

    /// Suspends the CronJob when it has deleted an old Job.
    fn suspend(&self, cron_job: &Value) {
        let events = named("v1", "Event", "");
        eventually("an old job is deleted", TIMEOUT, || {
            let events = self.cluster.list(&events).unwrap();
            let is_deletion = |event: &Value| {
                event["involvedObject"]["kind"] == "CronJob" && event["reason"] == "SuccessfulDelete"
            };
            events.iter().any(is_deletion).then_some(())
        });
        self.cluster
            .merge_patch(cron_job, &json!({"spec": {"suspend": true}}))
            .unwrap();
        eventually("one job is kept, and none is active", TIMEOUT, || {
            let jobs = self.jobs_of_cron_job();
            let found = self.cluster.get(cron_job).unwrap().unwrap();
            let active = &found["status"]["active"];
            if active.is_null() && jobs.len() == 1 && jobs.iter().all(has_ended) {
                Ok(())
            } else {
                Err(format!("{} jobs, active: {active}", jobs.len()))
            }
        });
    }

    fn jobs_of_cron_job(&self) -> Vec<Value> {
        let mut jobs = self.list("batch/v1", "Job");
        jobs.retain(|job| !job["metadata"]["ownerReferences"].is_null());
        jobs
    }
}

/// Returns a Job whose pods end with this code.
fn job(name: &str, spec: Value, exit_code: u64) -> Value {
    let mut job = named("batch/v1", "Job", name);
    job["spec"] = json!({"template": template(name, 1, "Never")});
    job["spec"]["template"]["metadata"] =
        json!({"annotations": {"simulation.kubewright.dev/exit-code": exit_code.to_string()}});
    merge(&mut job["spec"], spec);
    job
}

fn indexed(more: Value) -> Value {
    let mut spec = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed"});
    merge(&mut spec, more);
    spec
}

/// The first pod that ends with the code 3 fails the Job.
fn failure_policy() -> Value {
    let exit_codes = json!({"operator": "In", "values": [3]});
    json!({"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": exit_codes}]}})
}

fn has_ended(job: &Value) -> bool {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|condition| condition["type"] == "Complete" || condition["type"] == "Failed")
}
