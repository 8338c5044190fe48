//! What is said of a pod's containers and of the devices that it claims.

use super::{Check, items, names, security, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

/// A list of statuses, and the containers that they are about.
const LISTS: [(&str, &str); 3] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
];

/// What has ended runs again only where the pod says so.
pub(super) fn restarts(check: &mut Check, pod: &Value, old: &Value) {
    let spec = &old["spec"];
    let restarts_all = ["initContainers", "containers"].iter().any(|list| {
        let mut rules = items(spec, list, "").flat_map(|(one, path)| items(one, "restartPolicyRules", &path));
        rules.any(|(rule, _)| text(rule, "action") == "RestartAllContainers")
    });
    for (statuses, list) in LISTS {
        let is_peek = list == "ephemeralContainers";
        for (before, path) in items(&old["status"], statuses, "status") {
            let ended = &before["state"]["terminated"];
            let now = items(&pod["status"], statuses, "").map(|(now, _)| now);
            let runs = |now: &&Value| now["name"] == before["name"] && now["state"]["terminated"].is_null();
            let again = now.filter(runs).count();
            if ended.is_null() || again == 0 || !is_peek && restarts_all {
                continue;
            }
            let code = ended["exitCode"].as_i64().unwrap_or_default();
            let container = items(spec, list, "").find(|(one, _)| one["name"] == before["name"]);
            let may = !is_peek && container.is_some_and(|(one, _)| may_restart(one, spec, code));
            if may {
                continue;
            }
            // Of those for a look inside each is told of.
            let times = if is_peek { again } else { 1 };
            for _ in 0..times {
                let detail = "may not be transitioned to non-terminated state";
                check.push(FieldError::forbidden(&format!("{path}.state"), detail));
            }
        }
    }
}

/// Whether a container starts again after it ended like that: by the first rule that fits, its own policy, or the pod's.
fn may_restart(container: &Value, spec: &Value, code: i64) -> bool {
    let own = container["restartPolicy"].as_str();
    let fits = |rule: &Value| {
        let codes = &rule["exitCodes"];
        let named = codes["values"]
            .as_array()
            .is_some_and(|values| values.iter().any(|value| *value == code));
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

/// Which claims were made for the pod.
pub(super) fn claims(check: &mut Check, pod: &Value) {
    let mut seen = BTreeSet::new();
    for (status, path) in items(&pod["status"], "resourceClaimStatuses", "status") {
        let (name, field) = (text(status, "name"), format!("{path}.name"));
        if !items(&pod["spec"], "resourceClaims", "").any(|(claim, _)| text(claim, "name") == name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            check.push(FieldError::invalid(&field, name, detail));
        }
        if !seen.insert(name) {
            check.push(FieldError::duplicate(&field, name));
        }
        if let Some(claim) = status["resourceClaimName"].as_str() {
            check.messages(
                &format!("{path}.resourceClaimName"),
                claim,
                &names::subdomain(claim),
            );
        }
    }
    let (extended, path) = (
        &pod["status"]["extendedResourceClaimStatus"],
        "status.extendedResourceClaimStatus",
    );
    if extended.is_object() {
        mappings(check, extended, &pod["spec"], path);
    }
}

/// Which request of a claim stands for which resource of which container.
fn mappings(check: &mut Check, extended: &Value, spec: &Value, path: &str) {
    if items(extended, "requestMappings", path).next().is_none() {
        let detail = "at least one request mapping is required";
        check.push(FieldError::required(&format!("{path}.requestMappings"), detail));
    }
    let mut seen = BTreeSet::new();
    for (mapping, at) in items(extended, "requestMappings", path) {
        let [container, resource, request] =
            ["containerName", "resourceName", "requestName"].map(|name| text(mapping, name));
        // Of two with a name the later one counts, and they begin after those that prepare.
        let lists = ["initContainers", "containers"].into_iter();
        let found = lists
            .flat_map(|list| items(spec, list, ""))
            .filter(|(one, _)| text(one, "name") == container);
        match found.last() {
            None => {
                let detail =
                    "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                check.push(FieldError::invalid(
                    &format!("{at}.containerName"),
                    container,
                    detail,
                ));
            }
            Some((one, _)) if one["resources"]["requests"][resource].is_null() => {
                let detail = "must match the extended resource name of an entry in \
                              spec.initContainers.resources.requests or spec.containers.resources.requests";
                check.push(FieldError::invalid(
                    &format!("{at}.resourceName"),
                    resource,
                    detail,
                ));
            }
            Some(_) => {}
        }
        check.messages(&format!("{path}.requestName"), request, &names::label(request));
        if !seen.insert((container, resource, request)) {
            for (name, value) in [
                ("containerName", container),
                ("resourceName", resource),
                ("requestName", request),
            ] {
                check.push(FieldError::duplicate(&format!("{at}.{name}"), value));
            }
        }
    }
    let (claim, field) = (
        text(extended, "resourceClaimName"),
        format!("{path}.resourceClaimName"),
    );
    if check.required(&Value::from(claim), &field) {
        check.messages(&field, claim, &names::subdomain(claim));
    }
}

/// As whom containers run, and how the devices are that they have.
pub(super) fn containers(check: &mut Check, pod: &Value) {
    let status = &pod["status"];
    let of_windows = pod["spec"]["os"]["name"] == "windows";
    for (statuses, _) in LISTS {
        for (container, path) in items(status, statuses, "status") {
            let (user, path) = (&container["user"]["linux"], format!("{path}.user.linux"));
            if of_windows && user.is_object() {
                check.push(FieldError::forbidden(&path, "cannot be set for a windows pod"));
            } else {
                security::ids(check, user, &["uid", "gid"], &path);
                for (group, path) in items(user, "supplementalGroups", &path) {
                    security::id(check, group, &path);
                }
            }
        }
    }
    for (statuses, list) in LISTS {
        for (container, path) in items(status, statuses, "status") {
            if list == "ephemeralContainers" {
                if items(container, "allocatedResourcesStatus", &path)
                    .next()
                    .is_some()
                {
                    let detail = "must not be specified in container status";
                    check.push(FieldError::forbidden(
                        &format!("{path}.allocatedResourcesStatus"),
                        detail,
                    ));
                }
                continue;
            }
            let about = items(&pod["spec"], list, "").find(|(one, _)| one["name"] == container["name"]);
            for (resource, path) in items(container, "allocatedResourcesStatus", &path) {
                allocated(check, resource, about.as_ref().map(|(one, _)| *one), &path);
            }
        }
    }
}

/// A resource that a container has: one that it asked for, and how each piece of it is.
fn allocated(check: &mut Check, resource: &Value, container: Option<&Value>, path: &str) {
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
            check.push(FieldError::invalid(&format!("{path}.name"), name, detail));
        }
    }
    let mut seen = BTreeSet::new();
    for (piece, path) in items(resource, "resources", path) {
        const KNOWN: [&str; 3] = ["Healthy", "Unhealthy", "Unknown"];
        const MOST: usize = 1024;
        let (id, health) = (text(piece, "resourceID"), text(piece, "health"));
        if !KNOWN.contains(&health) {
            check.push(FieldError::not_supported(
                &format!("{path}.health"),
                health,
                KNOWN,
            ));
        }
        let field = format!("{path}.message");
        match piece["message"].as_str() {
            Some("") => check.push(FieldError::required(&field, "must be non-empty if specified")),
            message => check.no_longer(message.unwrap_or_default(), MOST, &field),
        }
        if !seen.insert(id) {
            check.push(FieldError::duplicate(&format!("{path}.resourceID"), id));
        }
    }
}
