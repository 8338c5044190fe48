//! Traits of Kubernetes kinds: API resource, scope, subresources, projections.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use serde::de::DeserializeOwned;

use crate::index_spec::IndexSpec;

/// Whether a kind is namespaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Cluster-scoped.
    Cluster,
    /// Namespaced.
    Namespaced,
}

/// The group, version, kind, plural and scope of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ApiResource {
    /// The API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// The API version, without the group.
    pub version: Cow<'static, str>,
    /// The kind, as in manifests.
    pub kind: Cow<'static, str>,
    /// The plural resource name, as in URL paths and roles.
    pub plural: Cow<'static, str>,
    /// Cluster-scoped or namespaced.
    pub scope: Scope,
}

impl ApiResource {
    /// Returns the `apiVersion` of manifests: `group/version`, or `version` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Returns the name in errors, as in `Foo (demo.dev/v1)`: the command finds the kind's place in the source by it.
    pub(crate) fn kind_and_version(&self) -> String {
        format!("{} ({})", self.kind, self.api_version())
    }

    /// Returns whether this is the built-in kind Secret.
    pub(crate) fn is_secret(&self) -> bool {
        self.group.is_empty() && self.kind == "Secret"
    }

    /// Returns whether `other` is the same kind, in any version.
    pub(crate) fn is_version_of(&self, other: &Self) -> bool {
        self.group == other.group && self.kind == other.kind
    }

    /// Returns the URL path of the collection, in one namespace or in all.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let api_version = self.api_version();
        match namespace {
            Some(namespace) => format!("{root}/{api_version}/namespaces/{namespace}/{}", self.plural),
            None => format!("{root}/{api_version}/{}", self.plural),
        }
    }

    /// Returns `plural.group`, which is the name of the kind's CustomResourceDefinition; `plural` for the core group.
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }
}

/// A type that a cached object can be decoded to. Implemented for every type that serde can decode.
pub trait View: DeserializeOwned + Send + Sync + 'static {}

impl<T: DeserializeOwned + Send + Sync + 'static> View for T {}

/// A [`View`] of a kind that is known at compile time.
///
/// Implemented for every `kube::Resource` that is known at compile time: the types of `k8s-openapi` and of `#[derive(CustomResource)]`.
/// Implement it for a struct of your own to decode only some fields of a kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kind that is known at compile time",
    note = "derive `CustomResource`, use a type of k8s-openapi, or implement `kubewright::Kind`"
)]
pub trait Kind: View {
    /// Returns the group, version, kind, plural and scope.
    fn info() -> ApiResource;
}

impl<K> Kind for K
where
    K: kube::Resource<DynamicType = ()> + View,
    K::Scope: StaticScope,
{
    fn info() -> ApiResource {
        ApiResource {
            group: K::group(&()),
            version: K::version(&()),
            kind: K::kind(&()),
            plural: K::plural(&()),
            scope: K::Scope::SCOPE,
        }
    }
}

/// A [`Kind`] that decodes only some values of another kind's objects. `#[derive(Projection)]` implements it.
///
/// It decodes whole objects, and objects reduced to its paths, which is what the informers of
/// [`SharedInformerFactory::projected`](crate::cache::SharedInformerFactory::projected) store.
pub trait Projection: Kind {
    /// The paths of its values, in the syntax of index paths: `spec.nodeName`, `metadata.labels['a.b/c']`, `spec.containers[*].image`.
    const PATHS: &'static [&'static str];
}

/// A scope that is known at compile time.
pub trait StaticScope {
    /// The scope as a value.
    const SCOPE: Scope;
}

impl StaticScope for NamespaceResourceScope {
    const SCOPE: Scope = Scope::Namespaced;
}

impl StaticScope for ClusterResourceScope {
    const SCOPE: Scope = Scope::Cluster;
}

/// A custom kind with `#[derive(Informer)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a custom kind",
    note = "add `Informer` to the derives of its spec: `#[derive(CustomResource, Informer, …)]`"
)]
pub trait CustomKind: Kind {
    /// Whether the CustomResourceDefinition is owned elsewhere (`#[informer(external)]`); it is not printed then.
    const EXTERNAL: bool;

    /// Whether its objects contain sensitive data (`#[informer(sensitive)]`), which is never compressed with a dictionary and never quoted in
    /// errors.
    ///
    /// Applies to all informers of the kind, in all versions, of a factory on which
    /// [`custom`](crate::cache::SharedInformerFactory::custom) was called, as the derive's methods do. For other factories set
    /// [`InformerOptions::sensitive`](crate::cache::InformerOptions::sensitive).
    const SENSITIVE: bool = false;

    /// Returns the CustomResourceDefinition: that of manifests and `kubewright dev`, for tests to install.
    ///
    /// It is kube's `crd()` with a schema of our own: types of Kubernetes have the list types, map keys, formats and required fields that
    /// Kubernetes publishes, lists of conditions are maps by `type`, and optional fields are not nullable.
    ///
    /// # Panics
    /// On a schema that Kubernetes does not accept.
    fn definition() -> CustomResourceDefinition;

    /// Returns the names of the Rust types in the schema, by path, for error messages about the schema.
    #[doc(hidden)]
    fn rust_types() -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Returns the indexes of `#[informer(index(…))]`.
    fn indexes() -> &'static [IndexSpec];
}

/// A kind with the `status` subresource. `#[derive(Informer)]` implements it with `#[kube(status = …)]`.
#[diagnostic::on_unimplemented(
    message = "kind `{Self}` has no status subresource",
    note = "add `#[kube(status = \"…Status\")]` to a custom kind"
)]
pub trait WithStatus: Kind {}

/// A kind with the `scale` subresource. `#[derive(Informer)]` implements it with `#[kube(scale(…))]`.
#[diagnostic::on_unimplemented(
    message = "kind `{Self}` has no scale subresource",
    note = "add `#[kube(scale(…))]` to a custom kind"
)]
pub trait WithScale: Kind {}
