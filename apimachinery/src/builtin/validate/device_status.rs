//! Validation of the status of ResourceClaims.

use super::device_fields::{
    limited_items, reject_duplicates, validate_binding_conditions, validate_configuration,
    validate_parameters, validate_pool_name, validate_uid,
};
use super::devices::RequestNames;
use super::{
    Check, Constraint, FieldRule, addresses, array, child, conditions, items, names, node_selector, text,
    volume,
};
use crate::field::FieldError;
use crate::meta::is_being_deleted;
use crate::quote;
use serde_json::Value;
use std::collections::BTreeSet;

const MAX_CONSUMERS: usize = 256;
const MAX_RESULTS: usize = 32;
const MAX_CONFIGURATIONS: usize = 64;
const MAX_CONDITIONS: usize = 8;
const MAX_ADDRESSES: usize = 16;

#[rustfmt::skip]
const CONSUMER: &[FieldRule] = &[
    ("resource", Constraint::Required("")),
    ("name", Constraint::Required("")),
    ("uid", Constraint::Required("")),
];
/// The fields that identify a device of a claim.
#[rustfmt::skip]
const DEVICE: &[FieldRule] = &[
    ("driver", Constraint::Checked(volume::validate_driver_name)),
    ("pool", Constraint::Checked(validate_pool_name)),
    ("device", Constraint::Text(names::label_errors)),
];
const SHARE: &[FieldRule] = &[(
    "shareID?",
    Constraint::Checked(|check, uid, path| validate_uid(check, uid.as_str().unwrap_or_default(), path)),
)];
const SOURCE: &[FieldRule] = &[("source", Constraint::RequiredOneOf(&["FromClaim", "FromClass"]))];
#[rustfmt::skip]
const NETWORK: &[FieldRule] = &[
    ("interfaceName", Constraint::MaxBytes(256)),
    ("hardwareAddress", Constraint::MaxBytes(128)),
];

/// Validates an update of the status, where `claim` has the spec and metadata of the stored claim.
pub(super) fn validate_claim_status(check: &mut Check, claim: &Value, old: &Value) {
    let (status, before) = (&claim["status"], &old["status"]);
    let consumers = limited_items(check, status, "reservedFor", MAX_CONSUMERS, "status");
    for (consumer, path) in &consumers {
        check.apply(CONSUMER, consumer, None, path);
    }
    reject_duplicates(check, &consumers, |consumer| text(consumer, "uid"));
    validate_devices(check, status);
    validate_reservation(check, claim, before);
    match (&status["allocation"], &before["allocation"]) {
        (Value::Null, _) => {}
        (allocation, Value::Null) => {
            validate_allocation(check, allocation, &RequestNames::of(&claim["spec"]));
        }
        (allocation, before) if allocation != before => {
            check.invalid("status.allocation", allocation.clone(), "field is immutable");
        }
        _ => {}
    }
}

/// A claim is reserved only while it is allocated, and not for anything new while it is deleted.
fn validate_reservation(check: &mut Check, claim: &Value, before: &Value) {
    let (path, consumers) = ("status.reservedFor", array(&claim["status"]["reservedFor"]));
    if consumers.is_empty() {
        return;
    }
    if claim["status"]["allocation"].is_null() {
        check.forbidden(path, "may not be specified when `allocated` is not set");
    } else if is_being_deleted(claim)
        && consumers
            .iter()
            .any(|consumer| !array(&before["reservedFor"]).contains(consumer))
    {
        let detail =
            "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
        check.forbidden(path, detail);
    }
}

/// Returns the identity of a device as messages show it: driver, pool, name and share.
fn identity(device: &Value) -> String {
    let fields = [
        ("Driver", "driver"),
        ("Pool", "pool"),
        ("Device", "device"),
        ("ShareID", "shareID"),
    ];
    let fields =
        fields.map(|(shown, name)| format!("\"{shown}\":{}", quote::json(&text(device, name).into())));
    format!("{{{}}}", fields.join(","))
}

fn validate_devices(check: &mut Check, status: &Value) {
    let results = array(&status["allocation"]["devices"]["results"]).iter();
    let allocated: BTreeSet<String> = results.map(identity).collect();
    for (device, path) in items(status, "devices", "status") {
        check.apply(DEVICE, device, None, &path);
        check.apply(SHARE, device, None, &path);
        let identity = identity(device);
        if !allocated.contains(&identity) {
            let detail = "must be an allocated device in the claim";
            let mut error = FieldError::invalid(&path, Value::Null, detail);
            error.value = Some(identity);
            check.push(error);
        }
        check.limit_items(&device["conditions"], MAX_CONDITIONS, &child(&path, "conditions"));
        conditions::validate_conditions(check, device, &path);
        if !device["data"].is_null() {
            validate_parameters(check, &device["data"], false, &child(&path, "data"));
        }
        validate_network_data(check, &device["networkData"], &child(&path, "networkData"));
    }
    let mut seen = BTreeSet::new();
    for (device, path) in items(status, "devices", "status") {
        let identity = identity(device);
        if !seen.insert(identity.clone()) {
            let mut error = FieldError::duplicate(&path, Value::Null);
            error.value = Some(identity);
            check.push(error);
        }
    }
}

fn validate_network_data(check: &mut Check, data: &Value, path: &str) {
    check.apply(NETWORK, data, None, path);
    let addresses = limited_items(check, data, "ips", MAX_ADDRESSES, path);
    for (address, path) in &addresses {
        let address = address.as_str().unwrap_or_default();
        if let Some(detail) = addresses::interface_address_error(address) {
            check.invalid(path, address, detail);
        }
    }
    reject_duplicates(check, &addresses, |address| address.as_str().unwrap_or_default());
}

fn validate_allocation(check: &mut Check, allocation: &Value, names: &RequestNames<'_>) {
    let (devices, path) = (&allocation["devices"], "status.allocation.devices");
    for (result, path) in limited_items(check, devices, "results", MAX_RESULTS, path) {
        names.validate_reference(check, text(result, "request"), &child(&path, "request"));
        check.apply(DEVICE, result, None, &path);
        validate_binding_conditions(check, result, &path);
        check.apply(SHARE, result, None, &path);
    }
    for (config, path) in limited_items(check, devices, "config", MAX_CONFIGURATIONS, path) {
        check.apply(SOURCE, config, None, &path);
        names.validate_references(check, config, &path);
        validate_configuration(check, config, false, &path);
    }
    let selector = &allocation["nodeSelector"];
    if !selector.is_null() {
        node_selector::validate_node_selector(check, selector, "status.allocation.nodeSelector");
    }
}
