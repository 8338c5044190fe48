//! What runs pods: selectors that select the template, and do not change.

use crate::kinds::Kind;
use crate::meta::names;
use crate::selectors::LabelSelector;
use crate::status::Cause;
use serde_json::{Value, json};

pub(super) fn check(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = vec![];
    let spec = &object["spec"];
    if kind.kind == "ControllerRevision" {
        return causes;
    }
    if kind.kind == "CronJob" {
        check_template(
            &spec["jobTemplate"]["spec"]["template"],
            "spec.jobTemplate.spec.template",
            &mut causes,
        );
        if spec["schedule"].as_str().is_none_or(str::is_empty) {
            causes.push(Cause::required("spec.schedule", ""));
        }
        return causes;
    }
    for count in ["replicas", "parallelism", "completions", "backoffLimit"] {
        if spec[count].as_i64().is_some_and(|count| count < 0) {
            let why = "must be greater than or equal to 0";
            causes.push(Cause::invalid(format!("spec.{count}"), &spec[count], why));
        }
    }
    let empty = |selector: &Value| {
        selector["matchLabels"]
            .as_object()
            .is_none_or(serde_json::Map::is_empty)
            && selector["matchExpressions"].as_array().is_none_or(Vec::is_empty)
    };
    if spec["selector"].is_null() {
        causes.push(Cause::required("spec.selector", ""));
        if kind.kind == "Deployment" {
            causes.push(unselected(spec));
        }
    } else if empty(&spec["selector"]) {
        let why = format!("empty selector is invalid for {}", kind.kind.to_lowercase());
        causes.push(Cause::invalid("spec.selector", &spec["selector"], why));
    } else if let Some(selector) = LabelSelector::from_value(&spec["selector"]) {
        let labels = &spec["template"]["metadata"]["labels"];
        if !selector.matches_labels(labels.as_object()) {
            causes.push(unselected(spec));
        }
    }
    check_template(&spec["template"], "spec.template", &mut causes);
    if kind.kind == "Job" {
        let policy = &spec["template"]["spec"]["restartPolicy"];
        if policy == "Always" {
            let why = "valid values: \"OnFailure\", \"Never\"";
            causes.push(Cause::required("spec.template.spec.restartPolicy", why));
        }
    }
    if let Some(old) = old {
        let fixed: &[&str] = match kind.kind.as_str() {
            "Job" => &["selector", "template"],
            _ => &["selector"],
        };
        for field in fixed {
            if old["spec"][*field] != spec[*field] {
                causes.push(Cause::invalid(
                    format!("spec.{field}"),
                    &spec[*field],
                    "field is immutable",
                ));
            }
        }
    }
    causes
}

fn unselected(spec: &Value) -> Cause {
    let labels = &spec["template"]["metadata"]["labels"];
    let why = "`selector` does not match template `labels`";
    Cause::invalid("spec.template.metadata.labels", labels, why)
}

pub(super) fn check_pod(pod: &Value) -> Vec<Cause> {
    let mut causes = vec![];
    check_spec(&pod["spec"], "spec", &mut causes);
    causes
}

fn check_template(template: &Value, path: &str, causes: &mut Vec<Cause>) {
    check_spec(&template["spec"], &format!("{path}.spec"), causes);
}

fn check_spec(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let containers = spec["containers"].as_array().map_or(&[][..], Vec::as_slice);
    if containers.is_empty() {
        causes.push(Cause::required(format!("{path}.containers"), ""));
    }
    let mut seen = vec![];
    for (at, container) in containers.iter().enumerate() {
        let path = format!("{path}.containers[{at}]");
        let text = |key: &str| container[key].as_str().unwrap_or_default();
        let name = text("name");
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        } else if seen.contains(&name) {
            let message = format!("Duplicate value: {}", json!(name));
            causes.push(Cause::new("FieldValueDuplicate", format!("{path}.name"), message));
        } else {
            for why in names::label(name) {
                causes.push(Cause::invalid(format!("{path}.name"), &container["name"], why));
            }
        }
        seen.push(name);
        if text("image").is_empty() {
            causes.push(Cause::required(format!("{path}.image"), ""));
        }
    }
    let policy = &spec["restartPolicy"];
    let known = ["Always", "OnFailure", "Never"];
    if policy.as_str().is_some_and(|policy| !known.contains(&policy)) {
        causes.push(Cause::not_supported(
            format!("{path}.restartPolicy"),
            policy,
            &known,
        ));
    }
}
