//! Jobs: pods that end, until enough of them succeeded or too many failed.

use serde_json::{Value, json};

use crate::action::Action;
use crate::object::{self, count};
use crate::pods::{is_active, is_ready, restarts};
use crate::step::Next;
use crate::world::{Kind, World};

pub(crate) fn step(world: &World, next: &mut Next) {
    for job in world.all(Kind::Job).filter(|job| !object::is_deleted(job)) {
        let is_over = object::is_true(job, "Complete") || object::is_true(job, "Failed");
        if !is_over {
            one(world, job, next);
        }
    }
}

fn one(world: &World, job: &Value, next: &mut Next) {
    let spec = &job["spec"];
    let pods: Vec<&Value> = world.owned(Kind::Pod, job).collect();
    let ended = |phase: &str| pods.iter().filter(|pod| pod["status"]["phase"] == phase).count();
    let as_count = |found: usize| i64::try_from(found).unwrap_or(i64::MAX);
    let (succeeded, failed) = (as_count(ended("Succeeded")), as_count(ended("Failed")));
    let active: Vec<&Value> = pods.iter().copied().filter(|pod| is_active(pod)).collect();
    let again: i64 = active.iter().map(|pod| restarts(pod)).sum();

    let parallelism = count(&spec["parallelism"], 1);
    // Without a number of completions, one success is enough, and then no more pods are started.
    let wanted = spec["completions"].as_i64();
    let left = wanted.map_or_else(
        || {
            if succeeded > 0 {
                as_count(active.len())
            } else {
                parallelism
            }
        },
        |wanted| (wanted - succeeded).max(0),
    );
    let is_suspended = spec["suspend"] == true;
    let has_failed = failed + again > count(&spec["backoffLimit"], 6);
    let is_complete = match wanted {
        Some(wanted) => succeeded >= wanted,
        None => succeeded > 0 && active.is_empty(),
    };
    let room = if is_suspended || has_failed || is_complete {
        0
    } else {
        left.min(parallelism)
    };
    let room = usize::try_from(room).unwrap_or(0);
    for _ in active.len()..room {
        next.act(Action::Create(Kind::Pod, object::pod(Kind::Job, job)));
    }
    for pod in active.iter().skip(room) {
        next.act(Action::Delete(Kind::Pod, (*pod).clone()));
    }

    let running = active.len().min(room);
    let known = |key: &str| job["status"][key].clone();
    let mut status = json!({
        "active": running, "ready": active.iter().filter(|pod| is_ready(pod)).count().min(room), "terminating": 0,
        "succeeded": succeeded, "failed": failed, "uncountedTerminatedPods": {},
    });
    if !is_suspended {
        status["startTime"] = if known("startTime").is_null() {
            json!(object::now())
        } else {
            known("startTime")
        };
    }
    let mut conditions = Vec::new();
    let mut say = |kind: &str, reason: &str, message: &str| {
        let mut condition = object::make_condition(job, kind, true, reason, message);
        condition["lastProbeTime"] = condition["lastTransitionTime"].clone();
        conditions.push(condition);
    };
    if has_failed {
        let message = "Job has reached the specified backoff limit";
        say("FailureTarget", "BackoffLimitExceeded", message);
        say("Failed", "BackoffLimitExceeded", message);
    } else if is_complete {
        let message = "Reached expected number of succeeded pods";
        say("SuccessCriteriaMet", "CompletionsReached", message);
        say("Complete", "CompletionsReached", message);
        status["completionTime"] = json!(object::now());
    } else if is_suspended {
        say("Suspended", "JobSuspended", "Job suspended");
    }
    status["conditions"] = json!(conditions);
    object::report(Kind::Job, job, status, next);
}
