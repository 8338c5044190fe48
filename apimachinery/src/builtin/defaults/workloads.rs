//! Conditional defaults of workloads with a pod template.

use super::ObjectFields;
use serde_json::{Value, json};

pub(super) fn default_replication_controller(object: &mut ObjectFields) {
    let Some(labels) = template_labels(object) else {
        return;
    };
    default_labels(object, &labels);
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("selector").or_insert(labels);
    }
}

pub(super) fn default_job(job: &mut ObjectFields) {
    if let Some(labels) = template_labels(job) {
        default_labels(job, &labels);
    }
    let Some(spec) = job.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        spec.insert("completions".to_owned(), json!(1));
    }
    spec.entry("parallelism").or_insert_with(|| json!(1));
    let per_index = spec.contains_key("backoffLimitPerIndex");
    spec.entry("backoffLimit")
        .or_insert_with(|| if per_index { json!(i32::MAX) } else { json!(6) });
    let replacement = if spec.contains_key("podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    spec.entry("podReplacementPolicy")
        .or_insert_with(|| replacement.into());
    for name in ["manualSelector", "suspend"] {
        spec.entry(name).or_insert(Value::Bool(false));
    }
    spec.entry("completionMode")
        .or_insert_with(|| "NonIndexed".into());
}

fn template_labels(object: &ObjectFields) -> Option<Value> {
    let labels = object
        .get("spec")?
        .get("template")?
        .get("metadata")?
        .get("labels")?;
    labels
        .as_object()
        .is_some_and(|labels| !labels.is_empty())
        .then(|| labels.clone())
}

fn default_labels(object: &mut ObjectFields, labels: &Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("labels").or_insert_with(|| labels.clone());
    }
}
