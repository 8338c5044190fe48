//! Job controller.

use serde_json::{Value, json};

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object::{self, int_or_default};
use crate::plan::Plan;
use crate::pods::{is_active, is_ready, restarts};

pub(crate) fn reconcile(cache: &ObjectCache, plan: &mut Plan) {
    for job in cache.all(Kind::Job).filter(|job| !object::is_being_deleted(job)) {
        let is_finished =
            object::is_condition_true(job, "Complete") || object::is_condition_true(job, "Failed");
        if !is_finished {
            reconcile_one(cache, job, plan);
        }
    }
}

fn reconcile_one(cache: &ObjectCache, job: &Value, plan: &mut Plan) {
    let spec = &job["spec"];
    let pods: Vec<&Value> = cache.owned(Kind::Pod, job).collect();
    let count_in_phase = |phase: &str| pods.iter().filter(|pod| pod["status"]["phase"] == phase).count();
    let as_count = |found: usize| i64::try_from(found).unwrap_or(i64::MAX);
    let (succeeded, failed) = (
        as_count(count_in_phase("Succeeded")),
        as_count(count_in_phase("Failed")),
    );
    let active: Vec<&Value> = pods.iter().copied().filter(|pod| is_active(pod)).collect();
    let restarted_count: i64 = active.iter().map(|pod| restarts(pod)).sum();

    let parallelism = int_or_default(&spec["parallelism"], 1);
    // Without `completions`, one success is enough, after which no more pods are started.
    let desired = spec["completions"].as_i64();
    let remaining = desired.map_or_else(
        || {
            if succeeded > 0 {
                as_count(active.len())
            } else {
                parallelism
            }
        },
        |desired| (desired - succeeded).max(0),
    );
    let is_suspended = spec["suspend"] == true;
    let has_failed = failed + restarted_count > int_or_default(&spec["backoffLimit"], 6);
    let is_complete = match desired {
        Some(desired) => succeeded >= desired,
        None => succeeded > 0 && active.is_empty(),
    };
    let max_active = if is_suspended || has_failed || is_complete {
        0
    } else {
        remaining.min(parallelism)
    };
    let max_active = usize::try_from(max_active).unwrap_or(0);
    for _ in active.len()..max_active {
        plan.push(Action::Create(Kind::Pod, object::pod(Kind::Job, job)));
    }
    for pod in active.iter().skip(max_active) {
        plan.push(Action::Delete(Kind::Pod, (*pod).clone()));
    }

    let running = active.len().min(max_active);
    let previous = |key: &str| job["status"][key].clone();
    let mut status = json!({
        "active": running, "ready": active.iter().filter(|pod| is_ready(pod)).count().min(max_active), "terminating": 0,
        "succeeded": succeeded, "failed": failed, "uncountedTerminatedPods": {},
    });
    if !is_suspended {
        status["startTime"] = if previous("startTime").is_null() {
            json!(object::now())
        } else {
            previous("startTime")
        };
    }
    let mut conditions = Vec::new();
    let mut add_condition = |kind: &str, reason: &str, message: &str| {
        let mut condition = object::make_condition(job, kind, true, reason, message);
        condition["lastProbeTime"] = condition["lastTransitionTime"].clone();
        conditions.push(condition);
    };
    if has_failed {
        let message = "Job has reached the specified backoff limit";
        add_condition("FailureTarget", "BackoffLimitExceeded", message);
        add_condition("Failed", "BackoffLimitExceeded", message);
    } else if is_complete {
        let message = "Reached expected number of succeeded pods";
        add_condition("SuccessCriteriaMet", "CompletionsReached", message);
        add_condition("Complete", "CompletionsReached", message);
        status["completionTime"] = json!(object::now());
    } else if is_suspended {
        add_condition("Suspended", "JobSuspended", "Job suspended");
    }
    status["conditions"] = json!(conditions);
    plan.update_status(Kind::Job, job, status);
}
