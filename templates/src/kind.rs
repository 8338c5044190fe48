//! Contexts of the files of a kind.

use serde::Serialize;

use crate::Template;

/// `src/api/<module>.rs`: the struct of the kind.
#[derive(Debug, Clone, Serialize)]
pub struct ApiModule<'a> {
    /// The API group.
    pub group: &'a str,
    /// The version within the group.
    pub version: &'a str,
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The resource for kubectl: the plural, with the group if the plural is ambiguous.
    pub resource: &'a str,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
}

impl Template for ApiModule<'_> {
    const SOURCE: &'static str = "kind/api.rs.hbs";
}

/// `src/controllers/<module>.rs`: a working controller.
#[derive(Debug, Clone, Serialize)]
pub struct Controller<'a> {
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The kind in lower case: name of the controller.
    pub lower: &'a str,
    /// The kind in snake case, for variables.
    pub snake: &'a str,
    /// The plural in snake case, for variables and the method of the informer factory.
    pub snakes: &'a str,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
}

impl Template for Controller<'_> {
    const SOURCE: &'static str = "kind/controller.rs.hbs";
}

/// `tests/<module>.rs`: tests of single reconciles, and of the operator against an API server.
#[derive(Debug, Clone, Serialize)]
pub struct ControllerTest<'a> {
    /// The crate name in Rust code.
    pub crate_name: &'a str,
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// Plural name of the resource.
    pub plural: &'a str,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
}

impl Template for ControllerTest<'_> {
    const SOURCE: &'static str = "kind/test.rs.hbs";
}

/// `manifests/samples/<module>.yaml`.
#[derive(Debug, Clone, Serialize)]
pub struct Sample<'a> {
    /// The API group.
    pub group: &'a str,
    /// The version within the group.
    pub version: &'a str,
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The kind in lower case.
    pub lower: &'a str,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
}

impl Template for Sample<'_> {
    const SOURCE: &'static str = "kind/sample.yaml.hbs";
}
