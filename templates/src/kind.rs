//! The files that each kind brings along.

use serde::Serialize;

use crate::Template;

/// `src/api/<module>.rs`: the struct from which everything else follows.
#[derive(Debug, Clone, Serialize)]
pub struct ApiModule<'a> {
    /// The API group.
    pub group: &'a str,
    /// The version within the group.
    pub version: &'a str,
    /// The kind, in upper camel case.
    pub kind: &'a str,
    /// The kind in lower case: its singular and short name.
    pub lower: &'a str,
    /// The resource.
    pub plural: &'a str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Template for ApiModule<'_> {
    const SOURCE: &'static str = "kind/api.rs.hbs";
}

/// `src/controllers/<module>.rs`: a controller that already does something.
#[derive(Debug, Clone, Serialize)]
pub struct Controller<'a> {
    /// The kind, in upper camel case.
    pub kind: &'a str,
    /// The kind in lower case: the controller's name.
    pub lower: &'a str,
    /// The kind in snake case: what variables are called.
    pub snake: &'a str,
    /// Several of them in snake case: what variables are called, and the method of the informers.
    pub snakes: &'a str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Template for Controller<'_> {
    const SOURCE: &'static str = "kind/controller.rs.hbs";
}

/// `tests/<module>.rs`: single reconciles, and the operator beside an API server.
#[derive(Debug, Clone, Serialize)]
pub struct ControllerTest<'a> {
    /// The crate's name in Rust.
    pub crate_name: &'a str,
    /// The API group.
    pub group: &'a str,
    /// The kind, in upper camel case.
    pub kind: &'a str,
    /// The kind in snake case: what variables are called.
    pub snake: &'a str,
    /// Several of them in snake case: what variables are called.
    pub snakes: &'a str,
    /// The resource.
    pub plural: &'a str,
    /// Whether its objects live in namespaces.
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
    /// The kind, in upper camel case.
    pub kind: &'a str,
    /// The kind in lower case.
    pub lower: &'a str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Template for Sample<'_> {
    const SOURCE: &'static str = "kind/sample.yaml.hbs";
}
