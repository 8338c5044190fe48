//! Validation of FlowSchemas and PriorityLevelConfigurations.

use super::rules::has_wildcard;
use super::{Check, Constraint, FieldRule, array, items, names, text};
use serde_json::{Value, json};

const EXEMPT: &str = "exempt";
const CATCH_ALL: &str = "catch-all";
/// The annotation by which version v1beta3 preserves zero shares.
const PRESERVE_ZERO_ANNOTATION: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
/// The number of bits of a flow's hash, which choose its queues.
const HASH_BITS: f64 = 60.0;
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

const FIELDS_OF_SUBJECTS: [(&str, &str); 3] = [
    ("ServiceAccount", "serviceAccount"),
    ("User", "user"),
    ("Group", "group"),
];

#[rustfmt::skip]
const FLOW_SCHEMA: &[FieldRule] = &[
    ("matchingPrecedence", Constraint::Number(1, i64::MAX, "must be a positive value")),
    ("matchingPrecedence", Constraint::Number(i64::MIN, 10_000, "must not be greater than 10000")),
    ("distinguisherMethod.type", Constraint::OneOf(&["ByNamespace", "ByUser"])),
    ("priorityLevelConfiguration.name", Constraint::Required("must reference a priority level")),
    ("priorityLevelConfiguration.name", Constraint::OptionalName(names::subdomain_errors)),
    ("rules[].subjects", Constraint::Required("subjects must contain at least one value")),
    ("rules[].subjects[]", Constraint::Checked(validate_subject)),
    ("rules[]", Constraint::Checked(validate_rules)),
];
#[rustfmt::skip]
const RESOURCE_RULE: &[FieldRule] = &[
    ("verbs", Constraint::Wildcards("verbs must contain at least one value", "verbs")),
    ("verbs", Constraint::Checked(validate_verbs)),
    ("apiGroups", Constraint::Wildcards("resource rules must supply at least one api group", "api groups")),
    ("resources", Constraint::Wildcards("resource rules must supply at least one resource", "resources")),
];
#[rustfmt::skip]
const NAMESPACES: &[FieldRule] = &[
    ("namespaces", Constraint::Wildcards("resource rules that are not cluster scoped must supply at least one namespace", "namespaces")),
];
#[rustfmt::skip]
const NON_RESOURCE_RULE: &[FieldRule] = &[
    ("verbs", Constraint::Wildcards("verbs must contain at least one value", "verbs")),
    ("verbs", Constraint::Checked(validate_verbs)),
    ("nonResourceURLs", Constraint::Wildcards("nonResourceURLs must contain at least one value", "non-resource URLs")),
];
/// The rules of `exempt` and `limited`; only the latter has all fields.
#[rustfmt::skip]
const SHARES: &[FieldRule] = &[
    ("nominalConcurrencyShares", Constraint::Within(0, i64::MAX, "must be a non-negative integer")),
    ("lendablePercent", Constraint::Within(0, 100, "must be between 0 and 100, inclusive")),
    ("borrowingLimitPercent", Constraint::Within(0, i64::MAX, "if specified, must be a non-negative integer")),
];
#[rustfmt::skip]
const QUEUING: &[FieldRule] = &[
    ("queueLengthLimit", Constraint::Number(1, i64::MAX, "must be positive")),
    ("queues", Constraint::Number(1, i64::MAX, "must be positive")),
    ("queues", Constraint::Number(i64::MIN, 10_000_000, "must not be greater than 10000000")),
    ("handSize", Constraint::Number(1, i64::MAX, "must be positive")),
];
const CONDITIONS: &[FieldRule] = &[
    ("conditions[].type", Constraint::Unique),
    ("conditions[].type", Constraint::Required("")),
];

pub(super) fn validate_flow_schema(check: &mut Check, schema: &Value, subresource: &str) {
    if subresource.is_empty() {
        validate_flow_schema_spec(check, schema);
    }
    check.apply(CONDITIONS, &schema["status"], None, "status");
}

fn validate_flow_schema_spec(check: &mut Check, schema: &Value) {
    let spec = &schema["spec"];
    check.apply(FLOW_SCHEMA, spec, None, "spec");
    if spec["matchingPrecedence"] == 1 && schema["metadata"]["name"] != EXEMPT {
        let detail = "only the schema named 'exempt' may have matchingPrecedence 1";
        check.invalid("spec.matchingPrecedence", 1, detail);
    }
    let name = text(&schema["metadata"], "name");
    if mandatory_schema(name).is_some_and(|mandatory| mandatory != *spec) {
        let detail = format!("spec of '{name}' must equal the fixed value");
        check.invalid("spec", spec.clone(), detail);
    }
}

/// Returns the spec of a FlowSchema that every API server has.
fn mandatory_schema(name: &str) -> Option<Value> {
    let (precedence, groups) = match name {
        EXEMPT => (1, &["system:masters"][..]),
        CATCH_ALL => (10_000, &["system:unauthenticated", "system:authenticated"][..]),
        _ => return None,
    };
    let subjects = groups
        .iter()
        .map(|group| json!({ "kind": "Group", "group": { "name": group } }));
    let any = ["*"];
    let mut spec = json!({
        "priorityLevelConfiguration": { "name": name },
        "matchingPrecedence": precedence,
        "rules": [{
            "subjects": subjects.collect::<Vec<_>>(),
            "resourceRules": [{
                "verbs": any, "apiGroups": any, "resources": any, "clusterScope": true, "namespaces": any,
            }],
            "nonResourceRules": [{ "verbs": any, "nonResourceURLs": any }],
        }],
    });
    if name == CATCH_ALL {
        spec["distinguisherMethod"] = json!({ "type": "ByUser" });
    }
    Some(spec)
}

fn validate_rules(check: &mut Check, rules: &Value, path: &str) {
    let is_empty = |name: &str| array(&rules[name]).is_empty();
    if is_empty("resourceRules") && is_empty("nonResourceRules") {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        check.required(path, detail);
    }
    for (rule, path) in items(rules, "resourceRules", path) {
        validate_resource_rule(check, rule, &path);
    }
    for (rule, path) in items(rules, "nonResourceRules", path) {
        check.apply(NON_RESOURCE_RULE, rule, None, &path);
        if !has_wildcard(&rule["nonResourceURLs"]) {
            for (url, path) in items(rule, "nonResourceURLs", &path) {
                validate_url(check, url.as_str().unwrap_or_default(), &path);
            }
        }
    }
}

fn validate_subject(check: &mut Check, subject: &Value, path: &str) {
    let kind = text(subject, "kind");
    let Some((_, own)) = FIELDS_OF_SUBJECTS.iter().find(|(known, _)| *known == kind) else {
        let field = format!("{path}.kind");
        return check.not_supported(&field, kind, ["Group", "ServiceAccount", "User"]);
    };
    let (value, field) = (&subject[*own], format!("{path}.{own}"));
    if value.is_null() {
        let detail = format!("{own} is required when subject kind is '{kind}'");
        check.required(&field, detail);
    } else {
        check.require(&Value::from(text(value, "name")), &format!("{field}.name"));
        let namespace = text(value, "namespace");
        if kind == "ServiceAccount" && namespace.is_empty() {
            let detail = "must specify namespace for service account";
            check.required(&format!("{field}.namespace"), detail);
        } else if kind == "ServiceAccount" {
            check.validate_format(&format!("{field}.namespace"), namespace, names::label_errors);
        }
    }
    for (kind, other) in FIELDS_OF_SUBJECTS.iter().filter(|(_, other)| other != own) {
        if !subject[*other].is_null() {
            let detail = format!("{other} is forbidden when subject kind is not '{kind}'");
            check.forbidden(&format!("{path}.{other}"), detail);
        }
    }
}

fn validate_resource_rule(check: &mut Check, rule: &Value, path: &str) {
    check.apply(RESOURCE_RULE, rule, None, path);
    let is_empty = array(&rule["namespaces"]).is_empty();
    if is_empty && rule["clusterScope"] == true {
        return;
    }
    check.apply(NAMESPACES, rule, None, path);
    if !has_wildcard(&rule["namespaces"]) {
        for (namespace, path) in items(rule, "namespaces", path) {
            let namespace = namespace.as_str().unwrap_or_default();
            for why in names::label_errors(namespace) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {why}");
                check.invalid(&path, namespace, detail);
            }
        }
    }
}

fn validate_verbs(check: &mut Check, verbs: &Value, path: &str) {
    let mut all = array(verbs).iter().filter_map(Value::as_str);
    if !has_wildcard(verbs) && all.any(|verb| !VERBS.contains(&verb)) {
        check.not_supported(path, verbs.clone(), VERBS);
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
    check.invalid(path, url, detail);
}

pub(super) fn validate_priority_level(check: &mut Check, level: &Value, subresource: &str) {
    if subresource.is_empty() {
        validate_priority_level_spec(check, level);
    }
    check.apply(CONDITIONS, &level["status"], None, "status");
}

fn validate_priority_level_spec(check: &mut Check, level: &Value) {
    if !level["metadata"]["annotations"][PRESERVE_ZERO_ANNOTATION].is_null() {
        let detail = format!("annotation '{PRESERVE_ZERO_ANNOTATION}' is forbidden");
        check.forbidden("metadata.annotations", detail);
    }
    let spec = &level["spec"];
    let ty = text(spec, "type");
    if (level["metadata"]["name"] == EXEMPT) != (ty == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        check.invalid("spec.type", ty, detail);
    }
    let (exempt, limited) = (&spec["exempt"], &spec["limited"]);
    match ty {
        "Exempt" => {
            if !limited.is_null() {
                check.forbidden("spec.limited", "must be nil if the type is not Limited");
            }
            check.apply(SHARES, exempt, None, "spec.exempt");
        }
        "Limited" => {
            if !exempt.is_null() {
                check.forbidden("spec.exempt", "must be nil if the type is Limited");
            }
            if limited.is_null() {
                check.required("spec.limited", "must not be empty when type is Limited");
            } else {
                validate_limited(check, limited);
            }
        }
        "" => check.required("spec.type", ""),
        other => check.not_supported("spec.type", other, ["Exempt", "Limited"]),
    }
    reject_changed_mandatory_level(check, level);
}

/// The mandatory levels are fixed, except for `spec.exempt` of the level `exempt`.
fn reject_changed_mandatory_level(check: &mut Check, level: &Value) {
    let (spec, name) = (&level["spec"], text(&level["metadata"], "name"));
    let (is_fixed, except) = match name {
        EXEMPT => (
            spec["type"] == "Exempt" && spec["limited"].is_null(),
            " except the 'spec.exempt' field",
        ),
        CATCH_ALL => {
            let limited = json!({
                "nominalConcurrencyShares": 5, "limitResponse": { "type": "Reject" }, "lendablePercent": 0,
            });
            (*spec == json!({ "type": "Limited", "limited": limited }), "")
        }
        _ => return,
    };
    if !is_fixed {
        let detail = format!("spec of '{name}'{except} must equal the fixed value");
        check.invalid("spec", spec.clone(), detail);
    }
}

fn validate_limited(check: &mut Check, limited: &Value) {
    const PATH: &str = "spec.limited.limitResponse";
    check.apply(SHARES, limited, None, "spec.limited");
    let response = &limited["limitResponse"];
    let (queuing, queuing_path) = (&response["queuing"], format!("{PATH}.queuing"));
    match text(response, "type") {
        "Reject" if !queuing.is_null() => {
            let detail = "must be nil if limited.limitResponse.type is not Limited";
            check.forbidden(&queuing_path, detail);
        }
        "Reject" => {}
        "Queue" if queuing.is_null() => {
            let detail = "must not be empty if limited.limitResponse.type is Limited";
            check.required(&queuing_path, detail);
        }
        "Queue" => validate_queuing(check, queuing, &queuing_path),
        "" => check.required(&format!("{PATH}.type"), ""),
        other => check.not_supported(&format!("{PATH}.type"), other, ["Queue", "Reject"]),
    }
}

fn validate_queuing(check: &mut Check, queuing: &Value, path: &str) {
    check.apply(QUEUING, queuing, None, path);
    let number = |name: &str| queuing[name].as_i64().unwrap_or(0);
    let (queues, hand) = (number("queues"), number("handSize"));
    let detail = if hand <= 0 {
        return;
    } else if hand > queues {
        format!("should not be greater than queues ({queues})")
    } else if needs_too_many_bits(queues, hand) {
        format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
        )
    } else {
        return;
    };
    check.invalid(&format!("{path}.handSize"), hand, detail);
}

/// Whether the choice of a hand of queues needs more bits than a hash has.
#[expect(clippy::cast_precision_loss, reason = "numbers of queues are small")]
fn needs_too_many_bits(queues: i64, hand: i64) -> bool {
    ((queues as f64).log2() * hand as f64).ceil() > HASH_BITS
}
