//! Jobs and a CronJob.

use kubewright_testkit::eventually;
use serde_json::{Value, json};

use crate::{
    TIMEOUT,
    workloads::{Scenarios, merge, named, template},
};

impl Scenarios<'_> {
    /// Jobs that complete, that fail, indexed ones, and those of a CronJob.
    pub(crate) fn jobs(&mut self) {
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
}
