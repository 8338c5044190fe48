//! Validation of webhook configurations.

use super::{Check, Constraint, FieldRule, array, items, names, text};
use crate::cel::{self, Declarations};
use crate::go_url::Url;
use serde_json::Value;
use std::collections::BTreeSet;

/// The versions of AdmissionReview that kube-apiserver supports.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

#[rustfmt::skip]
const CONFIGURATION: &[FieldRule] = &[
    ("webhooks[].name", Constraint::Checked(validate_full_name)),
    ("webhooks[].rules[]", Constraint::Checked(validate_rule)),
    ("webhooks[].failurePolicy", Constraint::OneOf(&["Fail", "Ignore"])),
    ("webhooks[].matchPolicy", Constraint::OneOf(&["Equivalent", "Exact"])),
    ("webhooks[].sideEffects", Constraint::Present("must specify one of None, NoneOnDryRun")),
    ("webhooks[].sideEffects", Constraint::OneOf(&["None", "NoneOnDryRun"])),
    ("webhooks[].timeoutSeconds", Constraint::Within(1, 30, "the timeout value must be between 1 and 30 seconds")),
    ("webhooks[].namespaceSelector", Constraint::LabelSelector),
    ("webhooks[].objectSelector", Constraint::LabelSelector),
    ("webhooks[].reinvocationPolicy", Constraint::OneOf(&["IfNeeded", "Never"])),
    ("webhooks[].clientConfig", Constraint::Checked(validate_client_config)),
    ("webhooks[]", Constraint::Checked(validate_conditions_of_hook)),
    ("webhooks[].admissionReviewVersions", Constraint::Checked(validate_review_versions)),
];
#[rustfmt::skip]
const RULE: &[FieldRule] = &[
    ("operations", Constraint::Wildcards("", "operations")),
    ("operations[]", Constraint::OneOf(&["*", "CONNECT", "CREATE", "DELETE", "UPDATE"])),
    ("apiGroups", Constraint::Wildcards("", "API groups")),
    ("apiVersions", Constraint::Wildcards("", "API versions")),
    ("apiVersions[]", Constraint::Required("")),
    ("scope", Constraint::OneOf(&["*", "Cluster", "Namespaced"])),
];
#[rustfmt::skip]
const MATCH_CONDITIONS: &[FieldRule] = &[
    ("matchConditions", Constraint::MaxItems(64)),
    ("matchConditions[].expression", Constraint::NotBlank("")),
    ("matchConditions[].name", Constraint::Named(names::qualified_name_errors)),
];
/// The port of a service that the server calls.
pub(super) const SERVICE_PORT: Constraint = Constraint::Within(
    1,
    65535,
    "port is not valid: must be between 1 and 65535, inclusive",
);

pub(super) fn validate_configuration(check: &mut Check, configuration: &Value) {
    check.apply(CONFIGURATION, configuration, None, "");
    require_unique_names(check, configuration, "webhooks", "");
}

/// Rejects duplicate names.
fn require_unique_names(check: &mut Check, holder: &Value, list: &str, path: &str) {
    let mut known = BTreeSet::new();
    for (named, path) in items(holder, list, path) {
        let name = text(named, "name");
        if !name.is_empty() && !known.insert(name) {
            check.duplicate(&format!("{path}.name"), name);
        }
    }
}

/// Validates a webhook's name: a subdomain of at least three labels.
fn validate_full_name(check: &mut Check, name: &Value, path: &str) {
    if !check.require(name, path) {
        return;
    }
    let name = name.as_str().unwrap_or_default();
    let messages = names::subdomain_errors(name);
    if !messages.is_empty() {
        check.invalid(path, name, messages.join(","));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        check.invalid(path, name, detail);
    }
}

pub(super) fn validate_rule(check: &mut Check, rule: &Value, path: &str) {
    check.apply(RULE, rule, None, path);
    validate_resources(check, rule, path);
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
            check.invalid(&path, name, detail);
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
    let count = array(&rule["resources"]).len();
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
            check.invalid(&field, rule["resources"].clone(), detail);
        }
    }
}

/// Validates the client configuration: either a URL or a service.
pub(super) fn validate_client_config(check: &mut Check, client_config: &Value, path: &str) {
    match (
        client_config["url"].as_str(),
        client_config["service"].is_object(),
    ) {
        (Some(address), false) => validate_webhook_url(check, address, &format!("{path}.url")),
        (None, true) => {
            validate_service_reference(check, &client_config["service"], &format!("{path}.service"));
        }
        _ => {
            check.required(path, "exactly one of url or service is required");
        }
    }
}

fn validate_webhook_url(check: &mut Check, url: &str, path: &str) {
    const URL_FORMAT: &str = "; desired format: https://host[/path]";
    let url = match Url::parse(url) {
        Ok(url) => url,
        Err(reason) => {
            let detail = format!("url must be a valid URL: {reason}{URL_FORMAT}");
            return check.required(path, detail);
        }
    };
    let mut reject = |value: &str, detail: String| check.invalid(path, value, detail);
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
        (&url.user, "user information is"),
        (&url.fragment, "fragments are"),
        (&url.query, "query parameters are"),
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
    check.apply(&[("port", SERVICE_PORT)], service, None, path);
    let (url, field) = (text(service, "path"), format!("{path}.path"));
    let mut reject = |detail: String| check.invalid(&field, url, detail);
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
fn validate_conditions_of_hook(check: &mut Check, hook: &Value, path: &str) {
    validate_match_conditions(check, hook, false, path);
}

/// Validates match conditions, which may see params.
pub(super) fn validate_match_conditions(check: &mut Check, holder: &Value, has_params: bool, path: &str) {
    let declared = Declarations {
        has_params,
        has_authorizer: true,
        ..Declarations::default()
    };
    check.apply(MATCH_CONDITIONS, holder, None, path);
    for (condition, path) in items(holder, "matchConditions", path) {
        let expression = text(condition, "expression").trim();
        validate_expression(
            check,
            expression,
            &declared,
            &["bool"],
            &format!("{path}.expression"),
        );
    }
    require_unique_names(check, holder, "matchConditions", path);
}

/// Validates an expression, unless it is blank.
pub(super) fn validate_expression(
    check: &mut Check,
    expression: &str,
    declared: &Declarations<'_>,
    results: &[&str],
    path: &str,
) {
    if !expression.trim().is_empty()
        && let Err(reason) = cel::check_expression(expression, declared, results)
    {
        check.invalid(path, expression, reason);
    }
}

fn validate_review_versions(check: &mut Check, review_versions: &Value, path: &str) {
    let detail = format!("must specify one of {}", REVIEW_VERSIONS.join(", "));
    if check.require_with(review_versions, path, &detail) {
        validate_accepted_versions(check, review_versions, path);
    }
}

/// Validates a list of versions of a review, which is not empty.
pub(super) fn validate_accepted_versions(check: &mut Check, review_versions: &Value, path: &str) {
    let known = REVIEW_VERSIONS.join(", ");
    let mut seen = BTreeSet::new();
    let versions = array(review_versions).iter().filter_map(Value::as_str);
    for (index, version) in versions.enumerate() {
        let path = format!("{path}[{index}]");
        if !seen.insert(version) {
            check.invalid(&path, version, "duplicate version");
            continue;
        }
        check.validate_format(&path, version, names::dns_1035_errors);
    }
    if !REVIEW_VERSIONS.iter().any(|version| seen.contains(version)) {
        let detail = format!("must include at least one of {known}");
        check.invalid(path, review_versions.clone(), detail);
    }
}
