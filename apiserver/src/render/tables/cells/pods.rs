//! The cells of pods, with the status summary that `kubectl get pods` shows.

use super::{NONE, age_of, age_since, has_condition, list, name, number, text, text_or};
use serde_json::{Value, json};

pub(super) fn cells(pod: &Value) -> Vec<Value> {
    let summary = PodSummary::of(pod);
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let restarts = match summary.last_termination {
        Some(last_termination) if summary.restarts != 0 => format!(
            "{} ({} ago)",
            summary.restarts,
            age_since(&json!(last_termination))
        ),
        _ => summary.restarts.to_string(),
    };
    let address = list(status, "podIPs")
        .first()
        .map_or("", |address| text(address, "ip"));
    vec![
        name(pod).clone(),
        json!(format!("{}/{}", summary.ready, summary.containers)),
        json!(summary.reason),
        json!(restarts),
        json!(age_of(pod)),
        json!(text_or(address, NONE)),
        json!(text_or(text(spec, "nodeName"), NONE)),
        json!(text_or(text(status, "nominatedNodeName"), NONE)),
        json!(readiness_gates(pod)),
    ]
}

/// Returns how many readiness gates are satisfied.
fn readiness_gates(pod: &Value) -> String {
    let readiness_gates = list(&pod["spec"], "readinessGates");
    let satisfied = readiness_gates
        .iter()
        .filter(|gate| has_condition(pod, text(gate, "conditionType")))
        .count();
    match readiness_gates.len() {
        0 => NONE.to_owned(),
        total => format!("{satisfied}/{total}"),
    }
}

/// The state of a pod's containers, summarized.
struct PodSummary<'a> {
    reason: String,
    ready: usize,
    containers: usize,
    restarts: i64,
    /// The last termination time of a restarted container.
    last_termination: Option<&'a str>,
}

impl<'a> PodSummary<'a> {
    fn of(pod: &'a Value) -> Self {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let phase = text(status, "phase");
        let sidecars: Vec<&str> = list(spec, "initContainers")
            .iter()
            .filter(|container| container["restartPolicy"] == "Always")
            .map(|container| text(container, "name"))
            .collect();
        let mut summary = Self {
            reason: text_or(text(status, "reason"), phase).to_owned(),
            ready: 0,
            containers: list(spec, "containers").len() + sidecars.len(),
            restarts: 0,
            last_termination: None,
        };
        let is_scheduling_gated = |condition: &Value| {
            condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated"
        };
        if list(status, "conditions").iter().any(is_scheduling_gated) {
            "SchedulingGated".clone_into(&mut summary.reason);
        }
        let is_initializing = summary.add_init_containers(pod, &sidecars);
        if !is_initializing || has_condition(pod, "Initialized") {
            summary.reset_to_sidecars(pod, &sidecars);
            summary.add_containers(pod);
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            if text(status, "reason") == "NodeLost" {
                "Unknown".clone_into(&mut summary.reason);
            } else if !["Failed", "Succeeded"].contains(&phase) {
                "Terminating".clone_into(&mut summary.reason);
            }
        }
        summary
    }

    /// Summarizes the init containers up to the first that has not completed. Returns whether there is one.
    fn add_init_containers(&mut self, pod: &'a Value, sidecars: &[&str]) -> bool {
        let total = list(&pod["spec"], "initContainers").len();
        for (at, container) in list(&pod["status"], "initContainerStatuses").iter().enumerate() {
            self.add_restarts(container);
            let terminated = &container["state"]["terminated"];
            let waiting = text(&container["state"]["waiting"], "reason");
            if terminated.is_object() && number(&terminated["exitCode"]) == 0 {
                continue;
            }
            if sidecars.contains(&text(container, "name")) && container["started"] == true {
                self.ready += usize::from(container["ready"] == true);
                continue;
            }
            self.reason = if terminated.is_object() {
                format!("Init:{}", termination_reason(terminated))
            } else if !matches!(waiting, "" | "PodInitializing") {
                format!("Init:{waiting}")
            } else {
                format!("Init:{at}/{total}")
            };
            return true;
        }
        false
    }

    /// After initialization, only restarts of sidecars count, not those of init containers.
    fn reset_to_sidecars(&mut self, pod: &'a Value, sidecars: &[&str]) {
        (self.restarts, self.last_termination) = (0, None);
        for container in list(&pod["status"], "initContainerStatuses") {
            if sidecars.contains(&text(container, "name")) {
                self.add_restarts(container);
            }
        }
    }

    fn add_containers(&mut self, pod: &'a Value) {
        let (mut running, mut failed) = (false, String::new());
        for container in list(&pod["status"], "containerStatuses").iter().rev() {
            self.add_restarts(container);
            let (state, waiting) = (
                &container["state"],
                text(&container["state"]["waiting"], "reason"),
            );
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if state["terminated"].is_object() {
                self.reason = termination_reason(&state["terminated"]);
                if number(&state["terminated"]["exitCode"]) != 0 {
                    failed.clone_from(&self.reason);
                }
            } else if container["ready"] == true && state["running"].is_object() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if running && has_condition(pod, "Ready") {
                "Running".clone_into(&mut self.reason);
            } else if !failed.is_empty() {
                self.reason = failed;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }

    fn add_restarts(&mut self, container: &'a Value) {
        self.restarts += number(&container["restartCount"]);
        let terminated = container["lastState"]["terminated"]["finishedAt"].as_str();
        self.last_termination = self.last_termination.max(terminated);
    }
}

/// Returns why a container terminated.
fn termination_reason(terminated: &Value) -> String {
    match (text(terminated, "reason"), number(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(pod: &Value) -> (String, String) {
        let cells = cells(pod);
        (
            cells[1].as_str().unwrap().to_owned(),
            cells[2].as_str().unwrap().to_owned(),
        )
    }

    #[test]
    fn pod_status_summarizes_its_containers() {
        let pod = |init: Value, main: Value| {
            json!({
                "metadata": { "name": "p" },
                "spec": { "initContainers": [{ "name": "i" }], "containers": [{ "name": "c" }, { "name": "d" }] },
                "status": {
                    "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }],
                    "initContainerStatuses": init, "containerStatuses": main,
                },
            })
        };
        let running = json!({ "ready": true, "state": { "running": {} } });
        let terminated =
            |code: i64| json!({ "state": { "terminated": { "exitCode": code, "reason": "Completed" } } });
        let waiting = json!({ "state": { "waiting": { "reason": "CrashLoopBackOff" } }, "restartCount": 2 });
        for (init, main, expected) in [
            (json!([]), json!([running, running]), ("2/2", "Running")),
            (
                json!([terminated(0)]),
                json!([running, waiting]),
                ("1/2", "CrashLoopBackOff"),
            ),
            (json!([]), json!([running, terminated(0)]), ("1/2", "Running")),
            (json!([terminated(1)]), json!([]), ("0/2", "Init:Completed")),
            (json!([{ "state": {} }]), json!([]), ("0/2", "Init:0/1")),
            (
                json!([{ "state": { "terminated": { "exitCode": 3 } } }]),
                json!([]),
                ("0/2", "Init:ExitCode:3"),
            ),
        ] {
            let (ready, reason) = status(&pod(init, main));
            assert_eq!((ready.as_str(), reason.as_str()), expected);
        }
        let mut deleted = pod(json!([]), json!([running]));
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(status(&deleted).1, "Terminating");
    }
}
