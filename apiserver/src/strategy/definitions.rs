//! CustomResourceDefinitions: names that follow from others, and what must be said.

use crate::crd::api_approval::{self, ApiApproval};
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
    let spec_now = object["spec"].clone();
    let status = meta::entry_mut(object, "status");
    if old.is_none() {
        *status = serde_json::Map::new();
        status.insert("conditions".into(), Value::Null);
        status.insert("acceptedNames".into(), json!({ "plural": "", "kind": "" }));
    }
    // Who writes the status may say what is no longer stored.
    let is_status = old.is_some_and(|old| old["spec"] == spec_now);
    let known = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Value::Array(known) = known
        && !is_status
    {
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
    // What may not change is said instead.
    if meta::name(object) != name && old.is_none() {
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
    check_names(&spec["names"], &mut causes);
    check_approval(object, &mut causes);
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
        let shown = format!("Invalid value: {}: {why}", shown_versions(object));
        causes.push(Cause::new("FieldValueInvalid", "spec.versions", shown));
    }
    let known = object["status"]["storedVersions"].as_array();
    if known.is_none_or(Vec::is_empty) {
        let why = "must have at least one stored version";
        causes.push(Cause::invalid("status.storedVersions", &Value::Null, why));
    }
    let is_only = versions(object).count() == 1;
    for (at, version) in versions(object).enumerate() {
        let path = format!("spec.versions[{at}]");
        let name = version["name"].as_str().unwrap_or_default();
        for why in names::dns_1035(name) {
            causes.push(Cause::invalid(format!("{path}.name"), &version["name"], &why));
            // Older definitions had one version, which is still looked at.
            if at == 0 {
                causes.push(Cause::invalid("spec.version", &version["name"], why));
            }
        }
        let top = if is_only { "spec" } else { path.as_str() };
        check_columns(version, top, causes);
        check_selectable(version, top, causes);
        check_scale(version, top, causes);
        let schema = &version["schema"]["openAPIV3Schema"];
        if schema.is_null() {
            let why = if version["schema"].is_null() {
                "schemas are required"
            } else {
                ""
            };
            causes.push(Cause::required(format!("{path}.schema.openAPIV3Schema"), why));
        } else {
            // One schema for all versions is shown where older definitions had it.
            let path = if is_only {
                "spec.validation.openAPIV3Schema".to_owned()
            } else {
                format!("{path}.schema.openAPIV3Schema")
            };
            causes.extend(check_structural(schema, &path).into_iter().map(Cause::from));
        }
    }
    for version in known.into_iter().flatten() {
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

/// The versions as the real server shows its own type; the schema of an only version lies elsewhere in it.
fn shown_versions(object: &Value) -> String {
    let is_only = versions(object).count() == 1;
    let shown: Vec<String> = versions(object)
        .map(|version| {
            let or_null = |key: &str| if is_only { "null".to_owned() } else { version[key].to_string() };
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\
                 \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
                version["name"],
                version["served"] == true,
                version["storage"] == true,
                version["deprecated"] == true,
                version["deprecationWarning"],
                or_null("schema"),
                or_null("subresources"),
                or_null("additionalPrinterColumns"),
                or_null("selectableFields"),
            )
        })
        .collect();
    if shown.is_empty() {
        "null".to_owned()
    } else {
        format!("[{}]", shown.join(","))
    }
}

fn check_names(names: &Value, causes: &mut Vec<Cause>) {
    for (key, mixed) in [
        ("plural", false),
        ("singular", false),
        ("kind", true),
        ("listKind", true),
    ] {
        let field = format!("spec.names.{key}");
        let value = names[key].as_str().unwrap_or_default();
        if value.is_empty() {
            causes.push(Cause::required(field, ""));
            continue;
        }
        let checked = if mixed {
            value.to_lowercase()
        } else {
            value.to_owned()
        };
        for why in names::dns_1035(&checked) {
            let why = if mixed {
                format!("may have mixed case, but should otherwise match: {why}")
            } else {
                why
            };
            causes.push(Cause::invalid(&field, &names[key], why));
        }
    }
    for key in ["shortNames", "categories"] {
        for (at, name) in names[key].as_array().into_iter().flatten().enumerate() {
            for why in names::dns_1035(name.as_str().unwrap_or_default()) {
                causes.push(Cause::invalid(format!("spec.names.{key}[{at}]"), name, why));
            }
        }
    }
}

/// The groups of Kubernetes itself need its approval.
fn check_approval(object: &Value, causes: &mut Vec<Cause>) {
    let field = format!("metadata.annotations[{}]", api_approval::ANNOTATION);
    let said = &object["metadata"]["annotations"][api_approval::ANNOTATION];
    match ApiApproval::of_definition(object) {
        Some(approval @ ApiApproval::Missing) => {
            causes.push(Cause::required(field, &approval.message(object)));
        }
        Some(approval @ ApiApproval::Invalid) => {
            causes.push(Cause::invalid(field, said, approval.message(object)));
        }
        _ => {}
    }
}

fn check_columns(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let columns = version["additionalPrinterColumns"].as_array();
    for (at, column) in columns.into_iter().flatten().enumerate() {
        let path = format!("{path}.additionalPrinterColumns[{at}]");
        if column["name"].as_str().is_none_or(str::is_empty) {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
        let kind = column["type"].as_str().unwrap_or_default();
        let known = ["boolean", "date", "integer", "number", "string"];
        if kind.is_empty() {
            let why = format!("must be one of {}", known.join(","));
            causes.push(Cause::required(format!("{path}.type"), &why));
        } else if !known.contains(&kind) {
            let why = format!("must be one of {}", known.join(","));
            causes.push(Cause::invalid(format!("{path}.type"), &column["type"], why));
        }
        let place = column["jsonPath"].as_str().unwrap_or_default();
        if place.is_empty() {
            causes.push(Cause::required(format!("{path}.JSONPath"), ""));
        } else if !place.starts_with('.') {
            let why = "must be a simple json path starting with .";
            causes.push(Cause::invalid(
                format!("{path}.JSONPath"),
                &column["jsonPath"],
                why,
            ));
        }
    }
}

/// Fields that lists select by are texts, numbers or truths of the schema.
fn check_selectable(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let fields = version["selectableFields"].as_array();
    for (at, field) in fields.into_iter().flatten().enumerate() {
        let place = field["jsonPath"].as_str().unwrap_or_default();
        let found = place
            .trim_start_matches('.')
            .split('.')
            .fold(&version["schema"]["openAPIV3Schema"], |schema, key| {
                &schema["properties"][key]
            });
        let why = match found["type"].as_str() {
            Some("string" | "integer" | "boolean") => continue,
            None => "is an invalid path: does not refer to a valid field",
            Some(_) => {
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
            }
        };
        let field_path = format!("{path}.selectableFields[{at}].jsonPath");
        causes.push(Cause::invalid(field_path, &field["jsonPath"], why));
    }
}

fn check_scale(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let scale = &version["subresources"]["scale"];
    if !scale.is_object() {
        return;
    }
    for (key, root) in [("specReplicasPath", "spec"), ("statusReplicasPath", "status")] {
        let field = format!("{path}.subresources.scale.{key}");
        let place = scale[key].as_str().unwrap_or_default();
        if place.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if !place.starts_with(&format!(".{root}.")) {
            let why = format!("should be a json path under .{root}");
            causes.push(Cause::invalid(field, &scale[key], why));
        }
    }
    let place = scale["labelSelectorPath"].as_str().unwrap_or_default();
    if !place.is_empty() && ![".spec.", ".status."].iter().any(|root| place.starts_with(root)) {
        let field = format!("{path}.subresources.scale.labelSelectorPath");
        let why = "should be a json path under either .spec or .status";
        causes.push(Cause::invalid(field, &scale["labelSelectorPath"], why));
    }
}
