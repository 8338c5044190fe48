//! The schemas of custom resources: what decoding does with an object, and what is wrong with one.
//!
//! A request's object goes through [`Schema::prune`], [`Schema::drop_nulls`] and [`Schema::default`], in this order, and is then
//! validated; the outcome of an apply is only defaulted and validated. Stored objects are defaulted when they are read, too. All take
//! the schema as JSON, and none panics on one that is not structural; [`check_structural`] says what is wrong with it.

#[cfg(feature = "cel")]
mod causes;
mod conditions;
mod declared;
mod embedded;
mod format;
mod lists;
mod prune;
mod rule_checks;
#[cfg(feature = "cel")]
mod rules;
#[cfg(not(feature = "cel"))]
#[path = "no_rules.rs"]
mod rules;
mod shape;
mod structural;
mod validate;

pub(crate) use conditions::condition_error;
pub use shape::type_of;
pub use structural::check_structural;

use crate::field::{FieldError, FieldErrorKind};
use crate::types::Type;
use rules::Rules;
use serde_json::Value;
use validate::{Patterns, Validator};

/// A version's schema, prepared.
#[derive(Debug)]
pub struct Schema {
    document: Value,
    patterns: Patterns,
    rules: Option<Rules>,
    ty: Type,
}

impl Schema {
    /// Prepares an `openAPIV3Schema`; null stands for one that allows anything.
    pub fn new(schema: &Value) -> Self {
        let mut patterns = Patterns::new();
        validate::patterns(schema, &mut patterns);
        Self {
            document: schema.clone(),
            patterns,
            rules: Rules::compile(schema),
            ty: type_of(schema),
        }
    }

    /// The type, for apply.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Removes the fields that are not in the schema and answers with their paths, such as `spec.a[0].b`, sorted, those of the object's
    /// metadata first, those of embedded objects last. They are `unknown field "PATH"` to a strict decoder.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        prune::prune(object, &self.document, true, "", &mut unknown);
        unknown.sort_by_key(|path| {
            let place = match path.as_str() {
                path if path.starts_with("metadata.") => 0,
                path if path.contains(".metadata.") => 2,
                _ => 1,
            };
            (place, path.clone())
        });
        unknown
    }

    /// Removes the nulls that the schema does not allow and has no defaults for.
    pub fn drop_nulls(&self, object: &mut Value) {
        prune::drop_nulls(object, &self.document);
    }

    /// Fills in defaults.
    pub fn default(&self, object: &mut Value) {
        prune::default(object, &self.document);
    }

    /// What is wrong with an object: first types and bounds, then embedded objects and lists, then the rules, if nothing else keeps
    /// them from being looked at. `old` is the stored object in an update: what was wrong with it before and did not change is not
    /// reported, and transition rules compare with it. The object's own metadata is not looked at.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let validator = Validator {
            patterns: &self.patterns,
        };
        let mut errors = validator.validate(object, old, &self.document, "").errors;
        embedded::check(object, &self.document, "", &mut errors);
        let duplicates = |object: &Value| {
            let mut errors = Vec::new();
            lists::duplicates(object, &self.document, "", &mut errors);
            errors
        };
        if old.is_none_or(|old| duplicates(old).is_empty()) {
            errors.extend(duplicates(object));
        }
        let Some(rules) = &self.rules else { return errors };
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
            errors.extend(rules.check(object, old, &self.document));
        }
        errors
    }
}

#[cfg(test)]
mod tests;
