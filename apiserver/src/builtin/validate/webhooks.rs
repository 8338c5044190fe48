//! Configurations of webhooks that are asked about requests.

use super::url::Url;
use super::{Check, items, names, text};
use crate::field::FieldError;
use crate::meta::names::dns_1035;
use crate::schema;
use serde_json::Value;
use std::collections::BTreeSet;

/// The versions of reviews that the real server speaks.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MOST_CONDITIONS: usize = 64;

pub(super) fn configuration(check: &mut Check, configuration: &Value) {
    let mut known = BTreeSet::new();
    for (index, hook) in configuration["webhooks"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let path = format!("webhooks[{index}]");
        webhook(check, hook, &path);
        versions(
            check,
            &hook["admissionReviewVersions"],
            &format!("{path}.admissionReviewVersions"),
        );
        unique(check, hook, &mut known, &path);
    }
}

/// No two have the same name.
fn unique<'a>(check: &mut Check, named: &'a Value, known: &mut BTreeSet<&'a str>, path: &str) {
    let name = text(named, "name");
    if !name.is_empty() && !known.insert(name) {
        check.push(FieldError::duplicate(&format!("{path}.name"), name));
    }
}

fn webhook(check: &mut Check, hook: &Value, path: &str) {
    full_name(check, &hook["name"], &format!("{path}.name"));
    for (rule, path) in items(hook, "rules", path) {
        rule_of(check, rule, &path);
    }
    check.one_of(hook, "failurePolicy", path, &["Fail", "Ignore"]);
    check.one_of(hook, "matchPolicy", path, &["Equivalent", "Exact"]);
    if hook["sideEffects"].is_null() {
        let detail = "must specify one of None, NoneOnDryRun";
        check.push(FieldError::required(&format!("{path}.sideEffects"), detail));
    }
    check.one_of(hook, "sideEffects", path, &["None", "NoneOnDryRun"]);
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
        check.selector(&hook[name], &format!("{path}.{name}"));
    }
    check.one_of(hook, "reinvocationPolicy", path, &["IfNeeded", "Never"]);
    client(check, &hook["clientConfig"], &format!("{path}.clientConfig"));
    conditions(check, hook, path);
}

/// At least three labels.
fn full_name(check: &mut Check, name: &Value, path: &str) {
    if !check.required(name, path) {
        return;
    }
    let name = name.as_str().unwrap_or_default();
    let messages = names::subdomain(name);
    if !messages.is_empty() {
        check.push(FieldError::invalid(path, name, messages.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        check.push(FieldError::invalid(path, name, detail));
    }
}

fn rule_of(check: &mut Check, rule: &Value, path: &str) {
    all_or_some(check, rule, "operations", path, "operations");
    for (operation, path) in items(rule, "operations", path) {
        if let Some(operation) = operation
            .as_str()
            .filter(|operation| !OPERATIONS.contains(operation))
        {
            check.push(FieldError::not_supported(&path, operation, OPERATIONS));
        }
    }
    all_or_some(check, rule, "apiGroups", path, "API groups");
    all_or_some(check, rule, "apiVersions", path, "API versions");
    for (version, path) in items(rule, "apiVersions", path) {
        check.required(version, &path);
    }
    resources(check, rule, path);
    check.one_of(rule, "scope", path, &["*", "Cluster", "Namespaced"]);
}

/// A list that is not empty, and in which `*` stands alone.
fn all_or_some(check: &mut Check, rule: &Value, name: &str, path: &str, what: &str) {
    let path = format!("{path}.{name}");
    check.required(&rule[name], &path);
    let values = rule[name].as_array().map_or(&[][..], Vec::as_slice);
    if values.len() > 1 && values.iter().any(|value| value == "*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        check.push(FieldError::invalid(&path, rule[name].clone(), detail));
    }
}

/// Resources and their parts, none of which another includes.
fn resources(check: &mut Check, rule: &Value, path: &str) {
    let field = format!("{path}.resources");
    check.required(&rule["resources"], &field);
    let (mut whole, mut everywhere) = (BTreeSet::new(), BTreeSet::new());
    let (mut all, mut all_without_parts, mut without_part) = (false, false, false);
    for (resource, path) in items(rule, "resources", path) {
        if !check.required(resource, &path) {
            continue;
        }
        let name = resource.as_str().unwrap_or_default();
        all |= name == "*/*";
        all_without_parts |= name == "*";
        let Some((resource, part)) = name.split_once('/') else {
            // The last one decides: so the real server has it.
            without_part = name != "*";
            continue;
        };
        let mut refuse = |other: String| {
            let detail = format!("if '{other}' is present, must not specify {name}");
            check.push(FieldError::invalid(&path, name, detail));
        };
        if whole.contains(resource) {
            refuse(format!("{resource}/*"));
        }
        if everywhere.contains(part) {
            refuse(format!("*/{part}"));
        }
        if part == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            everywhere.insert(part);
        }
    }
    let count = rule["resources"].as_array().map_or(0, Vec::len);
    for (is_wrong, detail) in [
        (
            count > 1 && all,
            "if '*/*' is present, must not specify other resources",
        ),
        (
            all_without_parts && without_part,
            "if '*' is present, must not specify other resources without subresources",
        ),
    ] {
        if is_wrong {
            check.push(FieldError::invalid(&field, rule["resources"].clone(), detail));
        }
    }
}

/// Where the webhook is: at a URL or a service.
fn client(check: &mut Check, client: &Value, path: &str) {
    match (client["url"].as_str(), client["service"].is_object()) {
        (Some(address), false) => url(check, address, &format!("{path}.url")),
        (None, true) => service(check, &client["service"], &format!("{path}.service")),
        _ => {
            let detail = "exactly one of url or service is required";
            check.push(FieldError::required(path, detail));
        }
    }
}

fn url(check: &mut Check, url: &str, path: &str) {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match Url::parse(url) {
        Ok(url) => url,
        Err(why) => {
            let detail = format!("url must be a valid URL: {why}{FORM}");
            return check.push(FieldError::required(path, detail));
        }
    };
    let mut refuse = |value: &str, detail: String| check.push(FieldError::invalid(path, value, detail));
    if url.scheme != "https" {
        refuse(
            &url.scheme,
            format!("'https' is the only allowed URL scheme{FORM}"),
        );
    }
    if url.host.is_empty() {
        refuse("", format!("host must be specified{FORM}"));
    }
    for (value, what) in [
        (url.user, "user information is"),
        (url.fragment, "fragments are"),
        (url.query, "query parameters are"),
    ] {
        if !value.is_empty() {
            refuse(value, format!("{what} not permitted in the URL"));
        }
    }
}

fn service(check: &mut Check, service: &Value, path: &str) {
    // The real server takes the one for the other.
    for (name, said) in [("namespace", "name"), ("name", "namespace")] {
        check.required(&Value::from(text(service, name)), &format!("{path}.{said}"));
    }
    let port = service["port"].as_i64();
    if let Some(port) = port.filter(|port| !(1..=65535).contains(port)) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        check.push(FieldError::invalid(&format!("{path}.port"), port, detail));
    }
    let (url, field) = (text(service, "path"), format!("{path}.path"));
    let mut refuse = |detail: String| check.push(FieldError::invalid(&field, url, detail));
    match url {
        "" | "/" => return,
        "//" => return refuse("segment[0] may not be empty".to_owned()),
        _ if !url.starts_with('/') => refuse("must start with a '/'".to_owned()),
        _ => {}
    }
    // Without its first byte, whichever that is.
    let steps = url.get(1..).unwrap_or_default();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (index, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            refuse(format!("segment[{index}] may not be empty"));
            continue;
        }
        for why in names::subdomain(step) {
            refuse(format!("segment[{index}]: {why}"));
        }
    }
}

/// Expressions that say which requests it is asked about.
fn conditions(check: &mut Check, hook: &Value, path: &str) {
    let count = hook["matchConditions"].as_array().map_or(0, Vec::len);
    if count > MOST_CONDITIONS {
        let field = format!("{path}.matchConditions");
        check.push(FieldError::too_many(&field, count, MOST_CONDITIONS as u64));
    }
    let mut known = BTreeSet::new();
    for (condition, path) in items(hook, "matchConditions", path) {
        let (expression, field) = (text(condition, "expression").trim(), format!("{path}.expression"));
        if check.required(&Value::from(expression), &field)
            && let Some(why) = schema::condition_error(expression)
        {
            check.push(FieldError::invalid(
                &field,
                expression,
                format!("compilation failed: {why}"),
            ));
        }
        let (name, field) = (text(condition, "name"), format!("{path}.name"));
        if check.required(&Value::from(name), &field) {
            check.messages(&field, name, &names::qualified(name));
        }
        unique(check, condition, &mut known, &path);
    }
}

fn versions(check: &mut Check, versions: &Value, path: &str) {
    let known = VERSIONS.join(", ");
    let Some(list) = versions.as_array().filter(|list| !list.is_empty()) else {
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
        for why in dns_1035(version) {
            check.push(FieldError::invalid(&path, version, why));
        }
    }
    if !VERSIONS.iter().any(|version| seen.contains(version)) {
        let detail = format!("must include at least one of {known}");
        check.push(FieldError::invalid(path, versions.clone(), detail));
    }
}
