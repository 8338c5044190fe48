//! IP families of services. Only IPv4 is configured, as on the kube-apiserver that the tests compare with.
//!
//! Errors about IP families come before all others and are reported alone.

use crate::builtin;
use crate::field::FieldError;
use serde_json::{Map, Value, json};
use std::net::IpAddr;

const POLICY_PATH: &str = "spec.ipFamilyPolicy";
const SINGLE_STACK: &str = "SingleStack";

/// Defaults IP families and their policy, and rejects contradictory or unsupported ones.
pub(super) fn default_ip_families(
    spec: &mut Map<String, Value>,
    old: Option<&Value>,
) -> Result<(), Vec<FieldError>> {
    let headless = spec.get("clusterIP").is_some_and(|address| address == "None");
    let selects = spec
        .get("selector")
        .and_then(Value::as_object)
        .is_some_and(|labels| !labels.is_empty());
    // A headless service without selector may have endpoints of both families.
    let headless_without_selector = headless && !selects;
    if spec.get("ipFamilyPolicy").is_none_or(Value::is_null) {
        let before = old
            .map(|old| &old["ipFamilyPolicy"])
            .filter(|policy| !policy.is_null());
        let default = json!(if headless_without_selector {
            "RequireDualStack"
        } else {
            SINGLE_STACK
        });
        spec.insert("ipFamilyPolicy".to_owned(), before.cloned().unwrap_or(default));
    }
    reject_if_any(builtin::validate_service_addresses(
        &Value::Object(spec.clone()),
        old,
    ))?;
    let single = spec["ipFamilyPolicy"] == SINGLE_STACK;
    reject_if_any(release_secondary(spec, old, single))?;
    let families = list(spec.get("ipFamilies"));
    if headless_without_selector {
        if families.is_empty() {
            let both = if single {
                json!(["IPv4"])
            } else {
                json!(["IPv4", "IPv6"])
            };
            spec.insert("ipFamilies".to_owned(), both);
        } else if families.len() == 1 && !single {
            let other = if families[0] == "IPv4" { "IPv6" } else { "IPv4" };
            spec.insert("ipFamilies".to_owned(), json!([families[0], other]));
        }
        return Ok(());
    }
    let mut errors = vec![];
    if spec["ipFamilyPolicy"] == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid(POLICY_PATH, "RequireDualStack", detail));
    }
    for (at, family) in families
        .iter()
        .enumerate()
        .filter(|(_, family)| *family != "IPv4")
    {
        let path = format!("spec.ipFamilies[{at}]");
        errors.push(FieldError::invalid(
            &path,
            family.clone(),
            "not configured on this cluster",
        ));
    }
    reject_if_any(errors)?;
    if families.is_empty() {
        spec.insert("ipFamilies".to_owned(), json!(["IPv4"]));
    }
    Ok(())
}

fn reject_if_any(errors: Vec<FieldError>) -> Result<(), Vec<FieldError>> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Releases the secondary cluster IP and family if the policy becomes `SingleStack`, and rejects values that contradict the policy.
fn release_secondary(spec: &mut Map<String, Value>, old: Option<&Value>, single: bool) -> Vec<FieldError> {
    let mut errors = vec![];
    let policy = spec["ipFamilyPolicy"].clone();
    let lists = [
        ("clusterIPs", "the secondary cluster IP", "cluster IPs"),
        ("ipFamilies", "the secondary IP family", "IP families"),
    ];
    for (name, secondary_name, plural_name) in lists {
        let current = list(spec.get(name));
        let before = old.map(|old| list(old.get(name))).unwrap_or_default();
        let is_unchanged = current == before && current.len() > 1;
        if single && old.is_some() && is_unchanged {
            spec.insert(name.to_owned(), json!([current[0]]));
        } else if single && current.len() == 2 {
            let detail = format!(
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple {plural_name} are specified"
            );
            errors.push(FieldError::invalid(POLICY_PATH, policy.clone(), detail));
        } else if !single && before.len() == 2 && current.len() == 1 && current[0] == before[0] {
            let detail = format!("must be 'SingleStack' to release {secondary_name}");
            errors.push(FieldError::invalid(POLICY_PATH, policy.clone(), detail));
        }
    }
    let (addresses, mut families) = (list(spec.get("clusterIPs")), list(spec.get("ipFamilies")));
    for (at, address) in addresses.iter().enumerate().skip(families.len()) {
        match address.as_str().and_then(|address| address.parse().ok()) {
            Some(IpAddr::V4(_)) => families.push(json!("IPv4")),
            Some(IpAddr::V6(_)) => {
                let path = format!("spec.clusterIPs[{at}]");
                let detail = "IPv6 is not configured on this cluster";
                errors.push(FieldError::invalid(&path, addresses.clone(), detail));
            }
            None => break,
        }
    }
    if !families.is_empty() {
        spec.insert("ipFamilies".to_owned(), Value::Array(families));
    }
    errors
}

fn list(value: Option<&Value>) -> Vec<Value> {
    value.and_then(Value::as_array).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families_and_policy(mut spec: Value, old: Option<&Value>) -> Result<Value, Vec<String>> {
        let fields = spec.as_object_mut().unwrap();
        let messages =
            |errors: Vec<FieldError>| -> Vec<String> { errors.iter().map(ToString::to_string).collect() };
        default_ip_families(fields, old).map_err(messages)?;
        Ok(json!([spec["ipFamilies"], spec["ipFamilyPolicy"]]))
    }

    #[test]
    fn families_and_policy_are_defaulted() {
        let one = json!([["IPv4"], "SingleStack"]);
        for (spec, expected) in [
            (json!({}), one.clone()),
            (
                json!({ "clusterIP": "None", "clusterIPs": ["None"], "selector": { "a": "b" } }),
                one.clone(),
            ),
            (
                json!({ "clusterIP": "None", "clusterIPs": ["None"] }),
                json!([["IPv4", "IPv6"], "RequireDualStack"]),
            ),
            (
                json!({ "clusterIP": "None", "clusterIPs": ["None"], "ipFamilyPolicy": "SingleStack" }),
                one.clone(),
            ),
            (
                json!({ "ipFamilyPolicy": "PreferDualStack" }),
                json!([["IPv4"], "PreferDualStack"]),
            ),
        ] {
            assert_eq!(families_and_policy(spec.clone(), None), Ok(expected), "{spec}");
        }
    }

    #[test]
    fn unsupported_families_are_rejected() {
        for (spec, reason) in [
            (
                json!({ "ipFamilies": ["IPv6"] }),
                "not configured on this cluster",
            ),
            (
                json!({ "ipFamilyPolicy": "RequireDualStack" }),
                "not configured for dual-stack",
            ),
            (json!({ "ipFamilies": ["x"] }), "Unsupported value"),
            (json!({ "ipFamilies": ["IPv4", "IPv4"] }), "Duplicate value"),
            (
                json!({ "ipFamilies": ["IPv4", "IPv6"] }),
                "when multiple IP families",
            ),
        ] {
            let messages = families_and_policy(spec.clone(), None).unwrap_err();
            assert!(
                messages.iter().any(|messages| messages.contains(reason)),
                "{spec}: {messages:?}"
            );
        }
        let old = json!({ "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack" });
        let new = json!({ "clusterIP": "None", "clusterIPs": ["None"], "ipFamilies": ["IPv4"] });
        let messages = families_and_policy(new, Some(&old)).unwrap_err();
        assert!(
            messages[0].contains("to release the secondary IP family"),
            "{messages:?}"
        );
    }
}
