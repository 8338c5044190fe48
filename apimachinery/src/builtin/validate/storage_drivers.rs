//! Validation of what CSI drivers use: CSIDrivers, CSINodes, CSIStorageCapacities, VolumeAttachments and VolumeAttributesClasses.

use super::container::quantity_value;
use super::projected::TOKEN_EXPIRATION;
use super::{
    Check, Constraint, FieldRule, array, fields, items, names, persistent_volume, storage, text, volume,
};
use serde_json::Value;
use std::collections::BTreeSet;

const IMMUTABLE: &str = "field is immutable";
const MAX_NODE_ID_BYTES: usize = 256;
const MAX_ATTACHMENT_METADATA_BYTES: usize = 256 << 10;
const MAX_ERROR_MESSAGE_BYTES: usize = 1024;

#[rustfmt::skip]
const DRIVER: &[FieldRule] = &[
    ("fsGroupPolicy", Constraint::OneOf(&["File", "None", "ReadWriteOnceWithFSType"])),
    ("volumeLifecycleModes[*]", Constraint::OneOf(&["Persistent", "Ephemeral"])),
    ("nodeAllocatableUpdatePeriodSeconds", Constraint::Within(10, i64::MAX, "must be greater than or equal to 10 seconds")),
    ("attachRequired=attachedRequired", Constraint::Immutable),
    ("volumeLifecycleModes", Constraint::Immutable),
];
#[rustfmt::skip]
const NODE: &[FieldRule] = &[
    ("drivers[].name", Constraint::Checked(volume::validate_driver_name)),
    ("drivers[].name", Constraint::Unique),
    ("drivers[].nodeID", Constraint::Required("")),
    ("drivers[].allocatable.count", Constraint::NonNegative),
    ("drivers[]", Constraint::Checked(validate_node_driver)),
];
const CAPACITY: &[FieldRule] = &[
    ("nodeTopology", Constraint::LabelSelector),
    ("nodeTopology", Constraint::Immutable),
    ("storageClassName", Constraint::Text(names::subdomain_errors)),
    ("storageClassName", Constraint::Immutable),
];
const ERROR_CODE: Constraint = Constraint::Within(0, i64::MAX, "must be between 0 and 2147483647, inclusive");
#[rustfmt::skip]
const ATTACHMENT: &[FieldRule] = &[
    ("spec.attacher", Constraint::Checked(volume::validate_driver_name)),
    ("spec.nodeName", Constraint::Text(names::subdomain_errors)),
    ("spec.source.persistentVolumeName", Constraint::Format(names::subdomain_errors)),
    ("status.attachmentMetadata", Constraint::Checked(limit_attachment_metadata)),
    ("status.attachError.message", Constraint::Checked(limit_error_message)),
    ("status.attachError.errorCode", ERROR_CODE),
    ("status.detachError.message", Constraint::Checked(limit_error_message)),
    ("status.detachError.errorCode", ERROR_CODE),
    ("spec", Constraint::Immutable),
];

pub(super) fn validate_driver(check: &mut Check, driver: &Value, old: Option<&Value>) {
    let spec = &driver["spec"];
    check.apply(DRIVER, spec, old.map(|old| &old["spec"]), "spec");
    let mut audiences = BTreeSet::new();
    for (request, path) in items(spec, "tokenRequests", "spec") {
        let audience = text(request, "audience");
        if audiences.insert(audience) {
            check.apply(TOKEN_EXPIRATION, request, None, &path);
        } else {
            check.duplicate(&format!("{path}.audience"), audience);
        }
    }
    if !spec["serviceAccountTokenInSecrets"].is_null() && audiences.is_empty() {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        let value = spec["serviceAccountTokenInSecrets"].clone();
        check.invalid("spec.serviceAccountTokenInSecrets", value, detail);
    }
}

pub(super) fn validate_node(check: &mut Check, node: &Value, old: Option<&Value>) {
    check.apply(NODE, &node["spec"], None, "spec");
    let drivers = |node: &Value| node["spec"]["drivers"].as_array().cloned().unwrap_or_default();
    let without_count = |driver: &Value| {
        let mut driver = driver.clone();
        driver["allocatable"] = Value::Null;
        driver
    };
    for before in old.map(drivers).unwrap_or_default() {
        for now in drivers(node) {
            if now["name"] == before["name"] && without_count(&now) != without_count(&before) {
                check.invalid("spec.drivers", without_count(&now), IMMUTABLE);
            }
        }
    }
}

fn validate_node_driver(check: &mut Check, driver: &Value, path: &str) {
    let id = text(driver, "nodeID");
    if id.len() > MAX_NODE_ID_BYTES {
        let detail = format!("must be {MAX_NODE_ID_BYTES} characters or less");
        check.invalid(&format!("{path}.nodeID"), id, detail);
    }
    let mut keys = BTreeSet::new();
    for key in array(&driver["topologyKeys"]) {
        let key = key.as_str().unwrap_or_default();
        if key.is_empty() {
            check.required(path, "");
        }
        if !keys.insert(key) {
            check.duplicate(path, key);
        }
        check.validate_format(path, key, names::qualified_name_errors);
    }
}

pub(super) fn validate_capacity(check: &mut Check, capacity: &Value, old: Option<&Value>) {
    check.apply(CAPACITY, capacity, old, "");
    let amount = &capacity["capacity"];
    if quantity_value(amount).is_some_and(|amount| amount < 0.0) {
        check.invalid("capacity", amount.clone(), "must be greater than or equal to 0");
    }
}

pub(super) fn validate_attachment(
    check: &mut Check,
    attachment: &Value,
    old: Option<&Value>,
    subresource: &str,
) {
    check.apply(ATTACHMENT, attachment, old.filter(|_| subresource.is_empty()), "");
    let source = &attachment["spec"]["source"];
    let (inline, volume) = (
        &source["inlineVolumeSpec"],
        source["persistentVolumeName"].as_str(),
    );
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (inline.is_null(), volume) {
        (true, None) => check.required("spec.source", one),
        (false, Some(_)) => check.forbidden("spec.source", one),
        (false, None) => {
            persistent_volume::validate_inline_volume(check, inline, "spec.source.inlineVolumeSpec");
        }
        (true, Some("")) => {
            let detail = "must specify non empty persistentVolumeName";
            check.required("spec.source.persistentVolumeName", detail);
        }
        _ => {}
    }
}

/// Limits the size of the metadata of an attachment.
fn limit_attachment_metadata(check: &mut Check, metadata: &Value, path: &str) {
    let sizes = fields(metadata).map(|(key, value)| key.len() + value.as_str().map_or(0, str::len));
    if sizes.sum::<usize>() > MAX_ATTACHMENT_METADATA_BYTES {
        check.too_long(path, MAX_ATTACHMENT_METADATA_BYTES);
    }
}

/// Limits the message of an error. What kube-apiserver says of one that is too long names the limit of the metadata.
fn limit_error_message(check: &mut Check, message: &Value, path: &str) {
    if message
        .as_str()
        .is_some_and(|message| message.len() > MAX_ERROR_MESSAGE_BYTES)
    {
        check.too_long(path, MAX_ATTACHMENT_METADATA_BYTES);
    }
}

pub(super) fn validate_attributes_class(check: &mut Check, class: &Value, old: Option<&Value>) {
    for name in ["driverName", "parameters"] {
        if old.is_some_and(|old| old[name] != class[name]) {
            let detail = format!("updates to {name} are forbidden.");
            check.forbidden(name, detail);
        }
    }
    storage::validate_provisioner(check, &class["driverName"], "driverName");
    storage::validate_parameters(check, &class["parameters"]);
    if fields(&class["parameters"]).next().is_none() {
        check.required("parameters", "must contain at least one key/value pair");
    }
}
