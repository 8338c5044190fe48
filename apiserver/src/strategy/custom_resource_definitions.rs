//! The strategy of CustomResourceDefinitions: default names and validation.

mod root;

use super::definition_version::{check_columns, check_deprecation_warning, check_scale};
use super::selectable_fields;
use crate::builtin;
use crate::crd::api_approval::{self, ApiApproval};
use crate::crd::invalid_ca_bundle;
use crate::meta::{self, names, text};
use crate::schema::{check_structural, decode_defaults};
use crate::status::Cause;
use crate::types::ExplicitEmptyFields;
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(super) fn prepare(object: &mut Value, old: Option<&Value>) {
    let spec = meta::entry_mut(object, "spec");
    let conversion = spec.entry("conversion").or_insert(Value::Null);
    if conversion.is_null() {
        *conversion = json!({ "strategy": "None" });
    }
    // kube-apiserver's internal type has the fields of the webhook in the conversion itself.
    let webhook = &conversion["webhook"];
    let has_versions = webhook["conversionReviewVersions"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    if webhook["clientConfig"].is_null()
        && !has_versions
        && let Some(conversion) = conversion.as_object_mut()
    {
        conversion.remove("webhook");
    }
    let versions_mut = object["spec"].get_mut("versions").and_then(Value::as_array_mut);
    for version in versions_mut.into_iter().flatten() {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            decode_defaults(schema);
        }
    }
    let stored = versions(object)
        .find(|version| version["storage"] == true)
        .map(|version| version["name"].clone());
    let kind = text(&object["spec"]["names"], "kind").to_owned();
    let names = meta::entry_mut(&mut object["spec"], "names");
    let is_unset = |value: Option<&Value>| value.and_then(Value::as_str).is_none_or(str::is_empty);
    if !kind.is_empty() {
        if is_unset(names.get("singular")) {
            names.insert("singular".into(), json!(kind.to_lowercase()));
        }
        if is_unset(names.get("listKind")) {
            names.insert("listKind".into(), json!(format!("{kind}List")));
        }
    }
    let current_spec = object["spec"].clone();
    let status = meta::entry_mut(object, "status");
    if old.is_none() {
        *status = serde_json::Map::new();
        status.insert("conditions".into(), Value::Null);
        status.insert("acceptedNames".into(), json!({ "plural": "", "kind": "" }));
    }
    // A client that writes only the status may remove stored versions, but not all.
    let is_status = old.is_some_and(|old| old["spec"] == current_spec);
    let known = status.entry("storedVersions").or_insert_with(|| json!([]));
    if known.is_null() {
        *known = json!([]);
    }
    if let Value::Array(known) = known
        && (!is_status || known.is_empty())
    {
        known.extend(stored.filter(|version| !known.contains(version)));
    }
}

pub(super) fn validate(object: &Value, old: Option<&Value>, empties: &ExplicitEmptyFields) -> Vec<Cause> {
    let mut causes = vec![];
    let spec = &object["spec"];
    let (group, plural) = (text(spec, "group"), text(&spec["names"], "plural"));
    let name = format!("{plural}.{group}");
    // For an update, the immutable field is reported instead.
    let metadata = &object["metadata"];
    for key in ["generateName", "name"] {
        if old.is_none() && !text(metadata, key).is_empty() && text(metadata, key) != name {
            let reason = "must be spec.names.plural+\".\"+spec.group";
            causes.push(Cause::invalid(format!("metadata.{key}"), &metadata[key], reason));
        }
    }
    let group_errors = names::subdomain_errors(group);
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if !group_errors.is_empty() {
        causes.push(Cause::invalid(
            "spec.group",
            &spec["group"],
            group_errors.join(","),
        ));
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
    check_versions(object, empties, &mut causes);
    let invalid_ca_bundle = check_ca_bundle(spec, old);
    let conversion = builtin::validate_conversion(
        &spec["conversion"],
        "spec.conversion",
        invalid_ca_bundle.as_deref(),
    );
    causes.extend(conversion.into_iter().map(Cause::from));
    check_names(&spec["names"], "spec.names", true, &mut causes);
    check_stored_versions(object, &mut causes);
    check_preserve_unknown_fields(spec, old, &mut causes);
    check_approval(object, old, &mut causes);
    if let Some(old) = old {
        check_immutable(spec, old, &mut causes);
    }
    causes
}

/// Refuses changes of what identifies the resource, and, once the definition is established, of what its objects depend on.
fn check_immutable(spec: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let is_established = meta::has_condition(old, "Established");
    for (field, always) in [
        ("group", true),
        ("scope", false),
        ("names/plural", true),
        ("names/kind", false),
    ] {
        let pointer = format!("/{field}");
        let value = spec.pointer(&pointer).unwrap_or(&Value::Null);
        if (always || is_established) && old["spec"].pointer(&pointer).unwrap_or(&Value::Null) != value {
            let field = format!("spec.{}", field.replace('/', "."));
            causes.push(Cause::invalid(field, value, "field is immutable"));
        }
    }
}

/// Returns why the bundle of the conversion webhook is refused. An invalid one is allowed until the definition is established, so that it can
/// be created before its operator has certificates, and where the old one was invalid.
fn check_ca_bundle(spec: &Value, old: Option<&Value>) -> Option<String> {
    let old = old.filter(|old| meta::has_condition(old, "Established"))?;
    let error = invalid_ca_bundle(spec)?;
    invalid_ca_bundle(&old["spec"]).is_none().then_some(error)
}

/// Checks `preserveUnknownFields` of the first version of the API, which a definition may only keep.
fn check_preserve_unknown_fields(spec: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    const FIELD: &str = "spec.preserveUnknownFields";
    if spec["preserveUnknownFields"] != true {
        return;
    }
    if old.is_none_or(|old| old["spec"]["preserveUnknownFields"] != true) {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        causes.push(Cause::invalid(FIELD, &spec["preserveUnknownFields"], why));
    }
    let versions = spec["versions"].as_array().into_iter().flatten();
    let mut schemas = versions.map(|version| &version["schema"]["openAPIV3Schema"]);
    if schemas.any(has_default) {
        let why = "must be false in order to use defaults in the schema";
        causes.push(Cause::invalid(FIELD, &spec["preserveUnknownFields"], why));
    }
    let strategy = text(&spec["conversion"], "strategy");
    if strategy != "None" {
        let why = format!("must be None if {FIELD} is true");
        causes.push(Cause::invalid("spec.conversion.strategy", &json!(strategy), why));
    }
}

/// Whether a schema, or one within it, has a default.
fn has_default(schema: &Value) -> bool {
    // Indexing a missing schema gives null, and so on forever.
    if !schema.is_object() {
        return false;
    }
    let mut fields = schema["properties"].as_object().into_iter().flatten();
    let nested = ["items", "additionalProperties", "not"].map(|name| &schema[name]);
    let branches = ["allOf", "anyOf", "oneOf"].map(|name| &schema[name]);
    let mut branches = branches.into_iter().filter_map(Value::as_array).flatten();
    !schema["default"].is_null()
        || fields.any(|(_, schema)| has_default(schema))
        || nested.into_iter().any(has_default)
        || branches.any(has_default)
}

fn check_versions(object: &Value, empties: &ExplicitEmptyFields, causes: &mut Vec<Cause>) {
    let mut refuse_all = |reason: &str| {
        let formatted = format!("Invalid value: {}: {reason}", format_versions(object));
        causes.push(Cause::new("FieldValueInvalid", "spec.versions", formatted));
    };
    let names: BTreeSet<&str> = versions(object).map(|version| text(version, "name")).collect();
    if names.len() != versions(object).count() {
        refuse_all("must contain unique version names");
    }
    let stored = versions(object).filter(|version| version["storage"] == true);
    if stored.count() != 1 {
        refuse_all("must have exactly one version marked as storage version");
    }
    let shared = SharedFields::of(object);
    for (at, version) in versions(object).enumerate() {
        let path = format!("spec.versions[{at}]");
        for reason in names::dns_1035_errors(text(version, "name")) {
            causes.push(Cause::invalid(
                format!("{path}.name"),
                &json!(text(version, "name")),
                reason,
            ));
            // The deprecated `spec.version`, which is set from it, is validated, too.
            if at == 0 && !text(version, "name").is_empty() {
                causes.push(Cause::invalid("spec.version", &version["name"], reason));
            }
        }
        check_deprecation_warning(version, &path, causes);
        if let Some(parent) = shared.parent("additionalPrinterColumns", at) {
            check_columns(version, &parent, causes);
        }
        if let Some(parent) = shared.parent("selectableFields", at) {
            check_selectable(version, &parent, &shared, causes);
        }
        if let Some(parent) = shared.parent("subresources", at) {
            check_scale(version, &parent, causes);
        }
        check_schema(object, (at, version), empties, &shared, causes);
    }
}

fn check_schema(
    object: &Value,
    (at, version): (usize, &Value),
    empties: &ExplicitEmptyFields,
    shared: &SharedFields,
    causes: &mut Vec<Cause>,
) {
    let schema = &version["schema"]["openAPIV3Schema"];
    if schema.is_null() {
        let field = format!("spec.versions[{at}].schema.openAPIV3Schema");
        causes.push(Cause::required(field, ""));
    } else if let Some(parent) = shared.parent("schema", at) {
        // The top level has another name for it.
        let name = if shared.has("schema") {
            "validation"
        } else {
            "schema"
        };
        let path = format!("{parent}.{name}.openAPIV3Schema");
        let has_status = |version: &Value| !version["subresources"]["status"].is_null();
        let is_status_enabled = if shared.has("schema") {
            versions(object).any(has_status)
        } else {
            // Of several versions with the same name, the first counts.
            versions(object)
                .find(|other| other["name"] == version["name"])
                .is_some_and(has_status)
        };
        if is_status_enabled {
            let sent = format!("spec.versions[{at}].schema.openAPIV3Schema");
            let is_empty = |name: &str| empties.contains(&format!("{sent}.{name}"));
            root::check(schema, is_empty, &path, causes);
        }
        causes.extend(check_structural(schema, &path).into_iter().map(Cause::from));
    }
}

fn check_stored_versions(object: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "status.storedVersions";
    let value = &object["status"]["storedVersions"];
    let known = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if known.is_empty() {
        let reason = "must have at least one stored version";
        causes.push(Cause::invalid(FIELD, &Value::Null, reason));
        return;
    }
    for version in versions(object) {
        if version["storage"] == true && !known.contains(&version["name"]) {
            let reason = format!("must have the storage version {}", text(version, "name"));
            causes.push(Cause::invalid(FIELD, value, reason));
        }
    }
    for (at, version) in known.iter().enumerate() {
        if !versions(object).any(|known| known["name"] == *version) {
            let reason = format!(
                "missing from spec.versions; {} was previously a storage version, and must remain in spec.versions until \
                a storage migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions",
                version.as_str().unwrap_or_default()
            );
            causes.push(Cause::invalid(format!("{FIELD}[{at}]"), version, reason));
        }
    }
}

/// The fields that all versions have in common. kube-apiserver's internal type has these at the top level, as the first version of the API
/// did, and validates them there, once.
struct SharedFields(Vec<&'static str>);

impl SharedFields {
    fn of(object: &Value) -> Self {
        let mut fields = vec![
            "schema",
            "subresources",
            "additionalPrinterColumns",
            "selectableFields",
        ];
        let first = versions(object).next().unwrap_or(&Value::Null);
        fields.retain(|field| versions(object).all(|version| version[field] == first[field]));
        Self(fields)
    }

    fn has(&self, field: &str) -> bool {
        self.0.contains(&field)
    }

    /// Returns the path of what contains this field of a version, or `None` if it was validated with the first version.
    fn parent(&self, field: &str, at: usize) -> Option<String> {
        match (self.has(field), at) {
            (false, _) => Some(format!("spec.versions[{at}]")),
            (true, 0) => Some("spec".to_owned()),
            (true, _) => None,
        }
    }
}

fn versions(object: &Value) -> impl Iterator<Item = &Value> {
    object["spec"]["versions"].as_array().into_iter().flatten()
}

/// Formats the versions as kube-apiserver's internal type.
fn format_versions(object: &Value) -> String {
    let shared = SharedFields::of(object);
    let formatted: Vec<String> = versions(object)
        .map(|version| {
            let or_null = |key: &str| {
                if shared.has(key) {
                    "null".to_owned()
                } else {
                    version[key].to_string()
                }
            };
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
    if formatted.is_empty() {
        "null".to_owned()
    } else {
        format!("[{}]", formatted.join(","))
    }
}

/// Validates a write to the status.
pub(crate) fn validate_status(definition: &Value) -> Vec<Cause> {
    let metadata = builtin::validate_metadata(&definition["metadata"], "metadata");
    let mut causes = metadata.into_iter().map(Cause::from).collect();
    let names = &definition["status"]["acceptedNames"];
    check_names(names, "status.acceptedNames", false, &mut causes);
    causes
}

/// `are_required`: each name must be set.
fn check_names(names: &Value, path: &str, are_required: bool, causes: &mut Vec<Cause>) {
    for (key, mixed) in [
        ("plural", false),
        ("singular", false),
        ("kind", true),
        ("listKind", true),
    ] {
        let field = format!("{path}.{key}");
        let value = names[key].as_str().unwrap_or_default();
        if value.is_empty() {
            if are_required {
                causes.push(Cause::required(field, ""));
            }
            continue;
        }
        let checked = if mixed {
            value.to_lowercase()
        } else {
            value.to_owned()
        };
        for reason in names::dns_1035_errors(&checked) {
            let reason = if mixed {
                format!("may have mixed case, but should otherwise match: {reason}")
            } else {
                reason.to_owned()
            };
            causes.push(Cause::invalid(&field, &names[key], reason));
        }
    }
    let kind = &names["kind"];
    if *kind == names["listKind"] && kind.as_str().is_some_and(|kind| !kind.is_empty()) {
        let reason = "kind and listKind may not be the same";
        causes.push(Cause::invalid(format!("{path}.listKind"), kind, reason));
    }
    for key in ["shortNames", "categories"] {
        for (at, name) in names[key].as_array().into_iter().flatten().enumerate() {
            for reason in names::dns_1035_errors(name.as_str().unwrap_or_default()) {
                causes.push(Cause::invalid(format!("{path}.{key}[{at}]"), name, reason));
            }
        }
    }
}

/// The API groups of Kubernetes require an api_approval annotation. An update may leave it as it is.
fn check_approval(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let field = format!("metadata.annotations[{}]", api_approval::ANNOTATION);
    let annotation = &object["metadata"]["annotations"][api_approval::ANNOTATION];
    let known = old.and_then(ApiApproval::of_definition);
    let api_approval = ApiApproval::of_definition(object);
    match api_approval.filter(|api_approval| known != Some(*api_approval)) {
        Some(api_approval @ ApiApproval::Missing) => {
            causes.push(Cause::required(field, &api_approval.message(object)));
        }
        Some(api_approval @ ApiApproval::Invalid) => {
            causes.push(Cause::invalid(field, annotation, api_approval.message(object)));
        }
        _ => {}
    }
}

/// Requires selectable fields to be fields of the schema.
fn check_selectable(version: &Value, path: &str, shared: &SharedFields, causes: &mut Vec<Cause>) {
    let fields = version["selectableFields"].as_array();
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        return;
    };
    let (is_at_top, schema) = (shared.has("selectableFields"), &version["schema"]);
    let is_missing = if is_at_top {
        schema.is_null()
    } else {
        schema["openAPIV3Schema"].is_null()
    };
    let path = format!("{path}.selectableFields");
    if is_missing || is_at_top != shared.has("schema") {
        // kube-apiserver finds no schema, since it looks in the same place only. The texts are its own.
        let reason = if is_at_top {
            "may only be set when validations.schema is included"
        } else {
            "may only be set when `version.schema.openAPIV3Schema` is not included"
        };
        return causes.push(Cause::invalid(path, &json!(""), reason));
    }
    selectable_fields::check(fields, &schema["openAPIV3Schema"], &path, causes);
}
