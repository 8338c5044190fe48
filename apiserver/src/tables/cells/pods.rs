//! A pod's status in one word, as people know it from `kubectl get pods`.

use super::{NONE, created, list, name, number, or, since, text};
use serde_json::{Value, json};

pub(super) fn cells(pod: &Value) -> Vec<Value> {
    let summary = Summary::of(pod);
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let restarts = match summary.last {
        Some(last) if summary.restarts != 0 => format!("{} ({} ago)", summary.restarts, since(&json!(last))),
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
        json!(created(pod)),
        json!(or(address, NONE)),
        json!(or(text(spec, "nodeName"), NONE)),
        json!(or(text(status, "nominatedNodeName"), NONE)),
        json!(gates(pod)),
    ]
}

/// How many of the readiness gates are open.
fn gates(pod: &Value) -> String {
    let gates = list(&pod["spec"], "readinessGates");
    let open = gates
        .iter()
        .filter(|gate| is_true(pod, text(gate, "conditionType")))
        .count();
    match gates.len() {
        0 => NONE.to_owned(),
        all => format!("{open}/{all}"),
    }
}

fn is_true(pod: &Value, condition: &str) -> bool {
    let conditions = list(&pod["status"], "conditions");
    let found = conditions.iter().find(|known| known["type"] == condition);
    found.is_some_and(|found| found["status"] == "True")
}

/// What the containers of a pod are, together.
struct Summary<'a> {
    reason: String,
    ready: usize,
    containers: usize,
    restarts: i64,
    /// When the last of those that restarted had ended.
    last: Option<&'a str>,
}

impl<'a> Summary<'a> {
    fn of(pod: &'a Value) -> Self {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let phase = text(status, "phase");
        let sidecars: Vec<&str> = list(spec, "initContainers")
            .iter()
            .filter(|container| container["restartPolicy"] == "Always")
            .map(|container| text(container, "name"))
            .collect();
        let mut summary = Self {
            reason: or(text(status, "reason"), phase).to_owned(),
            ready: 0,
            containers: list(spec, "containers").len() + sidecars.len(),
            restarts: 0,
            last: None,
        };
        let gated = |condition: &&Value| {
            condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated"
        };
        if list(status, "conditions").iter().find(gated).is_some() {
            "SchedulingGated".clone_into(&mut summary.reason);
        }
        let initializing = summary.initialize(pod, &sidecars);
        if !initializing || is_true(pod, "Initialized") {
            summary.forget_initialized(pod, &sidecars);
            summary.run(pod);
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

    /// Goes through the init containers, to the first that has work to do; true when there is one.
    fn initialize(&mut self, pod: &'a Value, sidecars: &[&str]) -> bool {
        let all = list(&pod["spec"], "initContainers").len();
        for (at, container) in list(&pod["status"], "initContainerStatuses").iter().enumerate() {
            self.restarted(container);
            let ended = &container["state"]["terminated"];
            let waiting = text(&container["state"]["waiting"], "reason");
            if ended.is_object() && number(&ended["exitCode"]) == 0 {
                continue;
            }
            if sidecars.contains(&text(container, "name")) && container["started"] == true {
                self.ready += usize::from(container["ready"] == true);
                continue;
            }
            self.reason = if ended.is_object() {
                format!("Init:{}", end_of(ended))
            } else if !matches!(waiting, "" | "PodInitializing") {
                format!("Init:{waiting}")
            } else {
                format!("Init:{at}/{all}")
            };
            return true;
        }
        false
    }

    /// Once initialized, only what still runs counts as restarted.
    fn forget_initialized(&mut self, pod: &'a Value, sidecars: &[&str]) {
        (self.restarts, self.last) = (0, None);
        for container in list(&pod["status"], "initContainerStatuses") {
            if sidecars.contains(&text(container, "name")) {
                self.restarted(container);
            }
        }
    }

    fn run(&mut self, pod: &'a Value) {
        let (mut running, mut failed) = (false, String::new());
        for container in list(&pod["status"], "containerStatuses").iter().rev() {
            self.restarted(container);
            let (state, waiting) = (
                &container["state"],
                text(&container["state"]["waiting"], "reason"),
            );
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if state["terminated"].is_object() {
                self.reason = end_of(&state["terminated"]);
                if number(&state["terminated"]["exitCode"]) != 0 {
                    failed.clone_from(&self.reason);
                }
            } else if container["ready"] == true && state["running"].is_object() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if running && is_true(pod, "Ready") {
                "Running".clone_into(&mut self.reason);
            } else if !failed.is_empty() {
                self.reason = failed;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }

    fn restarted(&mut self, container: &'a Value) {
        self.restarts += number(&container["restartCount"]);
        let ended = container["lastState"]["terminated"]["finishedAt"].as_str();
        self.last = self.last.max(ended);
    }
}

/// Why a container ended.
fn end_of(ended: &Value) -> String {
    match (text(ended, "reason"), number(&ended["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&ended["exitCode"])),
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
    fn a_pod_is_what_its_containers_are() {
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
        let ended =
            |code: i64| json!({ "state": { "terminated": { "exitCode": code, "reason": "Completed" } } });
        let waiting = json!({ "state": { "waiting": { "reason": "CrashLoopBackOff" } }, "restartCount": 2 });
        for (init, main, expected) in [
            (json!([]), json!([running, running]), ("2/2", "Running")),
            (
                json!([ended(0)]),
                json!([running, waiting]),
                ("1/2", "CrashLoopBackOff"),
            ),
            (json!([]), json!([running, ended(0)]), ("1/2", "Running")),
            (json!([ended(1)]), json!([]), ("0/2", "Init:Completed")),
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
        let mut gone = pod(json!([]), json!([running]));
        gone["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(status(&gone).1, "Terminating");
    }
}
