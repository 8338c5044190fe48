//! Schemas of custom resources: pruning, defaulting and validation of objects, and checks of the schemas themselves.
//!
//! A request's object goes through [`Schema::decode`] and [`Schema::default`], in this order, and is then validated. Stored objects are
//! pruned and defaulted on read. All functions take the schema as
//! JSON, and none panics on a schema that is not structural; [`check_structural`] validates schemas.

mod completeness;
mod defaults;
mod email;
mod embedded_resources;
mod enumeration;
mod field_path;
mod format;
mod list_types;
mod lists;
mod numbered_formats;
mod numbers;
mod prune;
mod rule_checks;
mod rule_costs;
#[cfg(feature = "cel")]
mod rule_program;
#[cfg(feature = "cel")]
mod rule_text;
#[cfg(feature = "cel")]
mod rule_values;
#[cfg(feature = "cel")]
mod rules;
#[cfg(not(feature = "cel"))]
#[path = "rules_disabled.rs"]
mod rules;
mod schema_checks;
mod schema_type;
mod shown;
mod structural;
mod type_check;
mod unchanged;
mod validate;
#[cfg(feature = "cel")]
mod value_types;

pub use defaults::decode_defaults;
pub use format::is_recognized_format;
pub use schema_type::type_of;
pub use structural::check_structural;

use crate::field::{FieldError, FieldErrorKind};
use crate::types::Type;
use rules::Rules;
use serde_json::Value;
use validate::{Patterns, Validator};

/// The schema of a version, prepared for validation.
#[derive(Debug)]
pub struct Schema {
    document: Value,
    patterns: Patterns,
    rules: Option<Rules>,
    ty: Type,
    has_metadata_defaults: bool,
}

impl Schema {
    /// Prepares an `openAPIV3Schema`; null is a schema that allows anything.
    pub fn new(schema: &Value) -> Self {
        let mut patterns = Patterns::new();
        validate::patterns(schema, &mut patterns);
        Self {
            document: schema.clone(),
            patterns,
            rules: Rules::compile(schema),
            ty: type_of(schema),
            has_metadata_defaults: embedded_resources::have_metadata_defaults(schema),
        }
    }

    /// The type, for server-side apply.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Decodes an object of a request: removes fields that are not in the schema, then nulls like [`Self::drop_nulls`], unless the object is
    /// the result of an apply, and normalizes the metadata of embedded resources. Returns the paths of the removed fields, such as
    /// `spec.a[0].b`: those in the object's metadata first, those in embedded resources last. A strict decoder reports them as
    /// `unknown field "PATH"`.
    ///
    /// # Errors
    ///
    /// If the metadata of an embedded resource has a value of a wrong type.
    pub fn decode(&self, object: &mut Value, is_applied: bool) -> Result<Vec<String>, FieldError> {
        let mut unknown = self.prune_fields(object);
        if !is_applied {
            self.drop_nulls(object);
        }
        let mut embedded = Vec::new();
        embedded_resources::decode(object, &self.document, "", false, &mut embedded)?;
        embedded.sort();
        unknown.append(&mut embedded);
        Ok(unknown)
    }

    /// Removes fields that are not in the schema from a stored object, and malformed metadata from its embedded resources.
    pub fn prune(&self, object: &mut Value) {
        self.prune_fields(object);
        // Malformed metadata is removed, so it is no error.
        embedded_resources::decode(object, &self.document, "", true, &mut Vec::new()).ok();
    }

    fn prune_fields(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        if let Some(metadata) = object.get_mut("metadata") {
            unknown = embedded_resources::prune_metadata(metadata, "metadata");
            unknown.sort();
        }
        let mut fields = Vec::new();
        prune::prune(object, &self.document, true, "", &mut fields);
        fields.sort();
        unknown.append(&mut fields);
        unknown
    }

    /// Removes null fields that are neither nullable nor have a default.
    pub fn drop_nulls(&self, object: &mut Value) {
        prune::drop_nulls(object, &self.document);
    }

    /// Sets defaults. Those of the metadata of embedded resources may have fields that metadata does not have, which are left out.
    pub fn default(&self, object: &mut Value) {
        prune::default(object, &self.document);
        if self.has_metadata_defaults {
            // Malformed metadata is removed, so it is no error.
            embedded_resources::decode(object, &self.document, "", true, &mut Vec::new()).ok();
        }
    }

    /// Validates an object: types and bounds, then embedded resources and list types, then the rules, unless earlier errors prevent their
    /// evaluation. The object's own metadata is not validated.
    ///
    /// `old` is the stored object of an update: errors of unchanged fields are not reported (ratcheting), and transition rules compare with
    /// it.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = self.validator().validate(object, old, &self.document, "").errors;
        embedded_resources::check(object, &self.document, "", &mut errors);
        self.check_lists_and_rules(object, old, &mut errors);
        errors
    }

    /// Validates an object of which only the status is written: the types and bounds of its status, and the list types and rules of all of
    /// it.
    pub fn validate_status(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Some(status) = object.get("status") {
            let schema = &self.document["properties"]["status"];
            let result = self
                .validator()
                .validate(status, old.get("status"), schema, "status");
            errors = result.errors;
        }
        self.check_lists_and_rules(object, Some(old), &mut errors);
        errors
    }

    /// Returns the violations of rules by values that an update leaves unchanged. They are no errors, so clients are warned of them.
    pub fn unchanged_violations(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        self.violations(object, Some(old)).unchanged
    }

    fn violations(&self, object: &Value, old: Option<&Value>) -> Violations {
        let mut found = Violations::default();
        if let Some(rules) = &self.rules {
            rules.check(object, old, &self.document, &mut found);
        }
        found
    }

    fn validator(&self) -> Validator<'_> {
        Validator {
            patterns: &self.patterns,
            keeps_formats: false,
        }
    }

    fn check_lists_and_rules(&self, object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
        let duplicates = |object: &Value| {
            let mut errors = Vec::new();
            lists::duplicates(object, &self.document, "", &mut errors);
            errors
        };
        if old.is_none_or(|old| duplicates(old).is_empty()) {
            errors.extend(duplicates(object));
        }
        if self.rules.is_none() {
            return;
        }
        let blocks = |error: &FieldError| {
            use FieldErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
            matches!(
                error.kind,
                NotSupported | Required | TooLong | TooMany | TypeInvalid
            )
        };
        if errors.iter().any(blocks) {
            errors.push(validate::rules_not_checked());
        } else {
            errors.extend(self.violations(object, old).errors);
        }
    }
}

/// Returns the path of a field.
fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Returns the schema of a field.
fn field_schema<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let values = Some(&schema["additionalProperties"]).filter(|values| values.is_object());
    schema["properties"].get(name).or(values)
}

/// Returns the schema and the path of a field of the object at a path.
fn field_schema_at<'a>(schema: &'a Value, name: &str, path: &str) -> Option<(&'a Value, String)> {
    if let Some(schema) = schema["properties"].get(name) {
        return Some((schema, join(path, name)));
    }
    let values = &schema["additionalProperties"];
    values.is_object().then(|| (values, format!("{path}[{name}]")))
}

/// What violates the rules of a schema.
#[derive(Debug, Default)]
struct Violations {
    errors: Vec<FieldError>,
    /// Violations by values that an update leaves unchanged, which are no errors.
    unchanged: Vec<FieldError>,
    /// Whether a rule was too expensive: no further ones are evaluated.
    #[cfg(feature = "cel")]
    is_over_cost: bool,
    /// The steps of all evaluations.
    #[cfg(feature = "cel")]
    steps: usize,
}

#[cfg(test)]
mod rule_tests;
#[cfg(test)]
mod tests;
