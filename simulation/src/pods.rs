//! Pods: scheduler and kubelet.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::action::Action;
use crate::object::{self, annotation, count, make_condition, now};
use crate::step::Next;
use crate::world::{Kind, World};
use crate::{NODE, Timing};

/// Whether it works or will work.
pub(crate) fn is_active(pod: &Value) -> bool {
    !object::is_deleted(pod) && !has_ended(pod)
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    object::is_true(pod, "Ready")
}

fn has_ended(pod: &Value) -> bool {
    pod["status"]["phase"] == "Succeeded" || pod["status"]["phase"] == "Failed"
}

pub(crate) fn step(world: &mut World, timing: Timing, instant: Instant, next: &mut Next) {
    let pods: Vec<Value> = world.all(Kind::Pod).cloned().collect();
    for pod in pods {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if object::is_deleted(&pod) {
            if pod["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty) {
                next.act(Action::Finish(pod));
            }
        } else if has_ended(&pod) || !(node.is_empty() || node == NODE) {
            // Nothing more becomes of it, or another kubelet's.
        } else if node.is_empty() {
            let gated = pod["spec"]["schedulingGates"]
                .as_array()
                .is_some_and(|gates| !gates.is_empty());
            if !gated && world.get(Kind::Node, "", NODE).is_some() {
                next.act(Action::Bind(pod));
            }
        } else {
            live(world, timing, instant, &pod, next);
        }
    }
}

/// What the kubelet of the node does with a pod.
fn live(world: &mut World, timing: Timing, instant: Instant, pod: &Value, next: &mut Next) {
    let restarts = restarts(pod);
    let mut left = |what: &str, wait: Duration| {
        let left = world.left(format!("{}/{what}/{restarts}", object::uid(pod)), wait, instant);
        left.is_some_and(|left| {
            next.look_again(left);
            true
        })
    };
    let status = if pod["status"]["phase"] == "Running" {
        let always = pod["spec"]["restartPolicy"] == "Always";
        let run = milliseconds(pod, "run").or((!always).then_some(timing.pod_run));
        match run {
            Some(run) if !left("run", run) => Some(ended(pod, restarts)),
            _ => Some(resized(pod)),
        }
    } else if let Some(reason) = annotation(pod, "waiting") {
        Some(waiting(pod, reason))
    } else if left("start", milliseconds(pod, "start").unwrap_or(timing.pod_start)) {
        Some(waiting(pod, "ContainerCreating"))
    } else {
        Some(running(pod, 0))
    };
    if let Some(status) = status {
        object::report(Kind::Pod, pod, status, next);
    }
}

fn milliseconds(pod: &Value, name: &str) -> Option<Duration> {
    annotation(pod, name)?.parse().ok().map(Duration::from_millis)
}

/// How often its containers started again.
pub(crate) fn restarts(pod: &Value) -> i64 {
    count(&pod["status"]["containerStatuses"][0]["restartCount"], 0)
}

/// Its containers end: for good, or to start again as its policy says.
fn ended(pod: &Value, restarts: i64) -> Value {
    let code = annotation(pod, "exit-code")
        .and_then(|code| code.parse::<i64>().ok())
        .unwrap_or(0);
    let again = match pod["spec"]["restartPolicy"].as_str() {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => true,
    };
    if again {
        return running(pod, restarts + 1);
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

fn waiting(pod: &Value, reason: &str) -> Value {
    let state = json!({ "waiting": { "reason": reason } });
    status(pod, "Pending", false, "ContainersNotReady", 0, &state)
}

fn running(pod: &Value, restarts: i64) -> Value {
    let ready = annotation(pod, "never-ready") != Some("true");
    let state = json!({ "running": { "startedAt": now() } });
    let reason = if ready { "" } else { "ContainersNotReady" };
    status(pod, "Running", ready, reason, restarts, &state)
}

/// Its containers have what they ask for, as soon as they ask for something else.
fn resized(pod: &Value) -> Value {
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
            // By this an API server knows a node whose pods can be resized.
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
        let address = address(pod);
        status["podIP"] = json!(address);
        status["podIPs"] = json!([{ "ip": address }]);
    }
    status
}

/// An address of its own, as far as its uid goes.
fn address(pod: &Value) -> String {
    let hash = object::uid(pod).bytes().fold(0_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(byte.into())
    });
    let [_, high, middle, low] = hash.to_be_bytes();
    format!("10.{}.{middle}.{}", 128 | (high & 63), low.clamp(1, 254))
}
