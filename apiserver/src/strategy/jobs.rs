//! The strategy of Jobs: a job selects its pods by its uid.

use crate::meta;
use serde_json::{Value, json};

/// Sets defaults, selector and labels of a job.
pub(super) fn prepare(job: &mut Value, old: Option<&Value>) {
    let (uid, name) = (meta::uid(job).to_owned(), meta::name(job).to_owned());
    let spec = meta::entry_mut(job, "spec");
    let indexed = spec.get("completionMode").is_some_and(|mode| mode == "Indexed");
    let is_unset = |key: &str| spec.get(key).is_none_or(Value::is_null);
    if is_unset("completions") && is_unset("parallelism") && !indexed {
        spec.insert("completions".into(), json!(1));
        spec.insert("parallelism".into(), json!(1));
    } else if is_unset("parallelism") {
        spec.insert("parallelism".into(), json!(1));
    }
    for (key, value) in [
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
        ("manualSelector", json!(false)),
    ] {
        spec.entry(key).or_insert(value);
    }
    if old.is_some() || spec.get("manualSelector").is_some_and(|manual| manual == true) || uid.is_empty() {
        return;
    }
    let selector = spec.entry("selector").or_insert_with(|| json!({}));
    {
        let selected = meta::entry_mut(selector, "matchLabels");
        selected
            .entry("batch.kubernetes.io/controller-uid")
            .or_insert(json!(uid));
    }
    let template = meta::entry_mut(job, "spec")
        .entry("template")
        .or_insert_with(|| json!({}));
    let labels = meta::entry_mut(meta::entry_mut_any(template, "metadata"), "labels");
    for (key, value) in [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ] {
        // Validation rejects other values.
        labels.entry(key).or_insert(json!(value));
    }
}
