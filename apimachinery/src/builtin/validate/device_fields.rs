//! Validation of fields that several kinds of resource.k8s.io have: names of pools and attributes, opaque parameters, bindings.

use super::{Check, Constraint, FieldRule, array, child, items, names, text, volume};
use crate::types::json_length;
use serde_json::Value;
use std::collections::BTreeSet;

const MAX_PARAMETER_BYTES: usize = 10 << 10;
const MAX_IDENTIFIER_BYTES: usize = 32;
const MAX_BINDING_CONDITIONS: usize = 4;
const INVALID_IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
                      characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
                      '[A-Za-z_][A-Za-z0-9_]*')";

/// Returns the items of a list with their paths. If there are more than `max`, reports that and returns none.
pub(super) fn limited_items<'a>(
    check: &mut Check,
    holder: &'a Value,
    name: &str,
    max: usize,
    path: &str,
) -> Vec<(&'a Value, String)> {
    if !check.limit_items(&holder[name], max, &child(path, name)) {
        return vec![];
    }
    items(holder, name, path).collect()
}

/// Rejects items with the key of a previous item.
pub(super) fn reject_duplicates<'a>(
    check: &mut Check,
    items: &[(&'a Value, String)],
    key: impl Fn(&'a Value) -> &'a str,
) {
    let mut seen = BTreeSet::new();
    for (item, path) in items {
        if !seen.insert(key(item)) {
            check.duplicate(path, key(item));
        }
    }
}

/// Validates the name of a pool: subdomains separated by slashes.
pub(super) fn validate_pool_name(check: &mut Check, name: &Value, path: &str) {
    if check.require(name, path) {
        let name = name.as_str().unwrap_or_default();
        check.limit_bytes(name, 253, path);
        for part in name.split('/') {
            check.validate_format(path, part, names::subdomain_errors);
        }
    }
}

/// Validates the name of an attribute or a capacity: an identifier, which a domain may precede.
pub(super) fn validate_qualified_name(check: &mut Check, name: &str, path: &str) {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [name] => validate_identifier(check, name, path),
        [domain, name] => {
            if domain.is_empty() {
                check.invalid(path, "", "the domain must not be empty");
            } else {
                volume::validate_driver_name(check, &domain.into(), path);
            }
            if name.is_empty() {
                check.invalid(path, "", "the name must not be empty");
            } else {
                validate_identifier(check, name, path);
            }
        }
        _ => {}
    }
}

/// Validates the name of an attribute that must have a domain.
pub(super) fn validate_fully_qualified_name(check: &mut Check, name: &Value, path: &str) {
    let name = name.as_str().unwrap_or_default();
    validate_qualified_name(check, name, path);
    if !name.contains('/') {
        let detail = "a fully qualified name must be a domain and a name separated by a slash";
        check.invalid(path, name, detail);
    }
}

fn validate_identifier(check: &mut Check, name: &str, path: &str) {
    check.limit_bytes(name, MAX_IDENTIFIER_BYTES, path);
    let is_identifier = !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_identifier {
        check.invalid(path, name, INVALID_IDENTIFIER);
    }
}

/// Validates the configuration of devices by a driver. `is_stored` parameters may be longer than new ones.
pub(super) fn validate_configuration(check: &mut Check, config: &Value, is_stored: bool, path: &str) {
    let (opaque, path) = (&config["opaque"], child(path, "opaque"));
    if opaque.is_null() {
        check.required(&path, "");
        return;
    }
    volume::validate_driver_name(check, &opaque["driver"], &child(&path, "driver"));
    validate_parameters(
        check,
        &opaque["parameters"],
        is_stored,
        &child(&path, "parameters"),
    );
}

/// Validates an object of a driver's own format.
pub(super) fn validate_parameters(check: &mut Check, parameters: &Value, is_stored: bool, path: &str) {
    if parameters.is_null() {
        check.required(path, "");
    } else if !is_stored && json_length(parameters) > MAX_PARAMETER_BYTES {
        check.too_long(path, MAX_PARAMETER_BYTES);
    } else if !parameters.is_object() {
        check.invalid(path, "<value omitted>", "must be a valid JSON object");
    }
}

/// Validates a UUID in lower case.
pub(super) fn validate_uid(check: &mut Check, uid: &str, path: &str) {
    if let Some(why) = uuid_error(uid) {
        check.invalid(path, uid, format!("error validating uid: {why}"));
    } else if uid.len() != 36 || uid != uid.to_lowercase() {
        let detail = "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";
        check.invalid(path, uid, detail);
    }
}

/// Returns why a text is no UUID: with hyphens, in braces, after `urn:uuid:`, or only digits.
fn uuid_error(text: &str) -> Option<String> {
    const INVALID: &str = "invalid UUID format";
    let bytes = text.as_bytes();
    let digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    let hyphenated = match bytes.len() {
        36 => bytes,
        45 => {
            let (prefix, rest) = bytes.split_at(9);
            if !prefix.eq_ignore_ascii_case(b"urn:uuid:") {
                return Some(format!(
                    "invalid urn prefix: {:?}",
                    String::from_utf8_lossy(prefix)
                ));
            }
            rest
        }
        38 if bytes.starts_with(b"{") && bytes.ends_with(b"}") => &bytes[1..37],
        38 => return Some("invalid bracketed UUID format".to_owned()),
        32 => return (!digits(bytes)).then(|| INVALID.to_owned()),
        length => return Some(format!("invalid UUID length: {length}")),
    };
    let parts: Vec<&[u8]> = hyphenated.split(|byte| *byte == b'-').collect();
    let fits = parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.into_iter().all(digits);
    (!fits).then(|| INVALID.to_owned())
}

/// Validates the conditions that devices wait for before a pod is bound.
pub(super) fn validate_binding_conditions(check: &mut Check, holder: &Value, path: &str) {
    const LISTS: [&str; 2] = ["bindingConditions", "bindingFailureConditions"];
    for list in LISTS {
        for (condition, path) in limited_items(check, holder, list, MAX_BINDING_CONDITIONS, path) {
            let condition = condition.as_str().unwrap_or_default();
            check.validate_format(&path, condition, names::qualified_name_errors);
        }
    }
    let conditions = array(&holder[LISTS[0]]);
    for list in LISTS {
        let mut seen = BTreeSet::new();
        for (condition, path) in items(holder, list, path) {
            let name = condition.as_str().unwrap_or_default();
            if !seen.insert(name) {
                check.duplicate(&path, name);
            }
            if list == LISTS[1] && conditions.contains(condition) {
                let detail = "bindingFailureConditions must not overlap with bindingConditions";
                check.invalid(&path, name, detail);
            }
        }
    }
    for [list, other] in [LISTS, [LISTS[1], LISTS[0]]] {
        if array(&holder[list]).is_empty() && !array(&holder[other]).is_empty() {
            let detail = format!("{list} are required to use {other}");
            check.invalid(&child(path, list), Value::Null, detail);
        }
    }
}

/// The effects of taints and tolerations of devices.
pub(super) const EFFECTS: &[&str] = &["NoExecute", "NoSchedule", "None"];

/// Validates a toleration of tainted devices.
pub(super) fn validate_toleration(check: &mut Check, toleration: &Value, path: &str) {
    const KEY: &[FieldRule] = &[("key", Constraint::OptionalName(names::qualified_name_errors))];
    const EFFECT: &[FieldRule] = &[("effect", Constraint::OptionalOneOf(EFFECTS))];
    const OPERATOR: &[FieldRule] = &[("operator", Constraint::RequiredOneOf(&["Equal", "Exists"]))];
    check.apply(KEY, toleration, None, path);
    let (value, field) = (text(toleration, "value"), child(path, "value"));
    match text(toleration, "operator") {
        "Exists" if !value.is_empty() => check.invalid(&field, value, "must be empty for operator `Exists`"),
        "Exists" => {}
        "Equal" => check.validate_format(&field, value, names::label_value_errors),
        _ => check.apply(OPERATOR, toleration, None, path),
    }
    check.apply(EFFECT, toleration, None, path);
}

#[cfg(test)]
mod tests {
    use super::uuid_error;

    #[test]
    fn forms_of_uuids_are_those_of_google_uuid() {
        let uuid = "0a1b2c3d-0000-1111-2222-0123456789AB";
        for valid in [
            uuid,
            &format!("URN:uuid:{uuid}"),
            &format!("{{{uuid}}}"),
            &uuid.replace('-', ""),
        ] {
            assert_eq!(uuid_error(valid), None, "{valid}");
        }
        for (invalid, why) in [
            ("", "invalid UUID length: 0"),
            ("0a1b2c3d-0000-1111-2222-0123456789Ax", "invalid UUID format"),
            ("0a1b2c3d00000-1111-2222-0123456789AB", "invalid UUID format"),
            (
                "(0a1b2c3d-0000-1111-2222-0123456789AB)",
                "invalid bracketed UUID format",
            ),
            (
                "urn:uuix:0a1b2c3d-0000-1111-2222-0123456789AB",
                "invalid urn prefix: \"urn:uuix:\"",
            ),
        ] {
            assert_eq!(uuid_error(invalid).as_deref(), Some(why), "{invalid}");
        }
    }
}
