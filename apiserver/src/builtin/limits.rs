//! Limit ranges: what containers get that say nothing of what they need, and how much containers, pods and claims may ask for.

use super::amount;
use super::pod_resources::of_containers;
use crate::meta;
use serde_json::{Map, Value, json};

type Amounts = Map<String, Value>;

/// Where it is said what was filled in.
const TOLD: &str = "kubernetes.io/limit-ranger";

/// Where a pod has containers, and what they are called.
const CONTAINERS: [(&str, &str); 2] = [("containers", "container"), ("initContainers", "init container")];

/// Fills in what containers of a pod do not say, and tells of it in an annotation.
pub(crate) fn fill_limits(pod: &mut Value, range: &Value) {
    let limits = limits(range, "Container");
    let mut told = vec![];
    for (list, called) in CONTAINERS {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            let name = meta::text(container, "name").to_owned();
            let mut fill = |field: &str, default: &str, what: &str| {
                let said = amounts(&container["resources"][field]);
                let mut defaults = Amounts::new();
                for limit in &limits {
                    defaults.extend(amounts(&limit[default]));
                }
                defaults.retain(|resource, _| !said.contains_key(resource));
                if defaults.is_empty() {
                    return;
                }
                let mut names: Vec<&str> = defaults.keys().map(String::as_str).collect();
                names.sort_unstable();
                told.push(format!("{} {what} for {called} {name}", names.join(", ")));
                let all: Amounts = said.into_iter().chain(defaults).collect();
                meta::entry_mut(container, "resources").insert(field.to_owned(), all.into());
            };
            fill("requests", "defaultRequest", "request");
            fill("limits", "default", "limit");
        }
    }
    if !told.is_empty() {
        let told = format!("LimitRanger plugin set: {}", told.join("; "));
        let metadata = meta::entry_mut(pod, "metadata");
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations[TOLD] = told.into();
    }
}

/// How a pod or a claim breaks a range.
pub(crate) fn limit_faults(kind: &str, object: &Value, range: &Value) -> Vec<String> {
    let mut faults = if kind == "Pod" {
        of_pod(object, range)
    } else {
        of_claim(object, range)
    };
    let mut told = std::collections::BTreeSet::new();
    faults.retain(|fault| told.insert(fault.clone()));
    faults
}

fn of_claim(claim: &Value, range: &Value) -> Vec<String> {
    let asked = amounts(&claim["spec"]["resources"]["requests"]);
    let mut faults = vec![];
    for limit in limits(range, "PersistentVolumeClaim") {
        let none = Amounts::new();
        faults.extend(each(limit, "min", |bound| bound.under(&asked, &none)));
        faults.extend(each(limit, "max", |bound| bound.over_alone(&asked)));
    }
    faults
}

fn of_pod(pod: &Value, range: &Value) -> Vec<String> {
    let mut faults = vec![];
    let mut check = |limit: &Value, requests: &Amounts, most: &Amounts| {
        faults.extend(each(limit, "min", |bound| bound.under(requests, most)));
        faults.extend(each(limit, "max", |bound| bound.over(requests, most)));
        faults.extend(each(limit, "maxLimitRequestRatio", |bound| {
            bound.apart(requests, most)
        }));
    };
    for limit in range["spec"]["limits"].as_array().into_iter().flatten() {
        if limit["type"] == "Container" {
            for (list, _) in CONTAINERS {
                for container in pod["spec"][list].as_array().into_iter().flatten() {
                    let resources = &container["resources"];
                    let (requests, most) = (amounts(&resources["requests"]), amounts(&resources["limits"]));
                    check(limit, &requests, &most);
                }
            }
        } else if limit["type"] == "Pod" {
            let whole = |list: &str| -> Amounts {
                let own = amounts(&pod["spec"]["resources"][list]);
                of_containers(&pod["spec"], list).into_iter().chain(own).collect()
            };
            check(limit, &whole("requests"), &whole("limits"));
        }
    }
    faults
}

/// What one limit says of one resource.
struct Bound<'l> {
    about: &'l str,
    resource: &'l str,
    value: &'l Value,
}

fn each<'l>(limit: &'l Value, field: &str, fault: impl Fn(&Bound<'l>) -> Option<String>) -> Vec<String> {
    let about = meta::text(limit, "type");
    let bounds = limit[field].as_object().into_iter().flatten();
    let faults = bounds.filter_map(|(resource, value)| {
        fault(&Bound {
            about,
            resource,
            value,
        })
    });
    faults.collect()
}

impl Bound<'_> {
    fn under(&self, requests: &Amounts, limits: &Amounts) -> Option<String> {
        let is_under = |value: &Value| thousandths(value) < thousandths(self.value);
        let Some(request) = requests.get(self.resource) else {
            return self.told("minimum", ".  No request is specified");
        };
        let limit = limits.get(self.resource);
        if is_under(request) {
            return self.told("minimum", &format!(", but request is {}", shown(request)));
        }
        let limit = limit.filter(|limit| is_under(limit))?;
        self.told("minimum", &format!(", but limit is {}", shown(limit)))
    }

    fn over(&self, requests: &Amounts, limits: &Amounts) -> Option<String> {
        let Some(limit) = limits.get(self.resource) else {
            return self.told("maximum", ".  No limit is specified");
        };
        if self.is_exceeded(limit) {
            return self.told("maximum", &format!(", but limit is {}", shown(limit)));
        }
        let request = requests
            .get(self.resource)
            .filter(|request| self.is_exceeded(request))?;
        self.told("maximum", &format!(", but request is {}", shown(request)))
    }

    /// Of what knows no limits.
    fn over_alone(&self, requests: &Amounts) -> Option<String> {
        let Some(request) = requests.get(self.resource) else {
            return self.told("maximum", ".  No request is specified");
        };
        let is_over = self.is_exceeded(request);
        is_over.then(|| self.told("maximum", &format!(", but request is {}", shown(request))))?
    }

    /// How many times the request the limit may be.
    fn apart(&self, requests: &Amounts, limits: &Amounts) -> Option<String> {
        let value = |amounts: &Amounts| amounts.get(self.resource).map_or(0.0, thousandths);
        let (request, limit) = (value(requests), value(limits));
        let lacking = |what: &str| format!("no {what} is specified or {what} is 0");
        let why = if request == 0.0 {
            lacking("request")
        } else if limit == 0.0 {
            lacking("limit")
        } else if limit / request * 1000.0 > thousandths(self.value) {
            format!("provided ratio is {:.6}", limit / request)
        } else {
            return None;
        };
        let (resource, about, most) = (self.resource, self.about, shown(self.value));
        Some(format!(
            "{resource} max limit to request ratio per {about} is {most}, but {why}"
        ))
    }

    fn is_exceeded(&self, value: &Value) -> bool {
        thousandths(value) > thousandths(self.value)
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is what its callers give")]
    fn told(&self, which: &str, why: &str) -> Option<String> {
        let (resource, about, value) = (self.resource, self.about, shown(self.value));
        Some(format!("{which} {resource} usage per {about} is {value}{why}"))
    }
}

/// The limits of a range that are about containers, pods or claims.
fn limits<'r>(range: &'r Value, about: &str) -> Vec<&'r Value> {
    let limits = range["spec"]["limits"].as_array().into_iter().flatten();
    limits.filter(|limit| limit["type"] == about).collect()
}

fn amounts(value: &Value) -> Amounts {
    value.as_object().cloned().unwrap_or_default()
}

/// Quantities are compared in thousandths, rounded up.
fn thousandths(quantity: &Value) -> f64 {
    (amount(quantity).unwrap_or(0.0) * 1000.0).ceil()
}

fn shown(quantity: &Value) -> &str {
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
    fn containers_get_what_they_do_not_say() {
        let default = json!({ "cpu": "1", "memory": "1Gi" });
        let range =
            range(&json!({ "type": "Container", "default": default, "defaultRequest": { "cpu": "2" } }));
        let mut pod = pod(&json!({ "limits": { "cpu": "3" } }));
        fill_limits(&mut pod, &range);
        let resources = json!({ "limits": { "cpu": "3", "memory": "1Gi" }, "requests": { "cpu": "2" } });
        assert_eq!(pod["spec"]["containers"][0]["resources"], resources);
        assert_eq!(pod["spec"]["initContainers"][0]["resources"]["limits"], default);
        let told = "LimitRanger plugin set: cpu request for container c; memory limit for container c; \
                    cpu request for init container n; cpu, memory limit for init container n";
        assert_eq!(pod["metadata"]["annotations"][TOLD], told);
        let filled = pod.clone();
        fill_limits(&mut pod, &range);
        assert_eq!(pod, filled);
    }

    #[test]
    fn bounds_hold() {
        let faults = |limit: &Value, resources: &Value| limit_faults("Pod", &pod(resources), &range(limit));
        let max = json!({ "type": "Pod", "max": { "cpu": "1" } });
        let most = |cpu: &str| json!({ "limits": { "cpu": cpu } });
        assert_eq!(faults(&max, &most("1000m")), [""; 0]);
        assert_eq!(
            faults(&max, &most("1001m")),
            ["maximum cpu usage per Pod is 1, but limit is 1001m"]
        );
        // Of both containers, and told once.
        let min = json!({ "type": "Container", "min": { "memory": "1Mi" } });
        assert_eq!(
            faults(&min, &most("1")),
            ["minimum memory usage per Container is 1Mi.  No request is specified"]
        );
        let ratio = json!({ "type": "Pod", "maxLimitRequestRatio": { "cpu": "1500m" } });
        let twice = json!({ "limits": { "cpu": "1" }, "requests": { "cpu": "500m" } });
        assert_eq!(
            faults(&ratio, &twice),
            ["cpu max limit to request ratio per Pod is 1500m, but provided ratio is 2.000000"]
        );
        let claim = json!({ "spec": { "resources": { "requests": { "storage": "2Gi" } } } });
        let bound = json!({ "type": "PersistentVolumeClaim", "max": { "storage": "1Gi" } });
        assert_eq!(
            limit_faults("PersistentVolumeClaim", &claim, &range(&bound)),
            ["maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"]
        );
    }
}
