//! Replaces the references of a schema by the schemas that they refer to.

use kubewright_api_types::{custom_resource_schema, has_custom_resource_schema};
use serde_json::{Map, Value};

use super::keywords::{Fields, KEEPS_UNKNOWN_FIELDS, field_path, join};

/// Marks a type of Kubernetes, with its name in `kubewright-api-types`.
pub(super) const BUILT_IN: &str = "x-kubewright-built-in";
/// Marks the schema of a Rust type, with its name.
pub(super) const RUST_TYPE: &str = "x-kubewright-rust-type";

/// The start of a reference to a definition.
const DEFINITIONS: &str = "#/$defs/";
/// The packages in the schema names of k8s-openapi, the longest first.
const KUBERNETES_PACKAGES: [&str; 6] = [
    "io.k8s.apiextensions-apiserver.pkg.apis.",
    "io.k8s.kube-aggregator.pkg.apis.",
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.apimachinery.pkg.",
    "io.k8s.apimachinery.",
    "io.k8s.api.",
];

/// Types of Kubernetes that accept values of any JSON type; k8s-openapi's schemas accept objects only.
const ANY_VALUES: [&str; 4] = [
    "apiextensions.v1.JSON",
    "apiextensions.v1.JSONSchemaPropsOrArray",
    "apiextensions.v1.JSONSchemaPropsOrBool",
    "apiextensions.v1.JSONSchemaPropsOrStringArray",
];

/// Resolves all references. Replaces `anyOf` of a type and null by `nullable`.
///
/// # Errors
/// A type contains itself, or a reference has no definition.
pub(super) fn resolve(root: &mut Fields) -> Result<(), String> {
    let title = root.get("title").and_then(Value::as_str);
    let root_type = title.unwrap_or_default().to_owned();
    root.remove("$schema");
    let definitions = match root.remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let mut resolver = Resolver {
        definitions,
        outer: vec![root_type],
    };
    resolver.resolve_schema(root, "")
}

struct Resolver {
    definitions: Fields,
    /// The types around the current schema.
    outer: Vec<String>,
}

impl Resolver {
    /// Resolves the references of a schema at a path such as `spec.rules[]`.
    fn resolve_schema(&mut self, fields: &mut Fields, path: &str) -> Result<(), String> {
        unwrap_null(fields);
        let Some(Value::String(reference)) = fields.remove("$ref") else {
            return self.resolve_nested(fields, path);
        };
        let name = definition_name(&reference);
        let built_in = KUBERNETES_PACKAGES
            .iter()
            .find_map(|package| name.strip_prefix(package));
        if let Some(built_in) = built_in.filter(|built_in| has_custom_resource_schema(built_in)) {
            fields.insert(BUILT_IN.to_owned(), built_in.into());
            return Ok(());
        }
        if built_in.is_some_and(|built_in| ANY_VALUES.contains(&built_in)) {
            fields.insert(KEEPS_UNKNOWN_FIELDS.to_owned(), true.into());
            return Ok(());
        }
        if built_in.is_some() && self.outer.contains(&name) {
            fields.insert("type".to_owned(), "object".into());
            fields.insert(KEEPS_UNKNOWN_FIELDS.to_owned(), true.into());
            return Ok(());
        }
        // Other versions of Kubernetes' types, such as alpha ones, have the schema of k8s-openapi.
        let mut resolved = self.definition(&name, path)?;
        self.outer.push(name.clone());
        self.resolve_schema(&mut resolved, path)?;
        self.outer.pop();
        // What stands beside the reference is the field's, such as its description and its default, or the tag of an enum's variant.
        join(fields, resolved);
        fields.insert(RUST_TYPE.to_owned(), name.into());
        Ok(())
    }

    /// Resolves the references of the schemas within a schema.
    fn resolve_nested(&mut self, fields: &mut Fields, path: &str) -> Result<(), String> {
        let element = format!("{path}[]");
        for (keyword, value) in fields {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for (name, schema) in properties {
                        self.resolve_value(schema, &field_path(path, name))?;
                    }
                }
                ("patternProperties", Value::Object(patterns)) => {
                    for schema in patterns.values_mut() {
                        self.resolve_value(schema, &element)?;
                    }
                }
                ("items" | "prefixItems", Value::Array(schemas)) => {
                    for schema in schemas {
                        self.resolve_value(schema, &element)?;
                    }
                }
                (
                    "items"
                    | "additionalItems"
                    | "additionalProperties"
                    | "contains"
                    | "unevaluatedProperties",
                    schema,
                ) => {
                    self.resolve_value(schema, &element)?;
                }
                ("$defs" | "definitions", Value::Object(definitions)) => {
                    for schema in definitions.values_mut() {
                        self.resolve_value(schema, path)?;
                    }
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                    for schema in schemas {
                        self.resolve_value(schema, path)?;
                    }
                }
                ("not" | "if" | "then" | "else" | "propertyNames", schema) => {
                    self.resolve_value(schema, path)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn resolve_value(&mut self, schema: &mut Value, path: &str) -> Result<(), String> {
        match schema {
            Value::Object(fields) => self.resolve_schema(fields, path),
            _ => Ok(()),
        }
    }

    fn definition(&self, name: &str, path: &str) -> Result<Fields, String> {
        let path = if path.is_empty() { "the object" } else { path };
        if let Some(first) = self.outer.iter().position(|outer| outer == name) {
            let cycle = self.outer[first..].join(" → ");
            return Err(format!(
                "{path}: type {name} contains itself ({cycle} → {name}), and schemas of custom resources cannot: accept any value in this field \
                 with `#[schemars(with = \"serde_json::Value\", extend(\"{KEEPS_UNKNOWN_FIELDS}\" = true))]` \
                 (`Option<serde_json::Value>` for an `Option`), or limit the depth with types of their own"
            ));
        }
        let found = self.definitions.get(name).and_then(Value::as_object);
        found.cloned().ok_or_else(|| {
            format!(
                "{path}: the schema refers to {name}, which it does not define: correct the implementation of `JsonSchema`"
            )
        })
    }
}

/// Replaces the mark of a type of Kubernetes by its schema.
pub(super) fn insert_built_in(fields: &mut Fields) {
    let name = fields.remove(BUILT_IN);
    let schema = name
        .as_ref()
        .and_then(Value::as_str)
        .and_then(custom_resource_schema);
    if let Some(Value::Object(schema)) = schema {
        join(fields, schema);
    }
}

/// Returns the name in a reference. The root, `#`, has the name of its type.
fn definition_name(reference: &str) -> String {
    let name = reference.strip_prefix(DEFINITIONS).unwrap_or(reference);
    name.replace("~1", "/").replace("~0", "~")
}

/// Replaces `anyOf: [X, {type: null}]`, which is an `Option` of a referred type, by X with `nullable`.
pub(super) fn unwrap_null(fields: &mut Map<String, Value>) {
    let is_option = matches!(fields.get("anyOf").and_then(Value::as_array).map(Vec::as_slice), Some([_, second]) if is_null_type(second));
    if !is_option {
        return;
    }
    let Some(Value::Array(variants)) = fields.remove("anyOf") else {
        return;
    };
    if let Some(Value::Object(first)) = variants.into_iter().next() {
        for (key, value) in first {
            fields.entry(key).or_insert(value);
        }
    }
    fields.insert("nullable".to_owned(), true.into());
}

fn is_null_type(schema: &Value) -> bool {
    schema
        .as_object()
        .is_some_and(|fields| fields.len() == 1 && fields.get("type").is_some_and(|ty| ty == "null"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolved(schema: Value) -> Result<Value, String> {
        let Value::Object(mut fields) = schema else {
            panic!("{schema} is not an object");
        };
        resolve(&mut fields).map(|()| fields.into())
    }

    #[test]
    fn references_are_resolved_below_all_keywords_with_schemas() {
        let reference = json!({"$ref": "#/$defs/Name"});
        for schema in [
            json!({"properties": {"a": reference}}),
            json!({"patternProperties": {"a": reference}}),
            json!({"additionalProperties": reference}),
            json!({"propertyNames": reference}),
            json!({"items": reference}),
            json!({"items": [reference]}),
            json!({"additionalItems": reference}),
            json!({"not": {"anyOf": [reference]}}),
            json!({"properties": {"a": {"$defs": {"b": reference}}}}),
            json!({"definitions": {"b": reference}}),
        ] {
            let mut with_definition = schema.clone();
            with_definition["$defs"] = json!({"Name": {"type": "string"}});
            let text = resolved(with_definition).unwrap().to_string();
            assert!(
                !text.contains("$ref") && text.contains("\"string\""),
                "{schema}: {text}"
            );
        }
    }

    #[test]
    fn errors_of_the_root_are_of_the_object() {
        let error = resolved(json!({"title": "Foo", "allOf": [{"$ref": "#/$defs/Bar"}]})).unwrap_err();
        assert!(
            error.starts_with("the object: the schema refers to Bar, which it does not define"),
            "{error}"
        );
    }
}
