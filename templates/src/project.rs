//! Contexts of the files of a project.

use serde::Serialize;

use crate::Template;

/// `Cargo.toml`.
#[derive(Debug, Clone, Serialize)]
pub struct CargoToml<'a> {
    /// Name of the package.
    pub name: &'a str,
    /// The dependency on kubewright, as a TOML value.
    pub dependency: &'a str,
    /// The dev-dependency on the testkit, as a TOML value.
    pub testkit: &'a str,
}

impl Template for CargoToml<'_> {
    const SOURCE: &'static str = "project/Cargo.toml.hbs";
}

/// `kubewright.toml`.
#[derive(Debug, Clone, Serialize)]
pub struct ProjectFile<'a> {
    /// Name of the operator.
    pub name: &'a str,
    /// API group of its kinds.
    pub group: &'a str,
}

impl Template for ProjectFile<'_> {
    const SOURCE: &'static str = "project/kubewright.toml.hbs";
}

/// `rust-toolchain.toml`.
#[derive(Debug, Clone, Serialize)]
pub struct RustToolchain {}

impl Template for RustToolchain {
    const SOURCE: &'static str = "project/rust-toolchain.toml.hbs";
}

/// `.gitignore`.
#[derive(Debug, Clone, Serialize)]
pub struct Gitignore {}

impl Template for Gitignore {
    const SOURCE: &'static str = "project/gitignore.hbs";
}

/// `.dockerignore`.
#[derive(Debug, Clone, Serialize)]
pub struct Dockerignore {}

impl Template for Dockerignore {
    const SOURCE: &'static str = "project/dockerignore.hbs";
}

/// `Dockerfile`.
#[derive(Debug, Clone, Serialize)]
pub struct Dockerfile<'a> {
    /// Name of the binary.
    pub name: &'a str,
}

impl Template for Dockerfile<'_> {
    const SOURCE: &'static str = "project/Dockerfile.hbs";
}

/// `.github/workflows/ci.yml`.
#[derive(Debug, Clone, Serialize)]
pub struct Ci<'a> {
    /// Version of kubewright-cli that checks the manifests.
    pub kubewright_version: &'a str,
}

impl Template for Ci<'_> {
    const SOURCE: &'static str = "project/ci.yml.hbs";
}

/// `README.md`.
#[derive(Debug, Clone, Serialize)]
pub struct Readme<'a> {
    /// Name of the operator.
    pub name: &'a str,
    /// The first kind.
    pub kind: &'a str,
    /// The kind in lower case.
    pub lower: &'a str,
    /// The kind in snake case: its module and variable.
    pub module: &'a str,
    /// That kind's resource for kubectl: the plural, with the group if the plural is ambiguous.
    pub resource: &'a str,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
}

impl Template for Readme<'_> {
    const SOURCE: &'static str = "project/README.md.hbs";
}

/// `src/main.rs`.
#[derive(Debug, Clone, Serialize)]
pub struct MainRs<'a> {
    /// Name of the operator.
    pub name: &'a str,
    /// The crate name in Rust code.
    pub crate_name: &'a str,
    /// The first kind.
    pub kind: &'a str,
}

impl Template for MainRs<'_> {
    const SOURCE: &'static str = "project/src/main.rs.hbs";
}

/// `src/lib.rs`.
#[derive(Debug, Clone, Serialize)]
pub struct LibRs<'a> {
    /// Name of the operator.
    pub name: &'a str,
}

impl Template for LibRs<'_> {
    const SOURCE: &'static str = "project/src/lib.rs.hbs";
}

/// `src/api/mod.rs`.
#[derive(Debug, Clone, Serialize)]
pub struct ApiRoot<'a> {
    /// The module of the first kind.
    pub module: &'a str,
}

impl Template for ApiRoot<'_> {
    const SOURCE: &'static str = "project/src/api/mod.rs.hbs";
}

/// `src/controllers/mod.rs`.
#[derive(Debug, Clone, Serialize)]
pub struct ControllersRoot<'a> {
    /// The module of the first kind.
    pub module: &'a str,
    /// The first kind.
    pub kind: &'a str,
}

impl Template for ControllersRoot<'_> {
    const SOURCE: &'static str = "project/src/controllers/mod.rs.hbs";
}

/// What the new project's operator prints as its manifests, by scope: the members `namespaced` and `cluster` of a JSON object.
///
/// `UPDATE_GOLDEN=1 cargo test -p kubewright-tests --test scaffold` writes the template, from the output of such operators.
#[derive(Debug, Clone, Serialize)]
pub struct OperatorManifests<'a> {
    /// Name of the operator.
    pub name: &'a str,
    /// The API group.
    pub group: &'a str,
    /// The version within the group.
    pub version: &'a str,
    /// The kind, in UpperCamelCase.
    pub kind: &'a str,
    /// The kind in lower case: its singular name.
    pub lower: &'a str,
    /// Plural name of the resource.
    pub plural: &'a str,
}

impl Template for OperatorManifests<'_> {
    const SOURCE: &'static str = "project/manifests.json.hbs";
}
