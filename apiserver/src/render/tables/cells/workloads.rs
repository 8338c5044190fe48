//! The cells of workloads and nodes.

use super::{
    NONE, UNKNOWN, age_of, format_labels, format_selector, join_field, list, name, number, pods,
    selector_or_none, text, text_or,
};
use serde_json::{Value, json};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (spec, status, age) = (&object["spec"], &object["status"], age_of(object));
    let template = &spec["template"];
    let mut cells = vec![name(object).clone()];
    match kind {
        "Pod" => return Some(pods::cells(object)),
        "PodTemplate" => {
            cells.extend(containers(&object["template"]));
            cells.push(json!(format_labels(&object["template"]["metadata"]["labels"])));
        }
        "ReplicationController" | "ReplicaSet" => {
            let counts = [&spec["replicas"], &status["replicas"], &status["readyReplicas"]];
            cells.extend(counts.map(|count| json!(number(count))));
            cells.push(json!(age));
            cells.extend(containers(template));
            cells.push(json!(if kind == "ReplicaSet" {
                selector_or_none(&spec["selector"])
            } else {
                format_labels(&spec["selector"])
            }));
        }
        "Deployment" => {
            cells.push(json!(ratio(&status["readyReplicas"], &spec["replicas"])));
            let counts = [&status["updatedReplicas"], &status["availableReplicas"]];
            cells.extend(counts.map(|count| json!(number(count))));
            cells.push(json!(age));
            cells.extend(containers(template));
            cells.push(json!(format_selector(&spec["selector"])));
        }
        "Scale" => {
            let counts = [&spec["replicas"], &status["replicas"]];
            cells.extend(counts.map(|count| json!(number(count))));
            cells.push(json!(age));
        }
        "StatefulSet" => {
            cells.push(json!(ratio(&status["readyReplicas"], &spec["replicas"])));
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
            cells.push(json!(format_labels(&template["spec"]["nodeSelector"])));
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
        "Node" => node_cells(object, &mut cells),
        _ => return None,
    }
    Some(cells)
}

/// Returns the names and images of a template's containers.
pub(super) fn containers(template: &Value) -> [Value; 2] {
    let containers = list(&template["spec"], "containers");
    [
        json!(join_field(containers, "name")),
        json!(join_field(containers, "image")),
    ]
}

/// Formats `1/2`.
fn ratio(part: &Value, all: &Value) -> String {
    format!("{}/{}", number(part), number(all))
}

fn node_cells(node: &Value, cells: &mut Vec<Value>) {
    const ROLE_LABEL_PREFIX: &str = "node-role.kubernetes.io/";
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
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_LABEL_PREFIX) {
            None if key == "kubernetes.io/role" => value.as_str(),
            role => role,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    let address = |kind: &str| {
        let address = list(status, "addresses")
            .iter()
            .find(|address| address["type"] == kind);
        address
            .map_or(NONE, |address| text(address, "address"))
            .to_owned()
    };
    let info = &status["nodeInfo"];
    let mut kernel = text_or(text(info, "kernelVersion"), UNKNOWN).to_owned();
    let architecture = text(info, "architecture");
    if !architecture.is_empty() {
        kernel = format!("{kernel} ({architecture})");
    }
    cells.extend([
        json!(format!("{ready}{scheduled}")),
        json!(text_or(&roles.join(","), NONE)),
        json!(age_of(node)),
        json!(text(info, "kubeletVersion")),
        json!(address("InternalIP")),
        json!(address("ExternalIP")),
        json!(text_or(text(info, "osImage"), UNKNOWN)),
        json!(kernel),
        json!(text_or(text(info, "containerRuntimeVersion"), UNKNOWN)),
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_show_readiness_schedulability_and_roles() {
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
