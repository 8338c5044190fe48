//! The cells of configuration, access control, quotas, autoscalers and events.

use super::{NONE, UNKNOWN, UNSET, age_of, age_since, list, name, number, text, text_or};
use serde_json::{Value, json};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (spec, status, age) = (&object["spec"], &object["status"], json!(age_of(object)));
    let count = |field: &str| match &object[field] {
        Value::Object(entries) => entries.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    let name = name(object).clone();
    Some(match kind {
        "Namespace" => vec![name, json!(text(status, "phase")), age],
        "ConfigMap" => vec![name, json!(count("data") + count("binaryData")), age],
        "Secret" => vec![name, json!(text(object, "type")), json!(count("data")), age],
        "ServiceAccount" => vec![name, age],
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            vec![name, json!(count("webhooks")), age]
        }
        "Lease" => vec![name, json!(text(spec, "holderIdentity")), age],
        "PriorityClass" => vec![
            name,
            json!(number(&object["value"])),
            json!(object["globalDefault"] == true),
            age,
            json!(text(object, "preemptionPolicy")),
        ],
        "ResourceQuota" => {
            let (requests, limits) = format_quota(status);
            vec![name, json!(requests), json!(limits), age]
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            let role = &object["roleRef"];
            let subjects = |kind: &str| {
                let named = list(object, "subjects")
                    .iter()
                    .filter(|subject| subject["kind"] == kind);
                let named = named.map(|subject| match kind {
                    "ServiceAccount" => format!("{}/{}", text(subject, "namespace"), text(subject, "name")),
                    _ => text(subject, "name").to_owned(),
                });
                json!(named.collect::<Vec<_>>().join(", "))
            };
            let role = format!("{}/{}", text(role, "kind"), text(role, "name"));
            vec![
                name,
                json!(role),
                age,
                subjects("User"),
                subjects("Group"),
                subjects("ServiceAccount"),
            ]
        }
        "HorizontalPodAutoscaler" => {
            let target = &spec["scaleTargetRef"];
            let min = spec["minReplicas"]
                .as_i64()
                .map_or(UNSET.to_owned(), |min| min.to_string());
            vec![
                name,
                json!(format!("{}/{}", text(target, "kind"), text(target, "name"))),
                json!(format_metrics(
                    list(spec, "metrics"),
                    list(status, "currentMetrics")
                )),
                json!(min),
                json!(number(&spec["maxReplicas"])),
                json!(number(&status["currentReplicas"])),
                age,
            ]
        }
        "Event" => event_cells(object),
        _ => return None,
    })
}

/// Formats a quantity; a missing one is zero.
pub(super) fn format_quantity(value: &Value) -> String {
    match value {
        Value::Null => "0".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Formats the used and hard amounts of a quota: those of requests, and those of limits.
fn format_quota(status: &Value) -> (String, String) {
    let (mut requests, mut limits) = (vec![], vec![]);
    for (resource, hard) in status["hard"].as_object().into_iter().flatten() {
        let text = format!(
            "{resource}: {}/{}",
            format_quantity(&status["used"][resource]),
            format_quantity(hard)
        );
        if resource.starts_with("limits.") {
            limits.push(text);
        } else {
            requests.push(text);
        }
    }
    requests.sort();
    limits.sort();
    (requests.join(", "), limits.join(", "))
}

/// Formats the current and target values of the first two metrics.
fn format_metrics(desired: &[Value], current_metrics: &[Value]) -> String {
    const MAX_SHOWN: usize = 2;
    let format_metric = |(at, metric): (usize, &Value)| {
        let field = match text(metric, "type") {
            "External" => "external",
            "Pods" => "pods",
            "Object" => "object",
            "Resource" => "resource",
            "ContainerResource" => "containerResource",
            _ => return "<unknown type>".to_owned(),
        };
        let current = current_metrics
            .get(at)
            .map_or(&Value::Null, |metric| &metric[field]["current"]);
        let target = &metric[field]["target"];
        let shown = |name: &str| current[name].as_str().unwrap_or(UNKNOWN);
        let name = text(&metric[field], "name");
        match (field, target["averageValue"].as_str()) {
            ("pods", average) => format!("{}/{}", shown("averageValue"), average.unwrap_or_default()),
            ("external" | "object", Some(average)) => format!("{}/{average} (avg)", shown("averageValue")),
            ("external" | "object", None) => format!("{}/{}", shown("value"), text(target, "value")),
            (_, Some(average)) => format!("{name}: {}/{average}", shown("averageValue")),
            (_, None) => {
                let percent = |value: &Value, default: &str| match value["averageUtilization"].as_i64() {
                    Some(percent) => format!("{percent}%"),
                    None => default.to_owned(),
                };
                format!(
                    "{name}: {}/{}",
                    percent(current, UNKNOWN),
                    percent(target, "<auto>")
                )
            }
        }
    };
    let texts: Vec<String> = desired.iter().enumerate().map(format_metric).collect();
    match texts.len() {
        0 => NONE.to_owned(),
        count if count > MAX_SHOWN => format!(
            "{} + {} more...",
            texts[..MAX_SHOWN].join(", "),
            count - MAX_SHOWN
        ),
        _ => texts.join(", "),
    }
}

fn event_cells(event: &Value) -> Vec<Value> {
    let first = match &event["firstTimestamp"] {
        Value::Null => age_since(&event["eventTime"]),
        time => age_since(time),
    };
    let mut last = match &event["lastTimestamp"] {
        Value::Null => first.clone(),
        time => age_since(time),
    };
    let mut count = number(&event["count"]).max(1);
    if event["series"].is_object() {
        last = age_since(&event["series"]["lastObservedTime"]);
        count = number(&event["series"]["count"]);
    }
    let involved = &event["involvedObject"];
    let kind = text(involved, "kind").to_lowercase();
    let target = match text(involved, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = text_or(
        text(&event["source"], "component"),
        text(event, "reportingComponent"),
    );
    let host = text_or(text(&event["source"], "host"), text(event, "reportingInstance"));
    let source = if host.is_empty() {
        source.to_owned()
    } else {
        format!("{source}, {host}")
    };
    vec![
        json!(last),
        json!(text(event, "type")),
        json!(text(event, "reason")),
        json!(target),
        json!(text(involved, "fieldPath")),
        json!(source),
        json!(text(event, "message").trim()),
        json!(first),
        json!(count),
        name(event).clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_show_current_and_target_values() {
        let desired = [
            json!({ "type": "Resource", "resource": { "name": "cpu", "target": { "averageUtilization": 80 } } }),
            json!({ "type": "External", "external": { "target": { "averageValue": "5" } } }),
            json!({ "type": "Pods", "pods": { "target": { "averageValue": "1" } } }),
        ];
        let current_metrics = [json!({ "resource": { "current": { "averageUtilization": 7 } } })];
        assert_eq!(
            format_metrics(&desired[..2], &current_metrics),
            "cpu: 7%/80%, <unknown>/5 (avg)"
        );
        assert_eq!(
            format_metrics(&desired, &current_metrics),
            "cpu: 7%/80%, <unknown>/5 (avg) + 1 more..."
        );
        assert_eq!(format_metrics(&[], &[]), "<none>");
    }

    #[test]
    fn quotas_are_formatted_on_one_line() {
        let status = json!({ "hard": { "pods": "3", "limits.cpu": "2" }, "used": { "pods": "1" } });
        assert_eq!(
            format_quota(&status),
            ("pods: 1/3".to_owned(), "limits.cpu: 0/2".to_owned())
        );
    }
}
