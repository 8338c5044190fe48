//! The derive macros of kubewright, re-exported by it; do not depend on this crate directly.
//!
//! Read in the order in which a derive works: `attrs` reads the attributes, `model` makes of them what is known to be right or
//! reports every mistake at its token, `expand` writes the code. `path`, `path_tree`, `value_type` and `names` are what the
//! model knows of paths, of the types of their values and of how kinds are named. All of it works on `proc_macro2`, so that it is tested without a
//! compiler.

mod attrs;
mod expand;
mod model;
mod names;
mod path;
mod path_tree;
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
/// - `FooInformers`, a trait that adds `foos()` to `SharedInformerFactory`, and `foos_with(options)` for some of the objects, or another
///   form in which they are kept,
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
/// - `sensitive`: the objects hold what must not stand anywhere else; caches compress none of them, and no error quotes them. So it is with
///   all informers of the kind of a factory that was asked for `foos()` or `foos_with`; elsewhere say it with `InformerOptions::sensitive`.
/// - `external`: the definition belongs to somebody else and is not among the operator's manifests.
/// - `crate = "path"`: where kubewright is found when the dependency has another name.
#[proc_macro_derive(Informer, attributes(informer, kube))]
pub fn informer(input: TokenStream) -> TokenStream {
    expand::informer(&parse_macro_input!(input as DeriveInput)).into()
}

/// Makes of a struct a view of some values of a kind's objects, for an informer that keeps no more than those.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright::{Kind, Projection};
///
/// #[derive(Projection, Clone, Debug)]
/// #[projection(of = Pod)]
/// struct PodPlace {
///     #[projection(path = "spec.nodeName")]
///     node: Option<String>,
///     #[projection(path = "status.phase")]
///     phase: String,
///     #[projection(path = "status.containerStatuses[*].restartCount")]
///     restarts: Vec<i32>,
///     #[projection(path = "metadata.labels", default)]
///     labels: BTreeMap<String, String>,
///     #[projection(path = "metadata.annotations['example.com/team']", default)]
///     team: String,
/// }
///
/// assert_eq!(PodPlace::info(), Pod::info());
/// assert_eq!(PodPlace::PATHS[1], "status.phase");
///
/// // A whole object, or one that was reduced to the paths.
/// let place: PodPlace = serde_json::from_str(
///     r#"{
///         "apiVersion": "v1", "kind": "Pod",
///         "metadata": {"name": "web", "labels": {"app": "shop"}},
///         "spec": {"nodeName": "worker-1", "containers": []},
///         "status": {"phase": "Running", "containerStatuses": [{"restartCount": 2}, {"restartCount": 0}]}
///     }"#,
/// )?;
/// assert_eq!(place.node.as_deref(), Some("worker-1"));
/// assert_eq!(place.phase, "Running");
/// assert_eq!(place.restarts, [2, 0]);
/// assert_eq!(place.labels["app"], "shop");
/// assert_eq!(place.team, "");
///
/// let missing = serde_json::from_str::<PodPlace>(r#"{"spec": {"nodeName": "worker-1"}}"#).unwrap_err();
/// assert_eq!(missing.to_string(), "status.phase is missing");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// The derive implements `Kind`, `Projection` and serde's `Deserialize`; do not derive the last beside it. The types of the fields read
/// their values with serde, and own them. What stands elsewhere in the object is skipped, whatever it is. No tree is built, and the order
/// in which things stand does not matter.
///
/// # On the struct: `#[projection(…)]`
///
/// - `of = Pod`: the kind whose objects are shown, any type that is a `Kind`.
/// - `crate = "path"`: where kubewright is found when the dependency has another name.
///
/// # On every field: `#[projection(…)]`
///
/// - `path = "…"`: where the value is, from the object's root, as paths of indexes are written: fields `spec.nodeName`, quoted fields
///   `metadata.labels['a.b/c']`, all elements of a list `spec.ports[*].name`. No value is shown twice: a path may neither be that of
///   another field nor lead into what another field shows.
/// - `default`: the default of the field's type stands for a missing value.
///
/// # What a field holds
///
/// - **A missing value**, or a `null` at the path or on the way to it, is `None` for an `Option`, the default with `default`, and
///   otherwise an error of the whole object, `status.phase is missing`.
/// - **With `[*]`** the field is written as a `Vec`, with the values in the order of the elements. With several `[*]` those of all inner
///   lists stand in one `Vec`, one after the other. Elements without the value are left out of a `Vec<T>`; in a `Vec<Option<T>>` each
///   element of the innermost list has its place, `None` without the value. Without a list the `Vec` is empty.
/// - **A value of another type** is serde's error, of the whole object. So is a name on the way to a value that stands twice in one object.
#[proc_macro_derive(Projection, attributes(projection))]
pub fn projection(input: TokenStream) -> TokenStream {
    expand::projection(&parse_macro_input!(input as DeriveInput)).into()
}
