//! Scheduler and kubelet.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object::{self, annotation, int_or_default, make_condition, now};
use crate::plan::Plan;
use crate::{NODE, Timing};

/// Whether the pod is neither terminating nor finished.
pub(crate) fn is_active(pod: &Value) -> bool {
    !object::is_being_deleted(pod) && !is_finished(pod)
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    object::is_condition_true(pod, "Ready")
}

fn is_finished(pod: &Value) -> bool {
    pod["status"]["phase"] == "Succeeded" || pod["status"]["phase"] == "Failed"
}

pub(crate) fn reconcile(cache: &mut ObjectCache, timing: Timing, now_instant: Instant, plan: &mut Plan) {
    let pods: Vec<Value> = cache.all(Kind::Pod).cloned().collect();
    for pod in pods {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if object::is_being_deleted(&pod) {
            if pod["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty) {
                plan.push(Action::ForceDelete(pod));
            }
        } else if is_finished(&pod) || !(node.is_empty() || node == NODE) {
            // A finished pod, or one of another node.
        } else if node.is_empty() {
            let gated = pod["spec"]["schedulingGates"]
                .as_array()
                .is_some_and(|gates| !gates.is_empty());
            if !gated && cache.get(Kind::Node, "", NODE).is_some() {
                plan.push(Action::Bind(pod));
            }
        } else {
            run_kubelet(cache, timing, now_instant, &pod, plan);
        }
    }
}

/// What the kubelet does with a pod.
fn run_kubelet(cache: &mut ObjectCache, timing: Timing, now_instant: Instant, pod: &Value, plan: &mut Plan) {
    let restarts = restarts(pod);
    let mut remaining = |timer: &str, wait: Duration| {
        let left = cache.remaining(
            format!("{}/{timer}/{restarts}", object::uid(pod)),
            wait,
            now_instant,
        );
        left.is_some_and(|left| {
            plan.requeue_after(left);
            true
        })
    };
    let status = if pod["status"]["phase"] == "Running" {
        let always = pod["spec"]["restartPolicy"] == "Always";
        let run = milliseconds(pod, "run").or((!always).then_some(timing.pod_run));
        match run {
            Some(run) if !remaining("run", run) => Some(finished_status(pod, restarts)),
            _ => Some(resized_status(pod)),
        }
    } else if let Some(reason) = annotation(pod, "waiting") {
        Some(waiting_status(pod, reason))
    } else if remaining("start", milliseconds(pod, "start").unwrap_or(timing.pod_start)) {
        Some(waiting_status(pod, "ContainerCreating"))
    } else {
        Some(running_status(pod, 0))
    };
    if let Some(status) = status {
        plan.update_status(Kind::Pod, pod, status);
    }
}

fn milliseconds(pod: &Value, name: &str) -> Option<Duration> {
    annotation(pod, name)?.parse().ok().map(Duration::from_millis)
}

/// The restart count of the containers.
pub(crate) fn restarts(pod: &Value) -> i64 {
    int_or_default(&pod["status"]["containerStatuses"][0]["restartCount"], 0)
}

/// The status after the containers exit: finished, or restarted according to the policy.
fn finished_status(pod: &Value, restarts: i64) -> Value {
    let code = annotation(pod, "exit-code")
        .and_then(|code| code.parse::<i64>().ok())
        .unwrap_or(0);
    let restarts_again = match pod["spec"]["restartPolicy"].as_str() {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => true,
    };
    if restarts_again {
        return running_status(pod, restarts + 1);
    }
    let (phase, reason) = if code == 0 {
        ("Succeeded", "Completed")
    } else {
        ("Failed", "Error")
    };
    let state = json!({ "terminated": { "exitCode": code, "reason": reason, "startedAt": now(), "finishedAt": now() } });
    let why = if code == 0 { "PodCompleted" } else { "PodFailed" };
    status(pod, phase, false, why, restarts, &state)
}

fn waiting_status(pod: &Value, reason: &str) -> Value {
    let state = json!({ "waiting": { "reason": reason } });
    status(pod, "Pending", false, "ContainersNotReady", 0, &state)
}

fn running_status(pod: &Value, restarts: i64) -> Value {
    let ready = annotation(pod, "never-ready") != Some("true");
    let state = json!({ "running": { "startedAt": now() } });
    let reason = if ready { "" } else { "ContainersNotReady" };
    status(pod, "Running", ready, reason, restarts, &state)
}

/// Sets the allocated resources to the requested ones, which completes a resize at once.
fn resized_status(pod: &Value) -> Value {
    let mut status = pod["status"].clone();
    let containers = pod["spec"]["containers"].as_array();
    let statuses = status.get_mut("containerStatuses").and_then(Value::as_array_mut);
    for (status, container) in statuses
        .into_iter()
        .flatten()
        .zip(containers.into_iter().flatten())
    {
        status["resources"] = container["resources"].clone();
    }
    status
}

fn status(pod: &Value, phase: &str, ready: bool, reason: &str, restarts: i64, state: &Value) -> Value {
    let is_up = state.get("running").is_some();
    let containers = pod["spec"]["containers"].as_array();
    let containers: Vec<Value> = containers
        .into_iter()
        .flatten()
        .map(|container| {
            let mut status = json!({
                "name": container["name"], "image": container["image"], "imageID": "", "ready": ready, "started": is_up,
                "restartCount": restarts, "state": state,
            });
            // API servers only allow a resize if the container status has resources.
            if is_up {
                status["resources"] = container["resources"].clone();
            }
            status
        })
        .collect();
    let names: Vec<&str> = containers
        .iter()
        .filter_map(|container| container["name"].as_str())
        .collect();
    let message = format!("containers with unready status: [{}]", names.join(" "));
    let message = if reason == "ContainersNotReady" {
        &message
    } else {
        ""
    };
    let mut conditions: Vec<Value> = ["Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .iter()
        .map(|kind| match *kind {
            "Ready" | "ContainersReady" => make_condition(pod, kind, ready, reason, message),
            _ => make_condition(pod, kind, true, "", ""),
        })
        .collect();
    for condition in &mut conditions {
        if let Value::Object(condition) = condition {
            condition.retain(|_, value| value != "");
        }
    }
    let before = &pod["status"];
    let mut status = json!({
        "phase": phase, "qosClass": before["qosClass"], "conditions": conditions, "containerStatuses": containers,
        "hostIP": "192.0.2.1", "hostIPs": [{ "ip": "192.0.2.1" }],
        "startTime": if before["startTime"].is_null() { json!(now()) } else { before["startTime"].clone() },
    });
    if phase != "Pending" {
        let address = pod_ip(pod);
        status["podIP"] = json!(address);
        status["podIPs"] = json!([{ "ip": address }]);
    }
    status
}

/// An IP address derived from the uid, which makes collisions unlikely.
fn pod_ip(pod: &Value) -> String {
    let hash = object::uid(pod).bytes().fold(0_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(byte.into())
    });
    let [_, high, middle, low] = hash.to_be_bytes();
    format!("10.{}.{middle}.{}", 128 | (high & 63), low.clamp(1, 254))
}
