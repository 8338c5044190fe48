//! Makes the CustomResourceDefinition of a kind: kube's, with a schema of our own. Only the code of `#[derive(Informer)]` calls this.
//!
//! schemars generates the schema, in these steps. `nulls` decides which fields are nullable. `references` inlines references, and replaces
//! types of Kubernetes by a mark with their name. `unknown_keywords` refuses misspelt keywords. `structural` makes it structural: it lifts the
//! fields of an enum's `variants` to the enum, where `merge` makes one schema of those that several variants have for a field. `finish` replaces
//! the marks by the schemas that Kubernetes publishes (package `kubewright-api-types`), those that a struct flattens included (`flattened`), and
//! removes what the API server does not know.
//!
//! It differs from kube's schema in this:
//! - Types of Kubernetes have their list types, map keys, formats and required fields. A list of conditions is a map by `type`.
//! - A field with `skip_serializing_if` is not nullable.
//! - There is no `title`. Integers have a format that the API server knows.
//! - Enums with `#[serde(tag = "…")]` have a schema, and some with `#[serde(untagged)]` that kube's lacks. An enum that cannot have one is an error
//!   with the field's path.

mod finish;
mod flattened;
mod int_or_string;
mod keywords;
mod merge;
mod nulls;
mod references;
mod structural;
mod unknown_keywords;
mod variant_errors;
mod variants;

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation, JSONSchemaProps,
};
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::Value;

/// Adds the schema of `K` to a definition that kube makes without one: kube's own schema generation panics for enums with a tag.
///
/// # Panics
/// If the schema cannot be structural, such as that of a type that contains itself, with the reason.
pub fn definition<K: JsonSchema>(crd: impl FnOnce() -> CustomResourceDefinition) -> CustomResourceDefinition {
    let schema = serde_json::from_value::<JSONSchemaProps>(schema::<K>().0);
    let mut crd = crd();
    let schema = schema.unwrap_or_else(|error| {
        panic!("the schema is not one of a custom resource: {error}: correct the `#[schemars(…)]` attribute")
    });
    for version in &mut crd.spec.versions {
        version.schema = Some(CustomResourceValidation {
            open_api_v3_schema: Some(schema.clone()),
        });
    }
    crd
}

/// Returns the names of the Rust types of the schema's objects, by path: `spec` is `FooSpec`, `spec.rules[]` is `Rule`.
pub fn rust_types<K: JsonSchema>() -> BTreeMap<String, String> {
    schema::<K>().1
}

fn schema<K: JsonSchema>() -> (Value, BTreeMap<String, String>) {
    // The titles name the variants of untagged enums.
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.untagged_enum_variant_titles = true);
    let read = settings.clone().for_deserialize().into_generator();
    let written = settings.for_serialize().into_generator();
    let [read, written] = [read, written].map(|generator| generator.into_root_schema_for::<K>().to_value());
    structural_schema(read, &written).unwrap_or_else(|reason| panic!("{reason}"))
}

/// Makes the schema of a custom resource of what schemars generates for deserialization and serialization.
fn structural_schema(read: Value, written: &Value) -> Result<(Value, BTreeMap<String, String>), String> {
    let mut schema = read;
    nulls::restrict(&mut schema, written);
    if let Value::Object(fields) = &mut schema {
        references::resolve(fields)?;
    }
    unknown_keywords::check(&schema)?;
    let mut schema = Schema::try_from(schema).unwrap_or_default();
    // Without references, these transforms see what they see in kube's schema.
    for transform in &mut SchemaSettings::openapi3().transforms {
        transform.transform(&mut schema);
    }
    let mut schema = schema.to_value();
    structural::make_structural(&mut schema)?;
    let types = finish::finish(&mut schema);
    Ok((schema, types))
}

#[cfg(test)]
#[path = "random_enums_tests.rs"]
mod random_enums;
#[cfg(test)]
mod tests;
