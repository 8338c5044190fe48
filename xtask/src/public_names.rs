//! Counts the names that the runtime publishes: the `pub use` lines and public items of `lib.rs` and of the `mod.rs` of its public folders.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context as _, bail};
use syn::{File, Item, UseTree, Visibility};

/// The most names that the runtime may publish.
const MAX_NAMES: usize = 130;
/// Modules that only repeat names that are counted elsewhere.
const UNCOUNTED_MODULES: [&str; 1] = ["prelude"];

/// Prints the names, and fails when there are more than [`MAX_NAMES`].
#[expect(clippy::print_stdout, reason = "standard output is the list")]
pub(crate) fn run(list: bool) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies in no workspace")?;
    let names = names(&root.join("runtime/src"))?;
    if list {
        for name in &names {
            println!("{name}");
        }
    }
    println!("{} public names, {MAX_NAMES} allowed", names.len());
    if names.len() > MAX_NAMES {
        bail!(
            "the runtime publishes {} names, {MAX_NAMES} are allowed: hide what no operator needs, or replace a name",
            names.len()
        );
    }
    Ok(())
}

/// The public names, each with the path of its module.
fn names(source: &Path) -> anyhow::Result<BTreeSet<String>> {
    let library = parse(&source.join("lib.rs"))?;
    let mut names = own_names(&library, "");
    for module in library.items.iter().filter_map(public_module) {
        let file = source.join(&module).join("mod.rs");
        if file.exists() {
            names.extend(own_names(&parse(&file)?, &format!("{module}::")));
        }
    }
    Ok(names)
}

fn parse(path: &Path) -> anyhow::Result<File> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    syn::parse_file(&text).with_context(|| format!("parse {}", path.display()))
}

/// The name of a module that users can see.
fn public_module(item: &Item) -> Option<String> {
    let Item::Mod(module) = item else { return None };
    let name = module.ident.to_string();
    let is_public = matches!(module.vis, Visibility::Public(_)) && !is_hidden(&module.attrs);
    (is_public && !UNCOUNTED_MODULES.contains(&name.as_str())).then_some(name)
}

fn own_names(file: &File, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in &file.items {
        let (visibility, attributes, name) = match item {
            Item::Use(item) => {
                if matches!(item.vis, Visibility::Public(_)) && !is_hidden(&item.attrs) {
                    leaves(&item.tree, prefix, &mut names);
                }
                continue;
            }
            Item::Struct(item) => (&item.vis, &item.attrs, &item.ident),
            Item::Enum(item) => (&item.vis, &item.attrs, &item.ident),
            Item::Trait(item) => (&item.vis, &item.attrs, &item.ident),
            Item::Type(item) => (&item.vis, &item.attrs, &item.ident),
            Item::Const(item) => (&item.vis, &item.attrs, &item.ident),
            Item::Fn(item) => (&item.vis, &item.attrs, &item.sig.ident),
            _ => continue,
        };
        if matches!(visibility, Visibility::Public(_)) && !is_hidden(attributes) {
            names.insert(format!("{prefix}{name}"));
        }
    }
    // Modules of a folder that users can see, such as `controller::conditions`.
    if !prefix.is_empty() {
        names.extend(
            file.items
                .iter()
                .filter_map(public_module)
                .map(|name| format!("{prefix}{name}")),
        );
    }
    names
}

/// The names that a `pub use` brings, without those of other crates.
fn leaves(tree: &UseTree, prefix: &str, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) if is_foreign(&path.ident.to_string()) => {}
        UseTree::Path(path) => leaves(&path.tree, prefix, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, prefix, names)),
        UseTree::Name(name) if is_foreign(&name.ident.to_string()) => {}
        UseTree::Name(name) => {
            names.insert(format!("{prefix}{}", name.ident));
        }
        UseTree::Rename(rename) => {
            names.insert(format!("{prefix}{}", rename.rename));
        }
        UseTree::Glob(_) => {
            names.insert(format!("{prefix}*"));
        }
    }
}

/// Crates that the runtime re-exports because their types appear in its signatures.
fn is_foreign(name: &str) -> bool {
    [
        "clap",
        "k8s_openapi",
        "kube",
        "prometheus_client",
        "schemars",
        "serde",
        "serde_json",
        "tokio_util",
    ]
    .contains(&name)
}

fn is_hidden(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("doc")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|argument| argument == "hidden")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_own_public_names_once() {
        let file = syn::parse_str(
            "mod a; pub use a::{B, c::{D, E as F}}; pub(crate) use a::G; use a::H; pub use kube::Client; \
             #[doc(hidden)] pub use a::I; pub trait J {} struct K; pub mod prelude {} pub mod l;",
        );
        let names = own_names(&file.unwrap(), "x::");
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(names, ["x::B", "x::D", "x::F", "x::J", "x::l"]);
    }

    #[test]
    fn the_runtime_publishes_names_that_operators_import() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src");
        let names = names(&source).unwrap();
        assert!(names.contains("controller::Reconciler"), "{names:?}");
        assert!(names.contains("Manager"), "{names:?}");
    }
}
