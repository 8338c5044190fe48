//! The status that a kubelet writes for a pod. Conditions that others write stay.

use serde_json::{Value, json};

use crate::object::{self, int_or_default, make_condition, now};

/// The restart count of the containers.
pub(crate) fn restarts(pod: &Value) -> i64 {
    int_or_default(&pod["status"]["containerStatuses"][0]["restartCount"], 0)
}

/// The status of a pod whose containers have not started.
pub(crate) fn waiting(pod: &Value, reason: &str) -> Value {
    let state = json!({ "waiting": { "reason": reason } });
    status(pod, "Pending", Err("ContainersNotReady"), 0, &state)
}

/// The status of a running pod.
pub(crate) fn running(pod: &Value, restart_count: i64, is_ready: bool) -> Value {
    let known = &pod["status"]["containerStatuses"][0]["state"];
    let state = if known["running"].is_object() && restarts(pod) == restart_count {
        known.clone()
    } else {
        json!({ "running": { "startedAt": now() } })
    };
    let ready = if is_ready {
        Ok(())
    } else {
        Err("ContainersNotReady")
    };
    status(pod, "Running", ready, restart_count, &state)
}

/// The status of a pod whose containers have exited for good.
pub(crate) fn finished(pod: &Value, code: i64) -> Value {
    let (phase, reason, why) = if code == 0 {
        ("Succeeded", "Completed", "PodCompleted")
    } else {
        ("Failed", "Error", "PodFailed")
    };
    let started = &pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"];
    let started = started.as_str().map_or_else(now, str::to_owned);
    let state = json!({ "terminated": { "exitCode": code, "reason": reason, "startedAt": started, "finishedAt": now() } });
    status(pod, phase, Err(why), restarts(pod), &state)
}

/// `ready` has the reason if the containers are not.
fn status(pod: &Value, phase: &str, ready: Result<(), &str>, restarts: i64, state: &Value) -> Value {
    let is_up = state.get("running").is_some();
    let containers = pod["spec"]["containers"].as_array();
    let containers: Vec<Value> = containers
        .into_iter()
        .flatten()
        .map(|container| {
            let mut status = json!({
                "name": container["name"], "image": container["image"], "imageID": "", "ready": ready.is_ok(), "started": is_up,
                "restartCount": restarts, "state": state,
            });
            // The allocated resources are the requested ones, which completes a resize. API servers only allow one if there are some.
            if is_up {
                status["resources"] = container["resources"].clone();
            }
            status
        })
        .collect();
    let mut status = pod["status"].clone();
    for condition in conditions(pod, ready, &containers) {
        object::set_condition(&mut status, condition);
    }
    status["phase"] = json!(phase);
    status["containerStatuses"] = json!(containers);
    status["hostIP"] = json!("192.0.2.1");
    status["hostIPs"] = json!([{ "ip": "192.0.2.1" }]);
    if status["startTime"].is_null() {
        status["startTime"] = json!(now());
    }
    if phase != "Pending" {
        let address = pod_ip(pod);
        status["podIP"] = json!(address);
        status["podIPs"] = json!([{ "ip": address }]);
    }
    status
}

fn conditions(pod: &Value, ready: Result<(), &str>, containers: &[Value]) -> [Value; 4] {
    let names: Vec<&str> = containers
        .iter()
        .filter_map(|container| container["name"].as_str())
        .collect();
    let unready = format!("containers with unready status: [{}]", names.join(" "));
    let condition = |kind: &str, state: Result<(), (&str, &str)>| match state {
        Ok(()) => make_condition(pod, kind, true, "", ""),
        Err((reason, message)) => make_condition(pod, kind, false, reason, message),
    };
    let of_containers = ready.map_err(|reason| match reason {
        "ContainersNotReady" => (reason, &*unready),
        _ => (reason, ""),
    });
    let gates = pod["spec"]["readinessGates"].as_array();
    let mut gates = gates.into_iter().flatten();
    let is_open = |gate: &Value| {
        let kind = gate["conditionType"].as_str().unwrap_or_default();
        object::is_condition_true(pod, kind)
    };
    let of_gates = if gates.all(is_open) {
        Ok(())
    } else {
        Err(("ReadinessGatesNotReady", "a readiness gate has no true condition"))
    };
    [
        condition("Initialized", Ok(())),
        condition("Ready", of_containers.and(of_gates)),
        condition("ContainersReady", of_containers),
        condition("PodScheduled", Ok(())),
    ]
}

/// An IP address derived from the uid, which makes collisions unlikely.
fn pod_ip(pod: &Value) -> String {
    let hash = object::uid(pod).bytes().fold(0_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(byte.into())
    });
    let [_, high, middle, low] = hash.to_be_bytes();
    format!("10.{}.{middle}.{}", 128 | (high & 63), low.clamp(1, 254))
}
