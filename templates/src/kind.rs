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

/// `src/api/<module>/mod.rs`: the versions of a kind.
#[derive(Debug, Clone, Serialize)]
pub struct VersionsModule<'a> {
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The versions, sorted.
    pub modules: [&'a str; 2],
    /// The version that controllers use.
    pub hub: &'a str,
    /// The version before it.
    pub other: &'a str,
    /// Why the other version is stored.
    pub stored_comment: [String; 2],
}

impl Template for VersionsModule<'_> {
    const SOURCE: &'static str = "kind/versions.rs.hbs";
}

/// `tests/<module>_versions.rs`: tests of the conversion.
#[derive(Debug, Clone, Serialize)]
pub struct VersionsTest<'a> {
    /// The crate name in Rust code.
    pub crate_name: &'a str,
    /// The path of the kind's module in the crate.
    pub path: &'a str,
    /// The API group.
    pub group: &'a str,
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The version that controllers use.
    pub hub: &'a str,
    /// The version before it.
    pub other: &'a str,
    /// The spec of a sample in both versions, as JSON. None leaves the example out.
    pub spec: Option<&'a str>,
    /// A field of the sample that the example compares.
    pub field: Option<&'a str>,
}

impl Template for VersionsTest<'_> {
    const SOURCE: &'static str = "kind/versions_test.rs.hbs";
}
