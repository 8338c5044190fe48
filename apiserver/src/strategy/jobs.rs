//! The strategy of Jobs: a job selects its pods by its uid.

use crate::meta;
use serde_json::{Value, json};

/// Sets the selector of a new job and the labels of its template.
pub(super) fn prepare(job: &mut Value, old: Option<&Value>) {
    let (uid, name) = (meta::uid(job).to_owned(), meta::name(job).to_owned());
    let spec = meta::entry_mut(job, "spec");
    if old.is_some() || spec.get("manualSelector").is_some_and(|manual| manual == true) || uid.is_empty() {
        return;
    }
    let selector = spec.entry("selector").or_insert_with(|| json!({}));
    meta::entry_mut(selector, "matchLabels")
        .entry("batch.kubernetes.io/controller-uid")
        .or_insert(json!(uid));
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
