//! Replaces the references of a schema by the schemas that they refer to.

use kubewright_api_types::{custom_resource_schema, has_custom_resource_schema};
use schemars::{
    Schema,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Map, Value};

use super::keywords::{Fields, KEEPS_UNKNOWN_FIELDS, join};

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
pub(super) fn resolve(root: &mut Schema) -> Result<(), String> {
    let root_type = root
        .get("title")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let definitions = root.remove("$defs");
    root.remove("$schema");
    let mut resolver = Resolver {
        definitions: match definitions {
            Some(Value::Object(definitions)) => definitions,
            _ => Map::new(),
        },
        outer: vec![root_type],
        error: None,
    };
    resolver.transform(root);
    resolver.error.map_or(Ok(()), Err)
}

struct Resolver {
    definitions: Map<String, Value>,
    /// The types around the current schema.
    outer: Vec<String>,
    error: Option<String>,
}

impl Transform for Resolver {
    fn transform(&mut self, schema: &mut Schema) {
        let Some(fields) = schema.as_object_mut() else {
            return;
        };
        unwrap_null(fields);
        let Some(Value::String(reference)) = fields.remove("$ref") else {
            transform_subschemas(self, schema);
            return;
        };
        let name = definition_name(&reference);
        let built_in = KUBERNETES_PACKAGES
            .iter()
            .find_map(|package| name.strip_prefix(package));
        if let Some(built_in) = built_in.filter(|built_in| has_custom_resource_schema(built_in)) {
            fields.insert(BUILT_IN.to_owned(), built_in.into());
            return;
        }
        if built_in.is_some_and(|built_in| ANY_VALUES.contains(&built_in)) {
            fields.insert(KEEPS_UNKNOWN_FIELDS.to_owned(), true.into());
            return;
        }
        if built_in.is_some() && self.outer.contains(&name) {
            fields.insert("type".to_owned(), "object".into());
            fields.insert(KEEPS_UNKNOWN_FIELDS.to_owned(), true.into());
            return;
        }
        // Other versions of Kubernetes' types, such as alpha ones, have the schema of k8s-openapi.
        let Some(definition) = self.definition(&name) else {
            return;
        };
        let mut resolved = Schema::from(definition);
        self.outer.push(name.clone());
        self.transform(&mut resolved);
        self.outer.pop();
        // What stands beside the reference is the field's, such as its description and its default, or the tag of an enum's variant.
        if let Value::Object(resolved) = resolved.to_value() {
            join(fields, resolved);
        }
        fields.insert(RUST_TYPE.to_owned(), name.into());
    }
}

impl Resolver {
    fn definition(&mut self, name: &str) -> Option<Map<String, Value>> {
        if let Some(first) = self.outer.iter().position(|outer| outer == name) {
            let cycle = self.outer[first..].join(" → ");
            self.error.get_or_insert_with(|| {
                format!(
                    "type {name} contains itself ({cycle} → {name}), and schemas of custom resources cannot: give the inner field \
                     `#[schemars(schema_with = …)]` with `x-kubernetes-preserve-unknown-fields`, or limit the depth with types of their own"
                )
            });
            return None;
        }
        let found = self.definitions.get(name).and_then(Value::as_object).cloned();
        if found.is_none() {
            self.error
                .get_or_insert_with(|| format!("the schema refers to {name}, which it does not define: correct the implementation of `JsonSchema`"));
        }
        found
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
