//! Validation of PersistentVolumeClaims.

use super::{
    Check, Constraint, FieldRule, changed_fields, container, fields, names, resources, set_or_remove,
    storage, text,
};
use serde_json::Value;

/// The annotation that named the storage class before `storageClassName` existed.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// Returns the storage class of a claim or a volume: the legacy annotation has precedence over the field. Empty if it names none.
pub fn storage_class(object: &Value) -> &str {
    let annotated = object["metadata"]["annotations"][CLASS_ANNOTATION].as_str();
    annotated.unwrap_or_else(|| text(&object["spec"], "storageClassName"))
}

const RESIZE_STATUSES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

pub(super) fn validate_claim(check: &mut Check, claim: &Value, old: Option<&Value>) {
    let spec = &claim["spec"];
    validate_claim_spec(check, spec, "spec");
    if let Some(old) = old {
        validate_claim_update(check, claim, old);
        validate_claim_status(check, &claim["status"]);
    }
}

/// Validates a claim's status: capacity and resizing.
fn validate_claim_status(check: &mut Check, status: &Value) {
    for (name, amount) in fields(&status["capacity"]) {
        check.reject_negative_quantity(amount, &format!("status.capacity[{name}]"));
    }
    for (name, state) in fields(&status["allocatedResourceStatuses"]) {
        let path = "status.allocatedResourceStatuses";
        validate_storage_only(check, name, path);
        if !state
            .as_str()
            .is_some_and(|state| RESIZE_STATUSES.contains(&state))
        {
            check.not_supported(path, name.as_str(), RESIZE_STATUSES);
        }
    }
    let path = "status.allocatedResources";
    for (name, amount) in fields(&status["allocatedResources"]) {
        if validate_storage_only(check, name, path) {
            check.reject_negative_quantity(amount, &format!("{path}[{name}]"));
        }
    }
}

/// Accepts `storage` as the only native resource. Returns whether the name is accepted.
fn validate_storage_only(check: &mut Check, name: &str, path: &str) -> bool {
    let messages = names::qualified_name_errors(name);
    check.push_messages(path, name, &messages);
    let rejected = messages.is_empty() && resources::is_native(name) && name != "storage";
    if rejected {
        check.not_supported(path, name, ["storage"]);
    }
    messages.is_empty() && !rejected
}

#[rustfmt::skip]
const CLAIM_SPEC: &[FieldRule] = &[
    ("selector", Constraint::LabelSelector),
    ("storageClassName", Constraint::OptionalName(names::subdomain_errors)),
    ("volumeMode", Constraint::OneOf(&["Block", "Filesystem"])),
    ("dataSource?", Constraint::Checked(validate_data_source)),
    ("dataSourceRef?", Constraint::Checked(validate_data_source)),
    ("volumeAttributesClassName", Constraint::OptionalName(names::subdomain_errors)),
];
const DATA_SOURCE: &[FieldRule] = &[
    ("name", Constraint::Required("")),
    ("kind", Constraint::Required("")),
    ("apiGroup", Constraint::OptionalName(names::subdomain_errors)),
    ("namespace", Constraint::OptionalName(names::label_errors)),
];

/// Validates the spec of a claim, or of a claim template at a path.
pub(super) fn validate_claim_spec(check: &mut Check, spec: &Value, path: &str) {
    storage::validate_access_modes(check, spec, path, "at least 1 access mode is required");
    check.apply(CLAIM_SPEC, spec, None, path);
    let requested = format!("{path}.resources[storage]");
    match spec["resources"]["requests"].get("storage") {
        None => check.required(&requested, ""),
        Some(size) => {
            if container::quantity_value(size).is_some_and(|size| size <= 0.0) {
                let reason = "must be greater than zero";
                check.invalid(&requested, size.clone(), reason);
            }
        }
    }
    reject_other_data_source(check, spec, path);
}

fn validate_data_source(check: &mut Check, source: &Value, path: &str) {
    check.apply(DATA_SOURCE, source, None, path);
    let kind = text(source, "kind");
    if text(source, "apiGroup").is_empty() && kind != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        check.invalid(path, kind, detail);
    }
}

/// Requires `dataSource` and `dataSourceRef` to match unless the latter names a namespace.
fn reject_other_data_source(check: &mut Check, spec: &Value, path: &str) {
    let (source, reference) = (&spec["dataSource"], &spec["dataSourceRef"]);
    if !source.is_object() || !reference.is_object() {
        return;
    }
    let reason = if !text(reference, "namespace").is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if ["apiGroup", "kind", "name"]
        .iter()
        .any(|name| source[*name] != reference[*name])
    {
        "must match dataSourceRef"
    } else {
        return;
    };
    check.invalid(path, source.clone(), reason);
}

/// Whether a claim without a class may get one: the class of its annotation, if there is one. The annotation is immutable; it may only be
/// removed when the field replaces it.
fn check_class_update(check: &mut Check, claim: &Value, old: &Value) -> bool {
    let annotation = |claim: &Value| {
        claim["metadata"]["annotations"][CLASS_ANNOTATION]
            .as_str()
            .map(str::to_owned)
    };
    let (before, new_value) = (annotation(old), annotation(claim));
    let had_none = old["spec"]["storageClassName"].is_null();
    let class = claim["spec"]["storageClassName"].as_str();
    let fits = had_none && class.is_some() && (before.is_none() || class == before.as_deref());
    let replaced = fits && before.is_some() && (new_value.is_none() || new_value == before);
    if !replaced && before.unwrap_or_default() != new_value.clone().unwrap_or_default() {
        let field = format!("metadata.annotations.{CLASS_ANNOTATION}");
        let value = new_value.unwrap_or_default();
        check.invalid(&field, value, "field is immutable");
    }
    fits
}

/// Validates an update: the spec is immutable, except that a bound claim may request more storage.
fn validate_claim_update(check: &mut Check, claim: &Value, old: &Value) {
    const DETAIL: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
    let bound = old["status"]["phase"] == "Bound";
    let (spec, before) = (&claim["spec"], &old["spec"]);
    let mut munged = spec.clone();
    let mut mutable: Vec<&str> = vec![];
    // Volume name and class may be set once.
    if before.get("volumeName").is_none() {
        mutable.push("volumeName");
    }
    if check_class_update(check, claim, old) {
        mutable.push("storageClassName");
    }
    if bound {
        mutable.push("volumeAttributesClassName");
    }
    if let Some(fields) = munged.as_object_mut() {
        for name in mutable {
            set_or_remove(fields, name, &before[name]);
        }
    }
    // A bound claim may request another size.
    if bound && munged["resources"]["requests"].is_object() {
        munged["resources"]["requests"]["storage"] = before["resources"]["requests"]["storage"].clone();
    }
    if munged != *before {
        let changes = changed_fields(before, &munged, "spec");
        check.forbidden("spec", format!("{DETAIL} {changes}"));
    }
    let size = |size: &Value| container::quantity_value(size).unwrap_or(0.0);
    let requested_size = size(&spec["resources"]["requests"]["storage"]);
    let capacity = size(&old["status"]["capacity"]["storage"]);
    if requested_size < size(&before["resources"]["requests"]["storage"]) && requested_size <= capacity {
        let detail = "field can not be less than status.capacity";
        check.forbidden("spec.resources.requests.storage", detail);
    }
    check.apply(&[("volumeMode", Constraint::Immutable)], spec, Some(before), "");
    let class = text(spec, "volumeAttributesClassName");
    let changes = spec["volumeAttributesClassName"] != before["volumeAttributesClassName"];
    if changes && class.is_empty() && !old["status"]["currentVolumeAttributesClassName"].is_null() {
        let new_value = if spec["volumeAttributesClassName"].is_null() {
            "nil"
        } else {
            "empty string"
        };
        let detail = format!(
            "update to {new_value} is forbidden when status.currentVolumeAttributesClassName is not nil"
        );
        check.forbidden("spec.volumeAttributesClassName", detail);
    }
}
