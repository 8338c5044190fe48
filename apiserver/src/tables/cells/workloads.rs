//! The cells of what runs pods, and of nodes.

use super::{
    NONE, UNKNOWN, created, joined, labels, list, name, number, or, pods, selector, selector_or_none, text,
};
use serde_json::{Value, json};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (spec, status, age) = (&object["spec"], &object["status"], created(object));
    let template = &spec["template"];
    let mut cells = vec![name(object).clone()];
    match kind {
        "Pod" => return Some(pods::cells(object)),
        "PodTemplate" => {
            cells.extend(containers(&object["template"]));
            cells.push(json!(labels(&object["template"]["metadata"]["labels"])));
        }
        "ReplicationController" | "ReplicaSet" => {
            let counts = [&spec["replicas"], &status["replicas"], &status["readyReplicas"]];
            cells.extend(counts.map(|count| json!(number(count))));
            cells.push(json!(age));
            cells.extend(containers(template));
            cells.push(json!(if kind == "ReplicaSet" {
                selector_or_none(&spec["selector"])
            } else {
                labels(&spec["selector"])
            }));
        }
        "Deployment" => {
            cells.push(json!(of(&status["readyReplicas"], &spec["replicas"])));
            let counts = [&status["updatedReplicas"], &status["availableReplicas"]];
            cells.extend(counts.map(|count| json!(number(count))));
            cells.push(json!(age));
            cells.extend(containers(template));
            cells.push(json!(selector(&spec["selector"])));
        }
        "StatefulSet" => {
            cells.push(json!(of(&status["readyReplicas"], &spec["replicas"])));
            cells.push(json!(age));
            cells.extend(containers(template));
        }
        "DaemonSet" => {
            let counts = [
                "desiredNumberScheduled",
                "currentNumberScheduled",
                "numberReady",
                "updatedNumberScheduled",
                "numberAvailable",
            ];
            cells.extend(counts.map(|count| json!(number(&status[count]))));
            cells.push(json!(labels(&template["spec"]["nodeSelector"])));
            cells.push(json!(age));
            cells.extend(containers(template));
            cells.push(json!(selector_or_none(&spec["selector"])));
        }
        "ControllerRevision" => {
            let owners = list(&object["metadata"], "ownerReferences").iter();
            let owner = owners
                .clone()
                .find(|owner| owner["controller"] == true)
                .map(|owner| {
                    let group = text(owner, "apiVersion")
                        .split_once('/')
                        .map(|(group, _)| format!(".{group}"));
                    let kind = format!("{}{}", text(owner, "kind"), group.unwrap_or_default());
                    format!("{}/{}", kind.to_lowercase(), text(owner, "name"))
                });
            cells.push(json!(owner.as_deref().unwrap_or(NONE)));
            cells.extend([json!(number(&object["revision"])), json!(age)]);
        }
        "PodDisruptionBudget" => {
            let bounds = [&spec["minAvailable"], &spec["maxUnavailable"]];
            cells.extend(bounds.map(|bound| match bound {
                Value::Null => json!("N/A"),
                Value::String(bound) => json!(bound),
                bound => json!(bound.to_string()),
            }));
            cells.extend([json!(number(&status["disruptionsAllowed"])), json!(age)]);
        }
        "Node" => node(object, &mut cells),
        _ => return None,
    }
    Some(cells)
}

/// The names and the images of a template's containers.
pub(super) fn containers(template: &Value) -> [Value; 2] {
    let containers = list(&template["spec"], "containers");
    [
        json!(joined(containers, "name")),
        json!(joined(containers, "image")),
    ]
}

/// `1/2`.
fn of(some: &Value, all: &Value) -> String {
    format!("{}/{}", number(some), number(all))
}

fn node(node: &Value, cells: &mut Vec<Value>) {
    const ROLE: &str = "node-role.kubernetes.io/";
    let status = &node["status"];
    let mut conditions = list(status, "conditions").iter().rev();
    let ready = conditions.find(|condition| condition["type"] == "Ready");
    let ready = ready.map_or("Unknown", |ready| {
        if ready["status"] == "True" {
            "Ready"
        } else {
            "NotReady"
        }
    });
    let scheduled = if node["spec"]["unschedulable"] == true {
        ",SchedulingDisabled"
    } else {
        ""
    };
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix(ROLE) {
            None if key == "kubernetes.io/role" => value.as_str(),
            role => role,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    let address = |kind: &str| {
        let found = list(status, "addresses")
            .iter()
            .find(|address| address["type"] == kind);
        found.map_or(NONE, |found| text(found, "address")).to_owned()
    };
    let info = &status["nodeInfo"];
    let mut kernel = or(text(info, "kernelVersion"), UNKNOWN).to_owned();
    let architecture = text(info, "architecture");
    if !architecture.is_empty() {
        kernel = format!("{kernel} ({architecture})");
    }
    cells.extend([
        json!(format!("{ready}{scheduled}")),
        json!(or(&roles.join(","), NONE)),
        json!(created(node)),
        json!(text(info, "kubeletVersion")),
        json!(address("InternalIP")),
        json!(address("ExternalIP")),
        json!(or(text(info, "osImage"), UNKNOWN)),
        json!(kernel),
        json!(or(text(info, "containerRuntimeVersion"), UNKNOWN)),
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_say_whether_they_take_pods_and_what_for() {
        let node = json!({
            "metadata": {
                "name": "n",
                "labels": { "node-role.kubernetes.io/b": "", "kubernetes.io/role": "a", "node-role.kubernetes.io/": "" },
            },
            "spec": { "unschedulable": true },
            "status": {
                "conditions": [{ "type": "Ready", "status": "False" }],
                "nodeInfo": { "kernelVersion": "6", "architecture": "arm64" },
            },
        });
        let cells = cells("Node", &node).unwrap();
        assert_eq!(
            (&cells[1], &cells[2]),
            (&json!("NotReady,SchedulingDisabled"), &json!("a,b"))
        );
        assert_eq!(cells[8], "6 (arm64)");
    }
}
