//! Code that names the kind `Tree` in the forms that modules and imports allow. This package's tests rename and remove the kind;
//! `tests/tests/regenerate.rs` also compiles the code.

/// The end of `src/lib.rs`.
pub(crate) const LIBRARY: &str = "\npub mod forms;\n\npub use api::tree as things;\npub use api::*;\n";

/// The files, in the order in which commands list them.
pub(crate) const FILES: [(&str, &str); 5] = [
    (
        "src/forms/alias.rs",
        "//! Names behind an alias.

use crate::api::{self as a, *};

/// Returns the names of both.
pub fn names(one: &a::tree::Tree, other: &tree::Tree) -> [Option<String>; 2] {
    [one, other].map(|tree| tree.metadata.name.clone())
}
",
    ),
    (
        "src/forms/glob.rs",
        "//! Names in a module of which all is imported.

use crate::api::*;

/// Returns the name.
pub fn name(tree: &tree::Tree) -> Option<&str> {
    tree.metadata.name.as_deref()
}
",
    ),
    (
        "src/forms/mod.rs",
        "//! Forms of names.

pub mod alias;
pub mod glob;
pub mod nested;

pub use crate::api as resources;
pub use crate::api::tree::Tree as Thing;
",
    ),
    (
        "src/forms/nested.rs",
        "//! Names in nested modules.

use crate::api::*;

/// The kind.
pub type Kind = tree::Tree;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_file() {
        let same: fn(tree::Tree) -> Kind = |tree: crate::things::Tree| tree;
        let _ = same;
    }
}
",
    ),
    (
        "tests/forms.rs",
        "//! Names behind exports.

use shop::forms::{Thing, resources};
use shop::*;

#[test]
fn exports_are_one_kind() {
    let same: fn(resources::tree::Tree) -> things::Tree = |thing: Thing| thing;
    let again: fn(Thing) -> tree::Tree = same;
    let _ = again;
}
",
    ),
];
