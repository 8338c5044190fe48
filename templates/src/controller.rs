//! Contexts of the files of a controller of a kind that exists.

use serde::Serialize;

use crate::Template;

/// `src/controllers/<module>.rs`: a controller that reads a kind, and kinds that it owns.
#[derive(Debug, Clone, Serialize)]
pub struct ExistingKindController<'a> {
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The kind in lower case: name of the controller.
    pub lower: &'a str,
    /// The kind in snake case, for variables.
    pub snake: &'a str,
    /// The plural in snake case, for variables.
    pub snakes: &'a str,
    /// The method of the informer factory: `of`, or `custom` for a kind of the project.
    pub informer: &'a str,
    /// The paths of Kubernetes' types, sorted.
    pub imports: &'a [&'a str],
    /// The paths of the project's types, sorted.
    pub own_imports: &'a [&'a str],
    /// The kinds that it owns.
    pub owned: &'a [OwnedKind],
}

/// A kind whose objects belong to those of a controller's kind.
#[derive(Debug, Clone, Serialize)]
pub struct OwnedKind {
    /// The kind, in UpperCamelCase.
    pub kind: String,
    /// The plural in snake case, for variables.
    pub snakes: String,
    /// The method of the informer factory.
    pub informer: &'static str,
}

impl Template for ExistingKindController<'_> {
    const SOURCE: &'static str = "controller/controller.rs.hbs";
}

/// `tests/<module>.rs`: tests of single reconciles.
#[derive(Debug, Clone, Serialize)]
pub struct ExistingKindTest<'a> {
    /// The crate name in Rust code.
    pub crate_name: &'a str,
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// `namespace/name` of the example, or its name.
    pub key: &'a str,
    /// An object of the kind, as JSON.
    pub example: &'a str,
}

impl Template for ExistingKindTest<'_> {
    const SOURCE: &'static str = "controller/test.rs.hbs";
}
