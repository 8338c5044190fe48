//! Validation of what CSI drivers use: CSIDrivers, CSINodes, CSIStorageCapacities, VolumeAttachments and VolumeAttributesClasses.

use super::container::quantity_value;
use super::{Check, items, names, storage, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

const IMMUTABLE: &str = "field is immutable";
const MAX_NODE_ID_BYTES: usize = 256;
const MIN_TOKEN_SECONDS: i64 = 600;
const MAX_TOKEN_SECONDS: i64 = 1 << 32;
const MIN_UPDATE_PERIOD_SECONDS: i64 = 10;

pub(super) fn validate_driver(check: &mut Check, driver: &Value, old: Option<&Value>) {
    let spec = &driver["spec"];
    check.require_supported(
        spec,
        "fsGroupPolicy",
        "spec",
        &["File", "None", "ReadWriteOnceWithFSType"],
    );
    let mut audiences = BTreeSet::new();
    for (request, path) in items(spec, "tokenRequests", "spec") {
        let audience = text(request, "audience");
        if !audiences.insert(audience) {
            check.push(FieldError::duplicate(&format!("{path}.audience"), audience));
            continue;
        }
        let seconds = request["expirationSeconds"].as_i64().unwrap_or(MIN_TOKEN_SECONDS);
        let detail = match seconds {
            ..MIN_TOKEN_SECONDS => "may not specify a duration less than 10 minutes",
            MIN_TOKEN_SECONDS..=MAX_TOKEN_SECONDS => continue,
            _ => "may not specify a duration larger than 2^32 seconds",
        };
        let field = format!("{path}.expirationSeconds");
        check.push(FieldError::invalid(&field, seconds, detail));
    }
    for mode in spec["volumeLifecycleModes"].as_array().into_iter().flatten() {
        let known = ["Persistent", "Ephemeral"];
        if let Some(mode) = mode.as_str().filter(|mode| !known.contains(mode)) {
            check.push(FieldError::not_supported(
                "spec.volumeLifecycleModes",
                mode,
                known,
            ));
        }
    }
    let period = spec["nodeAllocatableUpdatePeriodSeconds"].as_i64();
    if let Some(seconds) = period.filter(|seconds| *seconds < MIN_UPDATE_PERIOD_SECONDS) {
        let detail = "must be greater than or equal to 10 seconds";
        check.push(FieldError::invalid(
            "spec.nodeAllocatableUpdatePeriodSeconds",
            seconds,
            detail,
        ));
    }
    if !spec["serviceAccountTokenInSecrets"].is_null() && audiences.is_empty() {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        let value = spec["serviceAccountTokenInSecrets"].clone();
        check.push(FieldError::invalid(
            "spec.serviceAccountTokenInSecrets",
            value,
            detail,
        ));
    }
    let Some(old) = old else { return };
    for (name, field) in [
        ("attachRequired", "spec.attachedRequired"),
        ("volumeLifecycleModes", "spec.volumeLifecycleModes"),
    ] {
        if spec[name] != old["spec"][name] {
            check.push(FieldError::invalid(field, spec[name].clone(), IMMUTABLE));
        }
    }
}

pub(super) fn validate_node(check: &mut Check, node: &Value, old: Option<&Value>) {
    let spec = &node["spec"];
    let mut known = BTreeSet::new();
    for (driver, path) in items(spec, "drivers", "spec") {
        let name = text(driver, "name");
        validate_driver_name(check, name, &format!("{path}.name"));
        let (id, field) = (text(driver, "nodeID"), format!("{path}.nodeID"));
        check.require(&Value::from(id), &field);
        if id.len() > MAX_NODE_ID_BYTES {
            let detail = format!("must be {MAX_NODE_ID_BYTES} characters or less");
            check.push(FieldError::invalid(&field, id, detail));
        }
        check.require_non_negative(&driver["allocatable"], &["count"], &format!("{path}.allocatable"));
        if !known.insert(name) {
            check.push(FieldError::duplicate(&format!("{path}.name"), name));
        }
        let mut keys = BTreeSet::new();
        for key in driver["topologyKeys"].as_array().into_iter().flatten() {
            let key = key.as_str().unwrap_or_default();
            if key.is_empty() {
                check.push(FieldError::required(&path, ""));
            }
            if !keys.insert(key) {
                check.push(FieldError::duplicate(&path, key));
            }
            check.push_messages(&path, key, &names::qualified_name_errors(key));
        }
    }
    let drivers = |node: &Value| node["spec"]["drivers"].as_array().cloned().unwrap_or_default();
    let without_count = |driver: &Value| {
        let mut driver = driver.clone();
        driver["allocatable"] = Value::Null;
        driver
    };
    for before in old.map(drivers).unwrap_or_default() {
        for now in drivers(node) {
            if now["name"] == before["name"] && without_count(&now) != without_count(&before) {
                check.push(FieldError::invalid(
                    "spec.drivers",
                    without_count(&now),
                    IMMUTABLE,
                ));
            }
        }
    }
}

/// Validates the name of a CSI driver.
fn validate_driver_name(check: &mut Check, name: &str, path: &str) {
    const MAX_BYTES: usize = 63;
    if name.is_empty() {
        check.push(FieldError::required(path, ""));
        return;
    }
    check.limit_bytes(name, MAX_BYTES, path);
    let lower = name.to_lowercase();
    check.push_messages(path, name, &names::subdomain_errors(&lower));
}

pub(super) fn validate_capacity(check: &mut Check, capacity: &Value, old: Option<&Value>) {
    check.validate_label_selector(&capacity["nodeTopology"], "nodeTopology");
    let class = text(capacity, "storageClassName");
    check.push_messages("storageClassName", class, &names::subdomain_errors(class));
    let amount = &capacity["capacity"];
    if quantity_value(amount).is_some_and(|amount| amount < 0.0) {
        let detail = "must be greater than or equal to 0";
        check.push(FieldError::invalid("capacity", amount.clone(), detail));
    }
    let Some(old) = old else { return };
    for name in ["nodeTopology", "storageClassName"] {
        if capacity[name] != old[name] {
            check.push(FieldError::invalid(name, capacity[name].clone(), IMMUTABLE));
        }
    }
}

pub(super) fn validate_attachment(
    check: &mut Check,
    attachment: &Value,
    old: Option<&Value>,
    subresource: &str,
) {
    let spec = &attachment["spec"];
    validate_driver_name(check, text(spec, "attacher"), "spec.attacher");
    let (inline, volume) = (
        &spec["source"]["inlineVolumeSpec"],
        spec["source"]["persistentVolumeName"].as_str(),
    );
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (inline.is_null(), volume) {
        (true, None) => check.push(FieldError::required("spec.source", one)),
        (false, Some(_)) => check.push(FieldError::forbidden("spec.source", one)),
        (true, Some("")) => {
            let detail = "must specify non empty persistentVolumeName";
            check.push(FieldError::required("spec.source.persistentVolumeName", detail));
        }
        _ => {}
    }
    let node = text(spec, "nodeName");
    check.push_messages("spec.nodeName", node, &names::subdomain_errors(node));
    for name in ["attachError", "detachError"] {
        let error = &attachment["status"][name];
        if let Some(code) = error["errorCode"].as_i64().filter(|code| *code < 0) {
            let detail = format!("must be between 0 and {}, inclusive", i32::MAX);
            check.push(FieldError::invalid(
                &format!("status.{name}.errorCode"),
                code,
                detail,
            ));
        }
    }
    if let Some(volume) = volume {
        check.push_messages(
            "spec.source.persistentVolumeName",
            volume,
            &names::subdomain_errors(volume),
        );
    }
    if let Some(old) = old.filter(|_| subresource.is_empty())
        && old["spec"] != *spec
    {
        check.push(FieldError::invalid("spec", spec.clone(), IMMUTABLE));
    }
}

pub(super) fn validate_attributes_class(check: &mut Check, class: &Value, old: Option<&Value>) {
    for name in ["driverName", "parameters"] {
        if old.is_some_and(|old| old[name] != class[name]) {
            let detail = format!("updates to {name} are forbidden.");
            check.push(FieldError::forbidden(name, detail));
        }
    }
    let driver = text(class, "driverName");
    if check.require(&class["driverName"], "driverName") {
        let lower = driver.to_lowercase();
        check.push_messages("driverName", &lower, &names::qualified_name_errors(&lower));
    }
    storage::validate_parameters(check, &class["parameters"]);
    if class["parameters"]
        .as_object()
        .is_none_or(serde_json::Map::is_empty)
    {
        check.push(FieldError::required(
            "parameters",
            "must contain at least one key/value pair",
        ));
    }
}
