//! Claims of volumes.

use super::{Check, container, fields, names, resources, storage, text};
use crate::field::FieldError;
use crate::types;
use serde_json::Value;

/// Which class a claim is of, before there was a field for it.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

const RESIZING: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

pub(super) fn claim(check: &mut Check, claim: &Value, old: Option<&Value>) {
    let spec = &claim["spec"];
    claimed(check, spec, "spec");
    if let Some(old) = old {
        claim_update(check, claim, old);
        given(check, &claim["status"]);
    }
}

/// What a claim was given, and is about to be.
fn given(check: &mut Check, status: &Value) {
    for (name, amount) in fields(&status["capacity"]) {
        check.no_negative_amount(amount, &format!("status.capacity[{name}]"));
    }
    for (name, state) in fields(&status["allocatedResourceStatuses"]) {
        let path = "status.allocatedResourceStatuses";
        storage_alone(check, name, path);
        if !state.as_str().is_some_and(|state| RESIZING.contains(&state)) {
            check.push(FieldError::not_supported(path, name.as_str(), RESIZING));
        }
    }
    let path = "status.allocatedResources";
    for (name, amount) in fields(&status["allocatedResources"]) {
        if storage_alone(check, name, path) {
            check.no_negative_amount(amount, &format!("{path}[{name}]"));
        }
    }
}

/// Of what is Kubernetes' own there is storage.
fn storage_alone(check: &mut Check, name: &str, path: &str) -> bool {
    let messages = names::qualified(name);
    check.messages(path, name, &messages);
    let refused = messages.is_empty() && resources::is_native(name) && name != "storage";
    if refused {
        check.push(FieldError::not_supported(path, name, ["storage"]));
    }
    messages.is_empty() && !refused
}

/// What a claim claims, or a template of claims at a path.
pub(super) fn claimed(check: &mut Check, spec: &Value, path: &str) {
    storage::modes(check, spec, path, "at least 1 access mode is required");
    check.selector(&spec["selector"], &format!("{path}.selector"));
    let requested = format!("{path}.resources[storage]");
    match spec["resources"]["requests"].get("storage") {
        None => check.push(FieldError::required(&requested, "")),
        Some(size) => {
            if container::amount(size).is_some_and(|size| size <= 0.0) {
                let why = "must be greater than zero";
                check.push(FieldError::invalid(&requested, size.clone(), why));
            }
        }
    }
    if let Some(class) = spec["storageClassName"]
        .as_str()
        .filter(|class| !class.is_empty())
    {
        check.messages(
            &format!("{path}.storageClassName"),
            class,
            &names::subdomain(class),
        );
    }
    check.one_of(spec, "volumeMode", path, &["Block", "Filesystem"]);
    sources(check, spec, path);
    let class = text(spec, "volumeAttributesClassName");
    if !class.is_empty() {
        let field = format!("{path}.volumeAttributesClassName");
        check.messages(&field, class, &names::subdomain(class));
    }
}

/// What a claim is filled from: the same in both fields, unless it lies in another namespace.
fn sources(check: &mut Check, spec: &Value, path: &str) {
    for name in ["dataSource", "dataSourceRef"] {
        let (source, field) = (&spec[name], format!("{path}.{name}"));
        if !source.is_object() {
            continue;
        }
        let (kind, group) = (text(source, "kind"), text(source, "apiGroup"));
        for name in ["name", "kind"] {
            check.required(&Value::from(text(source, name)), &format!("{field}.{name}"));
        }
        if !group.is_empty() {
            check.messages(&format!("{field}.apiGroup"), group, &names::subdomain(group));
        } else if kind != "PersistentVolumeClaim" {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            check.push(FieldError::invalid(&field, kind, detail));
        }
        let namespace = text(source, "namespace");
        if !namespace.is_empty() {
            check.messages(&format!("{field}.namespace"), namespace, &names::label(namespace));
        }
    }
    let (source, reference) = (&spec["dataSource"], &spec["dataSourceRef"]);
    if !source.is_object() || !reference.is_object() {
        return;
    }
    let why = if !text(reference, "namespace").is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if ["apiGroup", "kind", "name"]
        .iter()
        .any(|name| source[*name] != reference[*name])
    {
        "must match dataSourceRef"
    } else {
        return;
    };
    // The real server shows its own idea of the field here.
    check.push(FieldError::invalid(path, "", why).showing("{}".to_owned()));
}

/// Whether a claim without a class may have this one: the one that its annotation names, where that stands for it. The annotation stays;
/// it may only go when the field takes its place.
fn may_be_given_class(check: &mut Check, claim: &Value, old: &Value) -> bool {
    let annotation = |claim: &Value| {
        claim["metadata"]["annotations"][CLASS]
            .as_str()
            .map(str::to_owned)
    };
    let (before, now) = (annotation(old), annotation(claim));
    let had_none = old["spec"]["storageClassName"].is_null();
    let class = claim["spec"]["storageClassName"].as_str();
    let fits = had_none && class.is_some() && (before.is_none() || class == before.as_deref());
    let replaced = fits && before.is_some() && (now.is_none() || now == before);
    if !replaced && before.unwrap_or_default() != now.clone().unwrap_or_default() {
        let field = format!("metadata.annotations.{CLASS}");
        let value = now.unwrap_or_default();
        check.push(FieldError::invalid(&field, value, "field is immutable"));
    }
    fits
}

/// A claim is what it was; one that is bound may ask for more.
fn claim_update(check: &mut Check, claim: &Value, old: &Value) {
    const DETAIL: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
    let bound = old["status"]["phase"] == "Bound";
    let (spec, before) = (&claim["spec"], &old["spec"]);
    let mut munged = spec.clone();
    let mut kept: Vec<&str> = vec![];
    // A volume and a class may be given once.
    if before.get("volumeName").is_none() {
        kept.push("volumeName");
    }
    if may_be_given_class(check, claim, old) {
        kept.push("storageClassName");
    }
    if bound {
        kept.push("volumeAttributesClassName");
    }
    if let Some(fields) = munged.as_object_mut() {
        for name in kept {
            match before.get(name) {
                Some(value) => fields.insert(name.to_owned(), value.clone()),
                None => fields.remove(name),
            };
        }
    }
    // One that is bound may ask for another size.
    if bound && munged["resources"]["requests"].is_object() {
        munged["resources"]["requests"]["storage"] = before["resources"]["requests"]["storage"].clone();
    }
    if munged != *before {
        let munged = check.empties.restored(&munged, "spec");
        let difference = types::difference(before, &munged, "core.PersistentVolumeClaimSpec");
        check.push(FieldError::forbidden("spec", format!("{DETAIL}\n{difference}")));
    }
    let size = |size: &Value| container::amount(size).unwrap_or(0.0);
    let wanted = size(&spec["resources"]["requests"]["storage"]);
    let capacity = size(&old["status"]["capacity"]["storage"]);
    if wanted < size(&before["resources"]["requests"]["storage"]) && wanted <= capacity {
        let detail = "field can not be less than status.capacity";
        check.push(FieldError::forbidden("spec.resources.requests.storage", detail));
    }
    if spec["volumeMode"] != old["spec"]["volumeMode"] {
        check.push(FieldError::invalid(
            "volumeMode",
            spec["volumeMode"].clone(),
            "field is immutable",
        ));
    }
    let class = text(spec, "volumeAttributesClassName");
    let changes = spec["volumeAttributesClassName"] != before["volumeAttributesClassName"];
    if changes && class.is_empty() && !old["status"]["currentVolumeAttributesClassName"].is_null() {
        let now = if spec["volumeAttributesClassName"].is_null() {
            "nil"
        } else {
            "empty string"
        };
        let detail =
            format!("update to {now} is forbidden when status.currentVolumeAttributesClassName is not nil");
        check.push(FieldError::forbidden("spec.volumeAttributesClassName", detail));
    }
}
