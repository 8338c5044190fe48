//! The cells of what configures, stores, grants and tells.

use super::{NONE, UNKNOWN, UNSET, created, list, name, number, or, since, text};
use serde_json::{Value, json};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (spec, status, age) = (&object["spec"], &object["status"], json!(created(object)));
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
            let (requests, limits) = quota(status);
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
            let least = spec["minReplicas"]
                .as_i64()
                .map_or(UNSET.to_owned(), |least| least.to_string());
            vec![
                name,
                json!(format!("{}/{}", text(target, "kind"), text(target, "name"))),
                json!(metrics(list(spec, "metrics"), list(status, "currentMetrics"))),
                json!(least),
                json!(number(&spec["maxReplicas"])),
                json!(number(&status["currentReplicas"])),
                age,
            ]
        }
        "Event" => event(object),
        _ => return None,
    })
}

/// A quantity as it was given; nothing is zero.
pub(super) fn quantity(value: &Value) -> String {
    match value {
        Value::Null => "0".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What is used of what there is: of requests, and of limits.
fn quota(status: &Value) -> (String, String) {
    let (mut requests, mut limits) = (vec![], vec![]);
    for (resource, hard) in status["hard"].as_object().into_iter().flatten() {
        let text = format!(
            "{resource}: {}/{}",
            quantity(&status["used"][resource]),
            quantity(hard)
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

/// What is measured beside what is wanted, of the first two metrics.
fn metrics(wanted: &[Value], measured: &[Value]) -> String {
    const MOST: usize = 2;
    let one = |(at, metric): (usize, &Value)| {
        let field = match text(metric, "type") {
            "External" => "external",
            "Pods" => "pods",
            "Object" => "object",
            "Resource" => "resource",
            "ContainerResource" => "containerResource",
            _ => return "<unknown type>".to_owned(),
        };
        let current = measured
            .get(at)
            .map_or(&Value::Null, |measured| &measured[field]["current"]);
        let target = &metric[field]["target"];
        let value = |of: &Value, name: &str| of[name].as_str().map(str::to_owned);
        let unknown = || UNKNOWN.to_owned();
        let averaged = value(target, "averageValue");
        let name = text(&metric[field], "name");
        match (field, averaged) {
            ("pods", averaged) => {
                format!(
                    "{}/{}",
                    value(current, "averageValue").unwrap_or_else(unknown),
                    averaged.unwrap_or_default()
                )
            }
            ("external" | "object", Some(averaged)) => {
                format!(
                    "{}/{averaged} (avg)",
                    value(current, "averageValue").unwrap_or_else(unknown)
                )
            }
            ("external" | "object", None) => {
                let wanted = value(target, "value").unwrap_or_default();
                format!("{}/{wanted}", value(current, "value").unwrap_or_else(unknown))
            }
            (_, Some(averaged)) => {
                format!(
                    "{name}: {}/{averaged}",
                    value(current, "averageValue").unwrap_or_else(unknown)
                )
            }
            (_, None) => {
                let percent = |of: &Value| {
                    of["averageUtilization"]
                        .as_i64()
                        .map(|percent| format!("{percent}%"))
                };
                let wanted = percent(target).unwrap_or_else(|| "<auto>".to_owned());
                format!("{name}: {}/{wanted}", percent(current).unwrap_or_else(unknown))
            }
        }
    };
    let texts: Vec<String> = wanted.iter().enumerate().map(one).collect();
    match texts.len() {
        0 => NONE.to_owned(),
        count if count > MOST => format!("{} + {} more...", texts[..MOST].join(", "), count - MOST),
        _ => texts.join(", "),
    }
}

fn event(event: &Value) -> Vec<Value> {
    let at_first = or_else(&event["firstTimestamp"], &event["eventTime"]);
    let first = since(at_first);
    let mut last = match &event["lastTimestamp"] {
        Value::Null => first.clone(),
        time => since(time),
    };
    let mut count = number(&event["count"]).max(1);
    if event["series"].is_object() {
        last = since(&event["series"]["lastObservedTime"]);
        count = number(&event["series"]["count"]);
    }
    let about = &event["involvedObject"];
    let kind = text(about, "kind").to_lowercase();
    let target = match text(about, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = or(
        text(&event["source"], "component"),
        text(event, "reportingComponent"),
    );
    let host = or(text(&event["source"], "host"), text(event, "reportingInstance"));
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
        json!(text(about, "fieldPath")),
        json!(source),
        json!(text(event, "message").trim()),
        json!(first),
        json!(count),
        name(event).clone(),
    ]
}

fn or_else<'a>(first: &'a Value, second: &'a Value) -> &'a Value {
    if first.is_null() { second } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_say_what_is_measured() {
        let wanted = [
            json!({ "type": "Resource", "resource": { "name": "cpu", "target": { "averageUtilization": 80 } } }),
            json!({ "type": "External", "external": { "target": { "averageValue": "5" } } }),
            json!({ "type": "Pods", "pods": { "target": { "averageValue": "1" } } }),
        ];
        let measured = [json!({ "resource": { "current": { "averageUtilization": 7 } } })];
        assert_eq!(metrics(&wanted[..2], &measured), "cpu: 7%/80%, <unknown>/5 (avg)");
        assert_eq!(
            metrics(&wanted, &measured),
            "cpu: 7%/80%, <unknown>/5 (avg) + 1 more..."
        );
        assert_eq!(metrics(&[], &[]), "<none>");
    }

    #[test]
    fn quotas_are_short() {
        let status = json!({ "hard": { "pods": "3", "limits.cpu": "2" }, "used": { "pods": "1" } });
        assert_eq!(
            quota(&status),
            ("pods: 1/3".to_owned(), "limits.cpu: 0/2".to_owned())
        );
    }
}
