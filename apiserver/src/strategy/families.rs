//! The families of a service's addresses: IPv4 alone here, as on the tests' real server.
//!
//! What is said of them is looked at before anything else of a service, and then nothing else is told.

use crate::builtin;
use crate::field::FieldError;
use serde_json::{Map, Value, json};
use std::net::IpAddr;

const POLICY: &str = "spec.ipFamilyPolicy";
const SINGLE: &str = "SingleStack";

/// Fills in families and their policy, and refuses those that contradict one another or that there are not.
pub(super) fn choose(spec: &mut Map<String, Value>, old: Option<&Value>) -> Result<(), Vec<FieldError>> {
    let headless = spec.get("clusterIP").is_some_and(|address| address == "None");
    let selects = spec
        .get("selector")
        .and_then(Value::as_object)
        .is_some_and(|labels| !labels.is_empty());
    // Who has neither an address nor pods may have endpoints of both families.
    let open = headless && !selects;
    if spec.get("ipFamilyPolicy").is_none_or(Value::is_null) {
        let before = old
            .map(|old| &old["ipFamilyPolicy"])
            .filter(|policy| !policy.is_null());
        let default = json!(if open { "RequireDualStack" } else { SINGLE });
        spec.insert("ipFamilyPolicy".to_owned(), before.cloned().unwrap_or(default));
    }
    refuse(builtin::service_addresses(&Value::Object(spec.clone()), old))?;
    let single = spec["ipFamilyPolicy"] == SINGLE;
    refuse(release(spec, old, single))?;
    let families = list(spec.get("ipFamilies"));
    if open {
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
    let mut faults = vec![];
    if spec["ipFamilyPolicy"] == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        faults.push(FieldError::invalid(POLICY, "RequireDualStack", detail));
    }
    for (at, family) in families
        .iter()
        .enumerate()
        .filter(|(_, family)| *family != "IPv4")
    {
        let path = format!("spec.ipFamilies[{at}]");
        faults.push(FieldError::invalid(
            &path,
            family.clone(),
            "not configured on this cluster",
        ));
    }
    refuse(faults)?;
    if families.is_empty() {
        spec.insert("ipFamilies".to_owned(), json!(["IPv4"]));
    }
    Ok(())
}

fn refuse(faults: Vec<FieldError>) -> Result<(), Vec<FieldError>> {
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// A second address or family goes with the policy, and not without it.
fn release(spec: &mut Map<String, Value>, old: Option<&Value>, single: bool) -> Vec<FieldError> {
    let mut faults = vec![];
    let policy = spec["ipFamilyPolicy"].clone();
    let lists = [
        ("clusterIPs", "the secondary cluster IP", "cluster IPs"),
        ("ipFamilies", "the secondary IP family", "IP families"),
    ];
    for (name, second, several) in lists {
        let now = list(spec.get(name));
        let before = old.map(|old| list(old.get(name))).unwrap_or_default();
        let kept = now == before && now.len() > 1;
        if single && old.is_some() && kept {
            spec.insert(name.to_owned(), json!([now[0]]));
        } else if single && now.len() == 2 {
            let detail = format!(
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple {several} are specified"
            );
            faults.push(FieldError::invalid(POLICY, policy.clone(), detail));
        } else if !single && before.len() == 2 && now.len() == 1 && now[0] == before[0] {
            let detail = format!("must be 'SingleStack' to release {second}");
            faults.push(FieldError::invalid(POLICY, policy.clone(), detail));
        }
    }
    let (addresses, mut families) = (list(spec.get("clusterIPs")), list(spec.get("ipFamilies")));
    for (at, address) in addresses.iter().enumerate().skip(families.len()) {
        match address.as_str().and_then(|address| address.parse().ok()) {
            Some(IpAddr::V4(_)) => families.push(json!("IPv4")),
            Some(IpAddr::V6(_)) => {
                let path = format!("spec.clusterIPs[{at}]");
                let detail = "IPv6 is not configured on this cluster";
                faults.push(FieldError::invalid(&path, addresses.clone(), detail));
            }
            None => break,
        }
    }
    if !families.is_empty() {
        spec.insert("ipFamilies".to_owned(), Value::Array(families));
    }
    faults
}

fn list(value: Option<&Value>) -> Vec<Value> {
    value.and_then(Value::as_array).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(mut spec: Value, old: Option<&Value>) -> Result<Value, Vec<String>> {
        let fields = spec.as_object_mut().unwrap();
        let told =
            |faults: Vec<FieldError>| -> Vec<String> { faults.iter().map(ToString::to_string).collect() };
        choose(fields, old).map_err(told)?;
        Ok(json!([spec["ipFamilies"], spec["ipFamilyPolicy"]]))
    }

    #[test]
    fn families_follow_from_what_is_said() {
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
            assert_eq!(chosen(spec.clone(), None), Ok(expected), "{spec}");
        }
    }

    #[test]
    fn what_there_is_not_is_refused() {
        for (spec, why) in [
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
            let told = chosen(spec.clone(), None).unwrap_err();
            assert!(told.iter().any(|told| told.contains(why)), "{spec}: {told:?}");
        }
        let old = json!({ "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack" });
        let new = json!({ "clusterIP": "None", "clusterIPs": ["None"], "ipFamilies": ["IPv4"] });
        let told = chosen(new, Some(&old)).unwrap_err();
        assert!(told[0].contains("to release the secondary IP family"), "{told:?}");
    }
}
