//! The derive macros of kubewright, re-exported by it; do not depend on this crate directly.
//!
//! Read in the order in which a derive works: `attrs` reads the attributes, `model` makes of them what is known to be right or
//! reports every mistake at its token, `expand` writes the code. `path`, `value_type` and `names` are what the model knows of index
//! paths, of the types of their values and of how kinds are named. All of it works on `proc_macro2`, so that it is tested without a
//! compiler.

mod attrs;
mod expand;
mod model;
mod names;
mod path;
#[cfg(test)]
mod snapshots;
mod value_type;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes the typed client, lister and informer of a custom kind. Stands beside `CustomResource` on the struct of the spec.
///
/// For a kind `Foo` it emits, with the visibility of the struct:
///
/// - `FooClient<V>`, an alias of `TypedClient<Foo, V>`,
/// - `FooLister`, a `Lister<Foo>` with one method per index, each a lookup by hash,
/// - `FooInformer`, a `SharedInformer<Foo>` whose `lister()` is a `FooLister`,
/// - `FooInformers`, a trait that adds `foos()` to `SharedInformerFactory`,
/// - `CustomKind for Foo`, and `WithStatus` and `WithScale` where `#[kube(…)]` declares these subresources.
///
/// The names follow `root` where `#[kube(root = "…")]` gives one, so that two kinds of one module never collide. The method is the
/// kind's plural in snake case: `FooBar` has `foo_bars()`, and with `plural = "people"` it is `people()`.
/// Where another method has that name, as with two versions of a kind, write `v1::FooInformers::foos(factory)`.
///
/// # `#[kube(…)]`
///
/// `kind`, `group`, `version`, `root`, `plural`, `singular`, `status`, `scale` and `no_spec` are read; everything else is left to
/// `CustomResource`.
///
/// # `#[informer(…)]`
///
/// - `index(name = "path")` or `index(name: Type = "path")`, repeatable and with any number of indexes: the lister gets a method
///   `name`, which finds the objects that have a value at `path`. An object without the value is not indexed. The path starts at the
///   object's root: fields `spec.nodeName`, quoted fields `metadata.labels['a.b/c']`, all elements of a list `spec.ports[*].name`.
///   `Type` is `String`, `bool`, an integer type up to 64 bits, or the path of an enum that serde writes as a string. It may be left
///   out for a direct field of the struct that is a `String`, `bool` or integer, an `Option` of one, or with `[*]` a `Vec` of them;
///   serde's renames are followed.
/// - `external`: the definition belongs to somebody else and is not among the operator's manifests.
/// - `crate = "path"`: where kubewright is found when the dependency has another name.
#[proc_macro_derive(Informer, attributes(informer, kube))]
pub fn informer(input: TokenStream) -> TokenStream {
    expand::derive(&parse_macro_input!(input as DeriveInput)).into()
}
