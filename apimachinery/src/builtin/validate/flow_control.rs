//! Validation of FlowSchemas and PriorityLevelConfigurations.

use super::{Check, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

const MAX_PRECEDENCE: i64 = 10_000;
const MAX_QUEUES: i64 = 10_000_000;
const EXEMPT: &str = "exempt";
const VERBS: [&str; 9] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];

pub(super) fn validate_flow_schema(check: &mut Check, schema: &Value, subresource: &str) {
    if subresource.is_empty() {
        validate_flow_schema_spec(check, schema);
    }
    validate_condition_types(check, &schema["status"]);
}

fn validate_flow_schema_spec(check: &mut Check, schema: &Value) {
    let spec = &schema["spec"];
    let precedence = spec["matchingPrecedence"].as_i64().unwrap_or(0);
    let mut invalid = |detail: String| {
        check.push(FieldError::invalid("spec.matchingPrecedence", precedence, detail));
    };
    if precedence <= 0 {
        invalid("must be a positive value".to_owned());
    }
    if precedence > MAX_PRECEDENCE {
        invalid(format!("must not be greater than {MAX_PRECEDENCE}"));
    }
    if precedence == 1 && schema["metadata"]["name"] != EXEMPT {
        invalid("only the schema named 'exempt' may have matchingPrecedence 1".to_owned());
    }
    check.require_supported(
        &spec["distinguisherMethod"],
        "type",
        "spec.distinguisherMethod",
        &["ByNamespace", "ByUser"],
    );
    let (level, path) = (
        text(&spec["priorityLevelConfiguration"], "name"),
        "spec.priorityLevelConfiguration.name",
    );
    if level.is_empty() {
        check.push(FieldError::required(path, "must reference a priority level"));
    } else {
        check.push_messages(path, level, &names::subdomain_errors(level));
    }
    for (rule, path) in items(spec, "rules", "spec") {
        require_items(
            check,
            &rule["subjects"],
            &format!("{path}.subjects"),
            "subjects must contain at least one value",
        );
        for (subject, path) in items(rule, "subjects", &path) {
            validate_subject(check, subject, &path);
        }
        let is_empty = |name: &str| rule[name].as_array().is_none_or(Vec::is_empty);
        if is_empty("resourceRules") && is_empty("nonResourceRules") {
            let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
            check.push(FieldError::required(&path, detail));
        }
        for (rule, path) in items(rule, "resourceRules", &path) {
            validate_resource_rule(check, rule, &path);
        }
        for (rule, path) in items(rule, "nonResourceRules", &path) {
            validate_verbs(check, rule, &path);
            let what = "non-resource URLs";
            let missing = "nonResourceURLs must contain at least one value";
            if !validate_wildcards(check, rule, "nonResourceURLs", &path, what, missing) {
                for (url, path) in items(rule, "nonResourceURLs", &path) {
                    validate_url(check, url.as_str().unwrap_or_default(), &path);
                }
            }
        }
    }
}

fn validate_subject(check: &mut Check, subject: &Value, path: &str) {
    const FIELDS: [(&str, &str); 3] = [
        ("ServiceAccount", "serviceAccount"),
        ("User", "user"),
        ("Group", "group"),
    ];
    let kind = text(subject, "kind");
    let Some((_, own)) = FIELDS.iter().find(|(known, _)| *known == kind) else {
        let field = format!("{path}.kind");
        return check.push(FieldError::not_supported(
            &field,
            kind,
            ["Group", "ServiceAccount", "User"],
        ));
    };
    let (value, field) = (&subject[*own], format!("{path}.{own}"));
    if value.is_null() {
        let detail = format!("{own} is required when subject kind is '{kind}'");
        check.push(FieldError::required(&field, detail));
    } else {
        check.require(&Value::from(text(value, "name")), &format!("{field}.name"));
        let namespace = text(value, "namespace");
        if kind == "ServiceAccount" && namespace.is_empty() {
            let detail = "must specify namespace for service account";
            check.push(FieldError::required(&format!("{field}.namespace"), detail));
        } else if kind == "ServiceAccount" {
            check.push_messages(
                &format!("{field}.namespace"),
                namespace,
                &names::label_errors(namespace),
            );
        }
    }
    for (kind, other) in FIELDS.iter().filter(|(_, other)| other != own) {
        if !subject[*other].is_null() {
            let detail = format!("{other} is forbidden when subject kind is not '{kind}'");
            check.push(FieldError::forbidden(&format!("{path}.{other}"), detail));
        }
    }
}

fn validate_resource_rule(check: &mut Check, rule: &Value, path: &str) {
    validate_verbs(check, rule, path);
    for (name, what) in [("apiGroups", "api group"), ("resources", "resource")] {
        let missing = format!("resource rules must supply at least one {what}");
        validate_wildcards(check, rule, name, path, &format!("{what}s"), &missing);
    }
    let is_empty = rule["namespaces"].as_array().is_none_or(Vec::is_empty);
    if is_empty && rule["clusterScope"] == true {
        return;
    }
    let missing = "resource rules that are not cluster scoped must supply at least one namespace";
    if !validate_wildcards(check, rule, "namespaces", path, "namespaces", missing) {
        for (namespace, path) in items(rule, "namespaces", path) {
            let namespace = namespace.as_str().unwrap_or_default();
            for why in names::label_errors(namespace) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {why}");
                check.push(FieldError::invalid(&path, namespace, detail));
            }
        }
    }
}

fn validate_verbs(check: &mut Check, rule: &Value, path: &str) {
    let has_wildcard = validate_wildcards(
        check,
        rule,
        "verbs",
        path,
        "verbs",
        "verbs must contain at least one value",
    );
    let verbs = rule["verbs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    if !has_wildcard && verbs.clone().any(|verb| !VERBS.contains(&verb)) {
        check.push(FieldError::not_supported(
            &format!("{path}.verbs"),
            rule["verbs"].clone(),
            VERBS,
        ));
    }
}

/// Requires items, and `*` to be the only one. Returns whether there is a `*`.
fn validate_wildcards(
    check: &mut Check,
    rule: &Value,
    name: &str,
    path: &str,
    what: &str,
    missing: &str,
) -> bool {
    let (list, path) = (&rule[name], format!("{path}.{name}"));
    require_items(check, list, &path, missing);
    let list_items = list.as_array().map_or(&[][..], Vec::as_slice);
    let has_wildcard = list_items.iter().any(|item| item == "*");
    if has_wildcard && list_items.len() > 1 {
        let detail = format!("if '*' is present, must not specify other {what}");
        check.push(FieldError::invalid(&path, list.clone(), detail));
    }
    has_wildcard
}

fn require_items(check: &mut Check, list: &Value, path: &str, detail: &str) {
    if list.as_array().is_none_or(Vec::is_empty) {
        check.push(FieldError::required(path, detail));
    }
}

fn validate_url(check: &mut Check, url: &str, path: &str) {
    let wildcards = url.matches('*').count();
    let detail = match url {
        "" => "must not be empty",
        "/" => return,
        _ if !url.starts_with('/') => "must start with slash",
        _ if url.contains(' ') => "must not contain white-space",
        _ if url.contains("//") => "must not contain double slash",
        _ if wildcards > 1 || wildcards == 1 && !url.ends_with("/*") => {
            "wildcard can only do suffix matching"
        }
        _ => return,
    };
    check.push(FieldError::invalid(path, url, detail));
}

pub(super) fn validate_priority_level(check: &mut Check, level: &Value, subresource: &str) {
    if subresource.is_empty() {
        validate_priority_level_spec(check, level);
    }
    validate_condition_types(check, &level["status"]);
}

fn validate_priority_level_spec(check: &mut Check, level: &Value) {
    let spec = &level["spec"];
    let ty = text(spec, "type");
    if (level["metadata"]["name"] == EXEMPT) != (ty == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        check.push(FieldError::invalid("spec.type", ty, detail));
    }
    let (exempt, limited) = (&spec["exempt"], &spec["limited"]);
    match ty {
        "Exempt" => {
            if !limited.is_null() {
                let detail = "must be nil if the type is not Limited";
                check.push(FieldError::forbidden("spec.limited", detail));
            }
            validate_shares(check, exempt, "spec.exempt");
            validate_lendable_percent(check, exempt, "spec.exempt");
        }
        "Limited" => {
            if !exempt.is_null() {
                check.push(FieldError::forbidden(
                    "spec.exempt",
                    "must be nil if the type is Limited",
                ));
            }
            if limited.is_null() {
                check.push(FieldError::required(
                    "spec.limited",
                    "must not be empty when type is Limited",
                ));
            } else {
                validate_limited(check, limited);
            }
        }
        "" => check.push(FieldError::required("spec.type", "")),
        other => check.push(FieldError::not_supported(
            "spec.type",
            other,
            ["Exempt", "Limited"],
        )),
    }
}

fn validate_shares(check: &mut Check, part: &Value, path: &str) {
    let shares = part["nominalConcurrencyShares"].as_i64();
    if let Some(shares) = shares.filter(|shares| *shares < 0) {
        let field = format!("{path}.nominalConcurrencyShares");
        check.push(FieldError::invalid(
            &field,
            shares,
            "must be a non-negative integer",
        ));
    }
}

fn validate_lendable_percent(check: &mut Check, part: &Value, path: &str) {
    let percent = part["lendablePercent"].as_i64();
    if let Some(percent) = percent.filter(|percent| !(0..=100).contains(percent)) {
        let field = format!("{path}.lendablePercent");
        check.push(FieldError::invalid(
            &field,
            percent,
            "must be between 0 and 100, inclusive",
        ));
    }
}

fn validate_limited(check: &mut Check, limited: &Value) {
    const PATH: &str = "spec.limited.limitResponse";
    validate_shares(check, limited, "spec.limited");
    let response = &limited["limitResponse"];
    let (queuing, queuing_path) = (&response["queuing"], format!("{PATH}.queuing"));
    match text(response, "type") {
        "Reject" if !queuing.is_null() => {
            let detail = "must be nil if limited.limitResponse.type is not Limited";
            check.push(FieldError::forbidden(&queuing_path, detail));
        }
        "Reject" => {}
        "Queue" if queuing.is_null() => {
            let detail = "must not be empty if limited.limitResponse.type is Limited";
            check.push(FieldError::required(&queuing_path, detail));
        }
        "Queue" => validate_queuing(check, queuing, &queuing_path),
        "" => check.push(FieldError::required(&format!("{PATH}.type"), "")),
        other => check.push(FieldError::not_supported(
            &format!("{PATH}.type"),
            other,
            ["Queue", "Reject"],
        )),
    }
    validate_lendable_percent(check, limited, "spec.limited");
    let borrowing = limited["borrowingLimitPercent"].as_i64();
    if let Some(percent) = borrowing.filter(|percent| *percent < 0) {
        let detail = "if specified, must be a non-negative integer";
        check.push(FieldError::invalid(
            "spec.limited.borrowingLimitPercent",
            percent,
            detail,
        ));
    }
}

fn validate_queuing(check: &mut Check, queuing: &Value, path: &str) {
    let number = |name: &str| queuing[name].as_i64().unwrap_or(0);
    let (limit, queues, hand) = (number("queueLengthLimit"), number("queues"), number("handSize"));
    let mut invalid = |name: &str, value: i64, detail: String| {
        check.push(FieldError::invalid(&format!("{path}.{name}"), value, detail));
    };
    if limit <= 0 {
        invalid("queueLengthLimit", limit, "must be positive".to_owned());
    }
    if queues <= 0 {
        invalid("queues", queues, "must be positive".to_owned());
    } else if queues > MAX_QUEUES {
        invalid("queues", queues, format!("must not be greater than {MAX_QUEUES}"));
    }
    if hand <= 0 {
        invalid("handSize", hand, "must be positive".to_owned());
    } else if hand > queues {
        invalid(
            "handSize",
            hand,
            format!("should not be greater than queues ({queues})"),
        );
    }
}

fn validate_condition_types(check: &mut Check, status: &Value) {
    let mut seen = BTreeSet::new();
    for (condition, path) in items(status, "conditions", "status") {
        let (ty, field) = (text(condition, "type"), format!("{path}.type"));
        if !seen.insert(ty) {
            check.push(FieldError::duplicate(&field, ty));
        }
        check.require(&Value::from(ty), &field);
    }
}
