//! Validation of webhook configurations.

use super::url::Url;
use super::{Check, items, names, text};
use crate::cel;
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

/// The versions of AdmissionReview that kube-apiserver supports.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MAX_MATCH_CONDITIONS: usize = 64;

pub(super) fn validate_configuration(check: &mut Check, configuration: &Value) {
    let mut known = BTreeSet::new();
    for (index, hook) in configuration["webhooks"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let path = format!("webhooks[{index}]");
        validate_webhook(check, hook, &path);
        validate_review_versions(
            check,
            &hook["admissionReviewVersions"],
            &format!("{path}.admissionReviewVersions"),
        );
        require_unique_name(check, hook, &mut known, &path);
    }
}

/// Rejects duplicate names.
fn require_unique_name<'a>(check: &mut Check, named: &'a Value, known: &mut BTreeSet<&'a str>, path: &str) {
    let name = text(named, "name");
    if !name.is_empty() && !known.insert(name) {
        check.push(FieldError::duplicate(&format!("{path}.name"), name));
    }
}

fn validate_webhook(check: &mut Check, hook: &Value, path: &str) {
    validate_full_name(check, &hook["name"], &format!("{path}.name"));
    for (rule, path) in items(hook, "rules", path) {
        validate_rule(check, rule, &path);
    }
    check.require_supported(hook, "failurePolicy", path, &["Fail", "Ignore"]);
    check.require_supported(hook, "matchPolicy", path, &["Equivalent", "Exact"]);
    if hook["sideEffects"].is_null() {
        let detail = "must specify one of None, NoneOnDryRun";
        check.push(FieldError::required(&format!("{path}.sideEffects"), detail));
    }
    check.require_supported(hook, "sideEffects", path, &["None", "NoneOnDryRun"]);
    let seconds = hook["timeoutSeconds"].as_i64();
    if let Some(seconds) = seconds.filter(|seconds| !(1..=30).contains(seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        check.push(FieldError::invalid(
            &format!("{path}.timeoutSeconds"),
            seconds,
            detail,
        ));
    }
    for name in ["namespaceSelector", "objectSelector"] {
        check.validate_label_selector(&hook[name], &format!("{path}.{name}"));
    }
    check.require_supported(hook, "reinvocationPolicy", path, &["IfNeeded", "Never"]);
    validate_client_config(check, &hook["clientConfig"], &format!("{path}.clientConfig"));
    validate_match_conditions(check, hook, path);
}

/// Validates a webhook's name: a subdomain of at least three labels.
fn validate_full_name(check: &mut Check, name: &Value, path: &str) {
    if !check.require(name, path) {
        return;
    }
    let name = name.as_str().unwrap_or_default();
    let messages = names::subdomain_errors(name);
    if !messages.is_empty() {
        check.push(FieldError::invalid(path, name, messages.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        check.push(FieldError::invalid(path, name, detail));
    }
}

pub(super) fn validate_rule(check: &mut Check, rule: &Value, path: &str) {
    validate_wildcard_list(check, rule, "operations", path, "operations");
    for (operation, path) in items(rule, "operations", path) {
        if let Some(operation) = operation
            .as_str()
            .filter(|operation| !OPERATIONS.contains(operation))
        {
            check.push(FieldError::not_supported(&path, operation, OPERATIONS));
        }
    }
    validate_wildcard_list(check, rule, "apiGroups", path, "API groups");
    validate_wildcard_list(check, rule, "apiVersions", path, "API versions");
    for (version, path) in items(rule, "apiVersions", path) {
        check.require(version, &path);
    }
    validate_resources(check, rule, path);
    check.require_supported(rule, "scope", path, &["*", "Cluster", "Namespaced"]);
}

/// Requires a non-empty list, in which `*` is the only item.
fn validate_wildcard_list(check: &mut Check, rule: &Value, name: &str, path: &str, what: &str) {
    let path = format!("{path}.{name}");
    check.require(&rule[name], &path);
    let values = rule[name].as_array().map_or(&[][..], Vec::as_slice);
    if values.len() > 1 && values.iter().any(|value| value == "*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        check.push(FieldError::invalid(&path, rule[name].clone(), detail));
    }
}

/// Validates resources and subresources; rejects entries that include one another.
fn validate_resources(check: &mut Check, rule: &Value, path: &str) {
    let field = format!("{path}.resources");
    check.require(&rule["resources"], &field);
    let (mut all_subresources, mut all_resources) = (BTreeSet::new(), BTreeSet::new());
    let (mut has_all, mut has_wildcard, mut last_without_subresource) = (false, false, false);
    for (resource, path) in items(rule, "resources", path) {
        if !check.require(resource, &path) {
            continue;
        }
        let name = resource.as_str().unwrap_or_default();
        has_all |= name == "*/*";
        has_wildcard |= name == "*";
        let Some((resource, subresource)) = name.split_once('/') else {
            // Only the last resource counts, as in kube-apiserver.
            last_without_subresource = name != "*";
            continue;
        };
        let mut reject = |other: String| {
            let detail = format!("if '{other}' is present, must not specify {name}");
            check.push(FieldError::invalid(&path, name, detail));
        };
        if all_subresources.contains(resource) {
            reject(format!("{resource}/*"));
        }
        if all_resources.contains(subresource) {
            reject(format!("*/{subresource}"));
        }
        if subresource == "*" {
            all_subresources.insert(resource);
        }
        if resource == "*" {
            all_resources.insert(subresource);
        }
    }
    let count = rule["resources"].as_array().map_or(0, Vec::len);
    for (is_wrong, detail) in [
        (
            count > 1 && has_all,
            "if '*/*' is present, must not specify other resources",
        ),
        (
            has_wildcard && last_without_subresource,
            "if '*' is present, must not specify other resources without subresources",
        ),
    ] {
        if is_wrong {
            check.push(FieldError::invalid(&field, rule["resources"].clone(), detail));
        }
    }
}

/// Validates the client configuration: either a URL or a service.
fn validate_client_config(check: &mut Check, client_config: &Value, path: &str) {
    match (
        client_config["url"].as_str(),
        client_config["service"].is_object(),
    ) {
        (Some(address), false) => validate_webhook_url(check, address, &format!("{path}.url")),
        (None, true) => {
            validate_service_reference(check, &client_config["service"], &format!("{path}.service"));
        }
        _ => {
            let detail = "exactly one of url or service is required";
            check.push(FieldError::required(path, detail));
        }
    }
}

fn validate_webhook_url(check: &mut Check, url: &str, path: &str) {
    const URL_FORMAT: &str = "; desired format: https://host[/path]";
    let url = match Url::parse(url) {
        Ok(url) => url,
        Err(reason) => {
            let detail = format!("url must be a valid URL: {reason}{URL_FORMAT}");
            return check.push(FieldError::required(path, detail));
        }
    };
    let mut reject = |value: &str, detail: String| check.push(FieldError::invalid(path, value, detail));
    if url.scheme != "https" {
        reject(
            &url.scheme,
            format!("'https' is the only allowed URL scheme{URL_FORMAT}"),
        );
    }
    if url.host.is_empty() {
        reject("", format!("host must be specified{URL_FORMAT}"));
    }
    for (value, what) in [
        (url.user, "user information is"),
        (url.fragment, "fragments are"),
        (url.query, "query parameters are"),
    ] {
        if !value.is_empty() {
            reject(value, format!("{what} not permitted in the URL"));
        }
    }
}

fn validate_service_reference(check: &mut Check, service: &Value, path: &str) {
    // kube-apiserver confuses the two paths.
    for (name, path_name) in [("namespace", "name"), ("name", "namespace")] {
        check.require(&Value::from(text(service, name)), &format!("{path}.{path_name}"));
    }
    let port = service["port"].as_i64();
    if let Some(port) = port.filter(|port| !(1..=65535).contains(port)) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        check.push(FieldError::invalid(&format!("{path}.port"), port, detail));
    }
    let (url, field) = (text(service, "path"), format!("{path}.path"));
    let mut reject = |detail: String| check.push(FieldError::invalid(&field, url, detail));
    match url {
        "" | "/" => return,
        "//" => return reject("segment[0] may not be empty".to_owned()),
        _ if !url.starts_with('/') => reject("must start with a '/'".to_owned()),
        _ => {}
    }
    // kube-apiserver skips the first byte, whatever it is.
    let segments = url.get(1..).unwrap_or_default();
    let segments = segments.strip_suffix('/').unwrap_or(segments);
    for (index, segment) in segments.split('/').enumerate() {
        if segment.is_empty() {
            reject(format!("segment[{index}] may not be empty"));
            continue;
        }
        for reason in names::subdomain_errors(segment) {
            reject(format!("segment[{index}]: {reason}"));
        }
    }
}

/// Validates match conditions.
pub(super) fn validate_match_conditions(check: &mut Check, hook: &Value, path: &str) {
    let count = hook["matchConditions"].as_array().map_or(0, Vec::len);
    if count > MAX_MATCH_CONDITIONS {
        let field = format!("{path}.matchConditions");
        check.push(FieldError::too_many(&field, count, MAX_MATCH_CONDITIONS as u64));
    }
    let mut known = BTreeSet::new();
    for (condition, path) in items(hook, "matchConditions", path) {
        let (expression, field) = (text(condition, "expression").trim(), format!("{path}.expression"));
        if check.require(&Value::from(expression), &field)
            && let Some(reason) = cel::condition_error(expression)
        {
            check.push(FieldError::invalid(
                &field,
                expression,
                format!("compilation failed: {reason}"),
            ));
        }
        let (name, field) = (text(condition, "name"), format!("{path}.name"));
        if check.require(&Value::from(name), &field) {
            check.push_messages(&field, name, &names::qualified_name_errors(name));
        }
        require_unique_name(check, condition, &mut known, &path);
    }
}

fn validate_review_versions(check: &mut Check, review_versions: &Value, path: &str) {
    let known = REVIEW_VERSIONS.join(", ");
    let Some(list) = review_versions.as_array().filter(|list| !list.is_empty()) else {
        check.push(FieldError::required(path, format!("must specify one of {known}")));
        return;
    };
    let mut seen = BTreeSet::new();
    for (index, version) in list.iter().filter_map(Value::as_str).enumerate() {
        let path = format!("{path}[{index}]");
        if !seen.insert(version) {
            check.push(FieldError::invalid(&path, version, "duplicate version"));
            continue;
        }
        for reason in names::dns_1035_errors(version) {
            check.push(FieldError::invalid(&path, version, reason));
        }
    }
    if !REVIEW_VERSIONS.iter().any(|version| seen.contains(version)) {
        let detail = format!("must include at least one of {known}");
        check.push(FieldError::invalid(path, review_versions.clone(), detail));
    }
}
