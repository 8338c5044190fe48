//! Validation of container statuses and of the statuses of resource claims.

use super::{Check, Constraint, FieldRule, array, items, names, security, text};
use serde_json::Value;
use std::collections::BTreeSet;

/// The lists of statuses with the lists of containers that they belong to.
const STATUS_LISTS: [(&str, &str); 3] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
];

const USER: &[FieldRule] = &[
    ("uid", security::ID),
    ("gid", security::ID),
    ("supplementalGroups[]", security::ID),
];

#[rustfmt::skip]
const CLAIM_STATUSES: &[FieldRule] = &[
    ("resourceClaimStatuses[].name", Constraint::Unique),
    ("resourceClaimStatuses[].resourceClaimName", Constraint::Format(names::subdomain_errors)),
];
#[rustfmt::skip]
const ALLOCATED_RESOURCE: &[FieldRule] = &[
    ("resources[].health", Constraint::Only(&["Healthy", "Unhealthy", "Unknown"])),
    ("resources[].message?", Constraint::Required("must be non-empty if specified")),
    ("resources[].message", Constraint::MaxBytes(1024)),
    ("resources[].resourceID", Constraint::Unique),
];
#[rustfmt::skip]
const EXTENDED_CLAIM: &[FieldRule] = &[
    ("requestMappings", Constraint::Required("at least one request mapping is required")),
    ("resourceClaimName", Constraint::Named(names::subdomain_errors)),
];

/// Rejects the restart of terminated containers unless their restart policy allows it.
pub(super) fn reject_container_restarts(check: &mut Check, pod: &Value, old: &Value) {
    let spec = &old["spec"];
    let restarts_all = ["initContainers", "containers"].iter().any(|list| {
        let mut rules =
            items(spec, list, "").flat_map(|(declared, path)| items(declared, "restartPolicyRules", &path));
        rules.any(|(rule, _)| text(rule, "action") == "RestartAllContainers")
    });
    for (statuses, list) in STATUS_LISTS {
        let is_ephemeral = list == "ephemeralContainers";
        for (before, path) in items(&old["status"], statuses, "status") {
            let ended = &before["state"]["terminated"];
            let now = items(&pod["status"], statuses, "").map(|(now, _)| now);
            let runs = |now: &&Value| now["name"] == before["name"] && now["state"]["terminated"].is_null();
            if ended.is_null() || now.filter(runs).count() == 0 || !is_ephemeral && restarts_all {
                continue;
            }
            let code = ended["exitCode"].as_i64().unwrap_or_default();
            let container = items(spec, list, "").find(|(declared, _)| declared["name"] == before["name"]);
            if is_ephemeral || container.is_none_or(|(declared, _)| !may_restart(declared, spec, code)) {
                let detail = "may not be transitioned to non-terminated state";
                check.forbidden(&format!("{path}.state"), detail);
            }
        }
    }
}

/// Whether a container restarts after this exit code: by the first matching rule, its own policy, or the pod's.
fn may_restart(container: &Value, spec: &Value, code: i64) -> bool {
    let own = container["restartPolicy"].as_str();
    let fits = |rule: &Value| {
        let codes = &rule["exitCodes"];
        let named = array(&codes["values"]).iter().any(|value| *value == code);
        match text(codes, "operator") {
            "In" => named,
            "NotIn" => !named,
            _ => false,
        }
    };
    if own.is_some() && items(container, "restartPolicyRules", "").any(|(rule, _)| fits(rule)) {
        return true;
    }
    match own.unwrap_or_else(|| text(spec, "restartPolicy")) {
        "OnFailure" => code != 0,
        policy => policy != "Never",
    }
}

/// Validates the statuses of resource claims.
pub(super) fn validate_resource_claim_statuses(check: &mut Check, pod: &Value) {
    check.apply(CLAIM_STATUSES, &pod["status"], None, "status");
    for (status, path) in items(&pod["status"], "resourceClaimStatuses", "status") {
        let (name, field) = (text(status, "name"), format!("{path}.name"));
        if !items(&pod["spec"], "resourceClaims", "").any(|(claim, _)| text(claim, "name") == name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            check.invalid(&field, name, detail);
        }
    }
    let (extended, path) = (
        &pod["status"]["extendedResourceClaimStatus"],
        "status.extendedResourceClaimStatus",
    );
    if extended.is_object() {
        validate_request_mappings(check, extended, &pod["spec"], path);
    }
}

/// Validates the mapping of requests of a claim to extended resources of containers.
fn validate_request_mappings(check: &mut Check, extended: &Value, spec: &Value, path: &str) {
    check.apply(EXTENDED_CLAIM, extended, None, path);
    let mut seen = BTreeSet::new();
    for (mapping, at) in items(extended, "requestMappings", path) {
        let [container, resource, request] =
            ["containerName", "resourceName", "requestName"].map(|name| text(mapping, name));
        // Of two containers with the same name the later one counts; init containers come first.
        let lists = ["initContainers", "containers"].into_iter();
        let found = lists
            .flat_map(|list| items(spec, list, ""))
            .filter(|(declared, _)| text(declared, "name") == container);
        match found.last() {
            None => {
                let detail =
                    "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                check.invalid(&format!("{at}.containerName"), container, detail);
            }
            Some((declared, _)) if declared["resources"]["requests"][resource].is_null() => {
                let detail = "must match the extended resource name of an entry in \
                              spec.initContainers.resources.requests or spec.containers.resources.requests";
                check.invalid(&format!("{at}.resourceName"), resource, detail);
            }
            Some(_) => {}
        }
        check.validate_format(&format!("{path}.requestName"), request, names::label_errors);
        if !seen.insert((container, resource, request)) {
            for (name, value) in [
                ("containerName", container),
                ("resourceName", resource),
                ("requestName", request),
            ] {
                check.duplicate(&format!("{at}.{name}"), value);
            }
        }
    }
}

/// Validates the user of containers and the health of their devices.
pub(super) fn validate_container_statuses(check: &mut Check, pod: &Value) {
    let status = &pod["status"];
    let of_windows = pod["spec"]["os"]["name"] == "windows";
    for (statuses, _) in STATUS_LISTS {
        for (container, path) in items(status, statuses, "status") {
            let (user, path) = (&container["user"]["linux"], format!("{path}.user.linux"));
            if of_windows && user.is_object() {
                check.forbidden(&path, "cannot be set for a windows pod");
            } else {
                check.apply(USER, user, None, &path);
            }
        }
    }
    for (statuses, list) in STATUS_LISTS {
        for (container, path) in items(status, statuses, "status") {
            if list == "ephemeralContainers" {
                if !array(&container["allocatedResourcesStatus"]).is_empty() {
                    let detail = "must not be specified in container status";
                    check.forbidden(&format!("{path}.allocatedResourcesStatus"), detail);
                }
                continue;
            }
            let mut declared = array(&pod["spec"][list]).iter();
            let container_spec = declared.find(|declared| declared["name"] == container["name"]);
            for (resource, path) in items(container, "allocatedResourcesStatus", &path) {
                validate_allocated_resource_status(check, resource, container_spec, &path);
            }
        }
    }
}

/// Validates the status of an allocated resource: it must be one that the container requests.
fn validate_allocated_resource_status(
    check: &mut Check,
    resource: &Value,
    container: Option<&Value>,
    path: &str,
) {
    let name = text(resource, "name");
    if let Some(container) = container {
        let claimed = |claim: &Value| match text(claim, "request") {
            "" => name == format!("claim:{}", text(claim, "name")),
            request => name == format!("claim:{}/{request}", text(claim, "name")),
        };
        let resources = &container["resources"];
        let (found, detail) = if name.starts_with("claim:") {
            (
                items(resources, "claims", "").any(|(claim, _)| claimed(claim)),
                "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' \
                 or 'claim:<claimName>' if request is empty",
            )
        } else {
            (
                !resources["requests"][name].is_null(),
                "must match one of the container's resource requests",
            )
        };
        if !found {
            check.invalid(&format!("{path}.name"), name, detail);
        }
    }
    check.apply(ALLOCATED_RESOURCE, resource, None, path);
}
