//! The derive macros of kubewright. kubewright re-exports them; do not depend on this crate directly.
//!
//! In the order of a derive: `attrs` parses the attributes, `model` validates them and reports every error at its token, `expand`
//! generates the code. The model uses `path`, `path_tree`, `value_type` and `names` for paths, types of values and names of kinds.
//! All modules use `proc_macro2`, so that they can be tested without a compiler.

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

/// Generates the typed client, lister and informer of a custom kind. Derive it with `CustomResource` on the spec struct.
///
/// For a kind `Foo` it generates, with the visibility of the struct:
///
/// - `FooClient<V>`, an alias of `TypedClient<Foo, V>`,
/// - `FooLister`, a `Lister<Foo>` with a method per index (a hash lookup),
/// - `FooInformer`, a `SharedInformer<Foo>` with a `lister()` that returns a `FooLister`,
/// - `FooInformers`, a trait that adds `foos()` to `SharedInformerFactory`, and `foos_with(options)` for a selection of the objects or
///   another storage mode,
/// - `CustomKind for Foo`, and `WithStatus` and `WithScale` if `#[kube(…)]` declares these subresources.
///
/// With `#[kube(root = "…")]` the names start with that root, so that two kinds of the same name can be in one module. The method is
/// the plural of the kind in snake case: `foo_bars()` for `FooBar`, `people()` with `plural = "people"`.
/// If the method is ambiguous, as with two versions of a kind, write `v1::FooInformers::foos(factory)`.
///
/// # `#[kube(…)]`
///
/// The derive reads `kind`, `group`, `version`, `root`, `plural`, `singular`, `status`, `scale` and `no_spec`. Other keys are left to
/// `CustomResource`.
///
/// # `#[informer(…)]`
///
/// - `index(name = "path")` or `index(name: Type = "path")`, repeatable and with any number of indexes: adds the lister method
///   `name`, which returns the objects with a value at `path`. Objects without the value are not indexed. The path starts at the
///   object's root: fields `spec.nodeName`, quoted fields `metadata.labels['a.b/c']`, all elements of a list `spec.ports[*].name`.
///   `Type` is `String`, `bool`, an integer type of up to 64 bits, or the path of an enum that serde writes as a string. It may be
///   omitted for direct fields of the struct that are a `String`, `bool` or integer, an `Option` of one, or with `[*]` a `Vec` of
///   them. Renames by serde are applied.
/// - `sensitive`: the objects contain sensitive data: never compressed, never quoted in errors. Applies to all informers of the kind
///   in a factory after its `foos()` or `foos_with` was called; otherwise set `InformerOptions::sensitive`.
/// - `external`: the CRD belongs to another project and is not among the operator's manifests.
/// - `unchecked_fields`: the types of the fields may lack the derives `Deserialize`, `Serialize` and `JsonSchema`, since the struct
///   implements these traits by hand.
/// - `crate = "path"`: the path of kubewright if the dependency has another name.
#[proc_macro_derive(Informer, attributes(informer, kube))]
pub fn informer(input: TokenStream) -> TokenStream {
    expand::informer(&parse_macro_input!(input as DeriveInput)).into()
}

/// Generates a projection: a struct with selected values of a kind's objects. Informers of a projection cache only these values.
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
/// // From a whole object, or one reduced to the paths.
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
/// The derive implements `Kind`, `Projection` and serde's `Deserialize`; do not also derive `Deserialize`. Fields are deserialized with
/// serde and own their values. All other parts of the object are skipped, whatever their types. No tree is built, and the order of
/// fields in the JSON does not matter.
///
/// # On the struct: `#[projection(…)]`
///
/// - `of = Pod`: the kind of the objects; any type that implements `Kind`.
/// - `crate = "path"`: the path of kubewright if the dependency has another name.
///
/// # On every field: `#[projection(…)]`
///
/// - `path = "…"`: the path of the value from the object's root, as in indexes: fields `spec.nodeName`, quoted fields
///   `metadata.labels['a.b/c']`, all elements of a list `spec.ports[*].name`. Paths must not overlap: no path may be equal to another
///   field's or a prefix of it.
/// - `default`: a missing value becomes the default of the field's type.
///
/// # Values of fields
///
/// - **A missing value**, or `null` at the path or at a prefix of it, is `None` for an `Option`, the default with `default`, and
///   otherwise an error of the whole object, as in `status.phase is missing`.
/// - **With `[*]`** the field is a `Vec`, with the values in the order of the elements. With several `[*]` the values of all inner
///   lists are concatenated. Elements without the value are left out of a `Vec<T>`; in a `Vec<Option<T>>` they are `None`. Without a
///   list the `Vec` is empty.
/// - **A value of another type** is an error of the whole object, as reported by serde. So is a duplicate field on the path.
#[proc_macro_derive(Projection, attributes(projection))]
pub fn projection(input: TokenStream) -> TokenStream {
    expand::projection(&parse_macro_input!(input as DeriveInput)).into()
}
