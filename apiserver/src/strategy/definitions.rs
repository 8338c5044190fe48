//! CustomResourceDefinitions: names that follow from others, and what must be said.

use crate::meta::{self, names};
use crate::schema::check_structural;
use crate::status::Cause;
use serde_json::{Value, json};

pub(super) fn fill(object: &mut Value, old: Option<&Value>) {
    let spec = meta::entry_mut(object, "spec");
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".into(), json!({ "strategy": "None" }));
    }
    let stored: Vec<Value> = versions(object)
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    let names = meta::entry_mut(&mut object["spec"], "names");
    let kind = names
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let is_unset = |value: Option<&Value>| value.and_then(Value::as_str).is_none_or(str::is_empty);
    if !kind.is_empty() {
        if is_unset(names.get("singular")) {
            names.insert("singular".into(), json!(kind.to_lowercase()));
        }
        if is_unset(names.get("listKind")) {
            names.insert("listKind".into(), json!(format!("{kind}List")));
        }
    }
    let status = meta::entry_mut(object, "status");
    if old.is_none() {
        *status = serde_json::Map::new();
        status.insert("conditions".into(), Value::Null);
        status.insert("acceptedNames".into(), json!({ "plural": "", "kind": "" }));
    }
    let known = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Value::Array(known) = known {
        for version in stored {
            if !known.contains(&version) {
                known.push(version);
            }
        }
    }
}

pub(super) fn check(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = vec![];
    let spec = &object["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let name = format!("{plural}.{group}");
    if meta::name(object) != name {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &object["metadata"]["name"], why));
    }
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if !group.contains('.') {
        causes.push(Cause::invalid(
            "spec.group",
            &spec["group"],
            "should be a domain with at least one dot",
        ));
    }
    match spec["scope"].as_str() {
        None | Some("") => causes.push(Cause::required("spec.scope", "")),
        Some("Namespaced" | "Cluster") => {}
        Some(_) => {
            let known = ["Cluster", "Namespaced"];
            causes.push(Cause::not_supported("spec.scope", &spec["scope"], &known));
        }
    }
    check_versions(object, &mut causes);
    for key in ["plural", "singular", "kind", "listKind"] {
        let field = format!("spec.names.{key}");
        let value = text(&spec["names"][key]);
        if value.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if let Some(why) = names::dns_1035(&value.to_lowercase()).into_iter().next() {
            causes.push(Cause::invalid(field, &spec["names"][key], why));
        }
    }
    if let Some(old) = old {
        for key in ["group", "scope"] {
            if old["spec"][key] != spec[key] {
                causes.push(Cause::invalid(
                    format!("spec.{key}"),
                    &spec[key],
                    "field is immutable",
                ));
            }
        }
        for key in ["plural", "kind"] {
            if old["spec"]["names"][key] != spec["names"][key]
                && crate::crd::has_condition(old, "Established")
            {
                let value = &spec["names"][key];
                causes.push(Cause::invalid(
                    format!("spec.names.{key}"),
                    value,
                    "field is immutable",
                ));
            }
        }
    }
    causes
}

fn check_versions(object: &Value, causes: &mut Vec<Cause>) {
    let stored = versions(object)
        .filter(|version| version["storage"] == true)
        .count();
    if stored != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &object["spec"]["versions"], why));
    }
    for (at, version) in versions(object).enumerate() {
        let path = format!("spec.versions[{at}]");
        let name = version["name"].as_str().unwrap_or_default();
        for why in names::dns_1035(name) {
            causes.push(Cause::invalid(format!("{path}.name"), &version["name"], why));
        }
        let schema = &version["schema"]["openAPIV3Schema"];
        if schema.is_null() {
            let why = "schemas are required";
            causes.push(Cause::required(format!("{path}.schema.openAPIV3Schema"), why));
        } else {
            // One schema for all versions is shown where older definitions had it.
            let path = if versions(object).count() == 1 {
                "spec.validation.openAPIV3Schema".to_owned()
            } else {
                format!("{path}.schema.openAPIV3Schema")
            };
            causes.extend(check_structural(schema, &path).into_iter().map(Cause::from));
        }
    }
    for version in object["status"]["storedVersions"]
        .as_array()
        .into_iter()
        .flatten()
    {
        if !versions(object).any(|known| known["name"] == *version) {
            let why = format!(
                "missing from spec.versions; {} was previously a storage version, and must remain in spec.versions until \
                a storage migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions",
                version.as_str().unwrap_or_default()
            );
            causes.push(Cause::invalid("status.storedVersions[0]", version, why));
        }
    }
}

fn versions(object: &Value) -> impl Iterator<Item = &Value> {
    object["spec"]["versions"].as_array().into_iter().flatten()
}
