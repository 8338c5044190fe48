//! Typed structs of kinds that other projects define, made from their CustomResourceDefinitions.
//!
//! `definition` reads a CRD; `types` turns the schema of a version into structs and enums, with `names` and `docs`; `code` writes
//! them. Everything that the schema accepts is decoded, and encoded again without loss.
//!
//! The structs derive no `JsonSchema`: it would be another, weaker schema than the definition's, since they have no bounds, patterns, rules or
//! defaults, and decode more than the definition allows. `stored` keeps the definition itself.
//!
//! kopium's library does not suffice: it decodes the integers of `x-kubernetes-int-or-string` into 32 bits, drops the unknown fields of an object
//! that has known ones, and does not keep `null` apart from a missing field. It also depends on other versions
//! of kube and k8s-openapi than this workspace, which would be built a second time.

mod code;
mod definition;
mod docs;
mod names;
mod stored;
mod types;

use std::path::PathBuf;

pub use definition::{Definition, definitions};
pub use stored::{
    FOLDER as DEFINITIONS, example, stored, stored_definition, stored_path, stored_path_of, stored_text,
};

/// The folder of the imported kinds' modules.
pub const MODULES: &str = "src/api/imported";
/// The start of its `mod.rs`.
pub const MODULE_DOC: &str = "//! Kinds that other projects define, a folder for each API group. `kubewright import` writes and updates them.\n";

/// Returns the start of the `mod.rs` of a group's folder.
pub fn group_module_doc(group: &str) -> String {
    format!("//! Kinds of the API group `{group}`.\n")
}

impl Definition {
    /// Returns the name of the module of the kind's group.
    pub fn group_module(&self) -> String {
        names::module(&self.group)
    }

    /// Returns the name of the kind's module.
    pub fn module(&self) -> String {
        names::module(&self.kind)
    }

    /// Returns the path of the kind's module.
    pub fn module_path(&self) -> PathBuf {
        format!("{MODULES}/{}/{}.rs", self.group_module(), self.module()).into()
    }

    /// Returns the code of the kind's module, not formatted.
    pub fn code(&self) -> String {
        code::module(self, &types::Model::of(self))
    }
}
