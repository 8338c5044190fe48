//! The defaults and bounds of one limit range.

use crate::builtin::{ResourceList, aggregate_container_resources, quantity_value, resource_list};
use crate::meta;
use serde_json::{Value, json};

/// The annotation that lists the values that were set by default.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// A pod's lists of containers, with their names in messages.
const CONTAINER_LISTS: [(&str, &str); 2] =
    [("containers", "container"), ("initContainers", "init container")];

/// Sets the default requests and limits of a pod's containers, and lists them in an annotation.
pub(super) fn default_container_resources(pod: &mut Value, range: &Value) {
    let limits = items_of_type(range, "Container");
    let mut messages = vec![];
    for (list, list_label) in CONTAINER_LISTS {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            let name = meta::text(container, "name").to_owned();
            let mut fill = |field: &str, default: &str, what: &str| {
                let current = resource_list(&container["resources"][field]);
                let mut defaults = ResourceList::new();
                for limit in &limits {
                    defaults.extend(resource_list(&limit[default]));
                }
                defaults.retain(|resource, _| !current.contains_key(resource));
                if defaults.is_empty() {
                    return;
                }
                let mut names: Vec<&str> = defaults.keys().map(String::as_str).collect();
                names.sort_unstable();
                messages.push(format!("{} {what} for {list_label} {name}", names.join(", ")));
                let all: ResourceList = current.into_iter().chain(defaults).collect();
                meta::entry_mut(container, "resources").insert(field.to_owned(), all.into());
            };
            fill("requests", "defaultRequest", "request");
            fill("limits", "default", "limit");
        }
    }
    if !messages.is_empty() {
        let messages = format!("LimitRanger plugin set: {}", messages.join("; "));
        let metadata = meta::entry_mut(pod, "metadata");
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations[ANNOTATION] = messages.into();
    }
}

/// Returns the messages about violations of a limit range by a pod or a claim, without duplicates.
pub(super) fn limit_range_errors(kind: &str, object: &Value, range: &Value) -> Vec<String> {
    let mut messages = if kind == "Pod" {
        pod_errors(object, range)
    } else {
        claim_errors(object, range)
    };
    let mut seen = std::collections::BTreeSet::new();
    messages.retain(|message| seen.insert(message.clone()));
    messages
}

fn claim_errors(claim: &Value, range: &Value) -> Vec<String> {
    let requests = resource_list(&claim["spec"]["resources"]["requests"]);
    let mut messages = vec![];
    for limit in items_of_type(range, "PersistentVolumeClaim") {
        let none = ResourceList::new();
        messages.extend(bound_errors(limit, "min", |bound| {
            bound.min_error(&requests, &none)
        }));
        messages.extend(bound_errors(limit, "max", |bound| {
            bound.max_request_error(&requests)
        }));
    }
    messages
}

fn pod_errors(pod: &Value, range: &Value) -> Vec<String> {
    let mut messages = vec![];
    let mut check = |limit: &Value, requests: &ResourceList, limits: &ResourceList| {
        messages.extend(bound_errors(limit, "min", |bound| {
            bound.min_error(requests, limits)
        }));
        messages.extend(bound_errors(limit, "max", |bound| {
            bound.max_error(requests, limits)
        }));
        messages.extend(bound_errors(limit, "maxLimitRequestRatio", |bound| {
            bound.ratio_error(requests, limits)
        }));
    };
    for limit in range["spec"]["limits"].as_array().into_iter().flatten() {
        if limit["type"] == "Container" {
            for (list, _) in CONTAINER_LISTS {
                for container in pod["spec"][list].as_array().into_iter().flatten() {
                    let resources = &container["resources"];
                    let (requests, limits) = (
                        resource_list(&resources["requests"]),
                        resource_list(&resources["limits"]),
                    );
                    check(limit, &requests, &limits);
                }
            }
        } else if limit["type"] == "Pod" {
            let aggregate = |list: &str| -> ResourceList {
                let own = resource_list(&pod["spec"]["resources"][list]);
                aggregate_container_resources(&pod["spec"], list)
                    .into_iter()
                    .chain(own)
                    .collect()
            };
            check(limit, &aggregate("requests"), &aggregate("limits"));
        }
    }
    messages
}

/// A limit range's bound for one resource.
struct ResourceBound<'l> {
    limit_type: &'l str,
    resource: &'l str,
    value: &'l Value,
}

fn bound_errors<'l>(
    limit: &'l Value,
    field: &str,
    message: impl Fn(&ResourceBound<'l>) -> Option<String>,
) -> Vec<String> {
    let limit_type = meta::text(limit, "type");
    let bounds = limit[field].as_object().into_iter().flatten();
    let messages = bounds.filter_map(|(resource, value)| {
        message(&ResourceBound {
            limit_type,
            resource,
            value,
        })
    });
    messages.collect()
}

impl ResourceBound<'_> {
    fn min_error(&self, requests: &ResourceList, limits: &ResourceList) -> Option<String> {
        let is_under = |value: &Value| milli_value(value) < milli_value(self.value);
        let Some(request) = requests.get(self.resource) else {
            return self.usage_error("minimum", ".  No request is specified");
        };
        let limit = limits.get(self.resource);
        if is_under(request) {
            return self.usage_error("minimum", &format!(", but request is {}", as_text(request)));
        }
        let limit = limit.filter(|limit| is_under(limit))?;
        self.usage_error("minimum", &format!(", but limit is {}", as_text(limit)))
    }

    fn max_error(&self, requests: &ResourceList, limits: &ResourceList) -> Option<String> {
        let Some(limit) = limits.get(self.resource) else {
            return self.usage_error("maximum", ".  No limit is specified");
        };
        if self.is_exceeded(limit) {
            return self.usage_error("maximum", &format!(", but limit is {}", as_text(limit)));
        }
        let request = requests
            .get(self.resource)
            .filter(|request| self.is_exceeded(request))?;
        self.usage_error("maximum", &format!(", but request is {}", as_text(request)))
    }

    /// For claims, which have requests only.
    fn max_request_error(&self, requests: &ResourceList) -> Option<String> {
        let Some(request) = requests.get(self.resource) else {
            return self.usage_error("maximum", ".  No request is specified");
        };
        let is_over = self.is_exceeded(request);
        is_over.then(|| self.usage_error("maximum", &format!(", but request is {}", as_text(request))))?
    }

    /// Checks the ratio of limit to request.
    fn ratio_error(&self, requests: &ResourceList, limits: &ResourceList) -> Option<String> {
        let value = |amounts: &ResourceList| amounts.get(self.resource).map_or(0.0, milli_value);
        let (request, limit) = (value(requests), value(limits));
        let missing = |what: &str| format!("no {what} is specified or {what} is 0");
        let explanation = if request == 0.0 {
            missing("request")
        } else if limit == 0.0 {
            missing("limit")
        } else if limit / request * 1000.0 > milli_value(self.value) {
            format!("provided ratio is {:.6}", limit / request)
        } else {
            return None;
        };
        let (resource, limit_type, max_ratio) = (self.resource, self.limit_type, as_text(self.value));
        Some(format!(
            "{resource} max limit to request ratio per {limit_type} is {max_ratio}, but {explanation}"
        ))
    }

    fn is_exceeded(&self, value: &Value) -> bool {
        milli_value(value) > milli_value(self.value)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the callers return an option")]
    fn usage_error(&self, bound_name: &str, explanation: &str) -> Option<String> {
        let (resource, limit_type, value) = (self.resource, self.limit_type, as_text(self.value));
        Some(format!(
            "{bound_name} {resource} usage per {limit_type} is {value}{explanation}"
        ))
    }
}

/// Returns the items of a limit range for one type: containers, pods or claims.
fn items_of_type<'r>(range: &'r Value, limit_type: &str) -> Vec<&'r Value> {
    let limits = range["spec"]["limits"].as_array().into_iter().flatten();
    limits.filter(|limit| limit["type"] == limit_type).collect()
}

/// Returns a quantity in thousandths, rounded up, which is the precision of comparisons.
fn milli_value(quantity: &Value) -> f64 {
    (quantity_value(quantity).unwrap_or(0.0) * 1000.0).ceil()
}

fn as_text(quantity: &Value) -> &str {
    quantity.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(resources: &Value) -> Value {
        json!({ "spec": { "containers": [{ "name": "c", "resources": resources }], "initContainers": [{ "name": "n" }] } })
    }

    fn range(limit: &Value) -> Value {
        json!({ "spec": { "limits": [limit] } })
    }

    #[test]
    fn containers_get_default_requests_and_limits() {
        let default = json!({ "cpu": "1", "memory": "1Gi" });
        let range =
            range(&json!({ "type": "Container", "default": default, "defaultRequest": { "cpu": "2" } }));
        let mut pod = pod(&json!({ "limits": { "cpu": "3" } }));
        default_container_resources(&mut pod, &range);
        let resources = json!({ "limits": { "cpu": "3", "memory": "1Gi" }, "requests": { "cpu": "2" } });
        assert_eq!(pod["spec"]["containers"][0]["resources"], resources);
        assert_eq!(pod["spec"]["initContainers"][0]["resources"]["limits"], default);
        let messages = "LimitRanger plugin set: cpu request for container c; memory limit for container c; \
                    cpu request for init container n; cpu, memory limit for init container n";
        assert_eq!(pod["metadata"]["annotations"][ANNOTATION], messages);
        let filled = pod.clone();
        default_container_resources(&mut pod, &range);
        assert_eq!(pod, filled);
    }

    #[test]
    fn limit_ranges_are_enforced() {
        let messages =
            |limit: &Value, resources: &Value| limit_range_errors("Pod", &pod(resources), &range(limit));
        let max = json!({ "type": "Pod", "max": { "cpu": "1" } });
        let limits = |cpu: &str| json!({ "limits": { "cpu": cpu } });
        assert_eq!(messages(&max, &limits("1000m")), [""; 0]);
        assert_eq!(
            messages(&max, &limits("1001m")),
            ["maximum cpu usage per Pod is 1, but limit is 1001m"]
        );
        // Both containers violate it, but the message is reported once.
        let min = json!({ "type": "Container", "min": { "memory": "1Mi" } });
        assert_eq!(
            messages(&min, &limits("1")),
            ["minimum memory usage per Container is 1Mi.  No request is specified"]
        );
        let ratio = json!({ "type": "Pod", "maxLimitRequestRatio": { "cpu": "1500m" } });
        let twice = json!({ "limits": { "cpu": "1" }, "requests": { "cpu": "500m" } });
        assert_eq!(
            messages(&ratio, &twice),
            ["cpu max limit to request ratio per Pod is 1500m, but provided ratio is 2.000000"]
        );
        let claim = json!({ "spec": { "resources": { "requests": { "storage": "2Gi" } } } });
        let bound = json!({ "type": "PersistentVolumeClaim", "max": { "storage": "1Gi" } });
        assert_eq!(
            limit_range_errors("PersistentVolumeClaim", &claim, &range(&bound)),
            ["maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"]
        );
    }
}
