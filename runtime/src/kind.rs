//! What the library must know of a kind: how the API server names it, where it lives, which subresources it has.

use std::borrow::Cow;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use serde::de::DeserializeOwned;

use crate::cache::IndexSpec;

/// Where the objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Outside namespaces.
    Cluster,
    /// Each object in a namespace.
    Namespaced,
}

/// How the API server names a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ApiResource {
    /// The API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// The version within the group.
    pub version: Cow<'static, str>,
    /// The kind, as manifests write it.
    pub kind: Cow<'static, str>,
    /// The resource, as paths and roles write it.
    pub plural: Cow<'static, str>,
    /// Where the objects live.
    pub scope: Scope,
}

impl ApiResource {
    /// What manifests write as `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether this is the kind whose objects are sensitive by themselves.
    pub(crate) fn is_secret(&self) -> bool {
        self.group.is_empty() && self.kind == "Secret"
    }

    /// Whether it is the same kind, be it in another version.
    pub(crate) fn is_version_of(&self, other: &Self) -> bool {
        self.group == other.group && self.kind == other.kind
    }

    /// The path of the collection: of one namespace, or of all of them.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let api_version = self.api_version();
        match namespace {
            Some(namespace) => format!("{root}/{api_version}/namespaces/{namespace}/{}", self.plural),
            None => format!("{root}/{api_version}/{}", self.plural),
        }
    }

    /// `plural.group`, the name of the kind's CustomResourceDefinition; `plural` for the core group.
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }
}

/// A type as which the bytes of a cached object can be read. Implemented for all that serde can decode.
pub trait View: DeserializeOwned + Send + Sync + 'static {}

impl<T: DeserializeOwned + Send + Sync + 'static> View for T {}

/// A [`View`] that says which kind it shows.
///
/// Implemented for every `kube::Resource` that is known when compiling: the types of `k8s-openapi` and those that
/// `#[derive(CustomResource)]` makes. Implement it for a struct of your own to read only some fields of a kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no kind that is known when compiling",
    note = "derive `CustomResource`, use a type of k8s-openapi, or implement `kubewright::Kind`"
)]
pub trait Kind: View {
    /// How the API server names the kind.
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

/// A [`Kind`] that shows some values of another kind's objects. `#[derive(Projection)]` implements it.
///
/// It reads the whole object as well as one of which only its paths were kept:
/// [`SharedInformerFactory::projected`](crate::cache::SharedInformerFactory::projected) makes an informer that keeps no more than those.
pub trait Projection: Kind {
    /// Where its values are, as paths of indexes are written: `spec.nodeName`, `metadata.labels['a.b/c']`, `spec.containers[*].image`.
    const PATHS: &'static [&'static str];
}

/// A scope that is known when compiling.
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

/// A custom kind that `#[derive(Informer)]` describes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no custom kind",
    note = "add `Informer` to the derives of its spec: `#[derive(CustomResource, Informer, …)]`"
)]
pub trait CustomKind: Kind {
    /// Whether somebody else owns the definition (`#[informer(external)]`): it is not printed then.
    const EXTERNAL: bool;

    /// Whether its objects hold what must not stand anywhere else (`#[informer(sensitive)]`): they enter no dictionary, and no error
    /// quotes them. That holds for all informers of the kind, of all its versions, of a factory that was once asked for
    /// [`custom`](crate::cache::SharedInformerFactory::custom), as the methods of the derive do. Of
    /// another factory it is [`InformerOptions::sensitive`](crate::cache::InformerOptions::sensitive) that says so.
    const SENSITIVE: bool = false;

    /// The definition. Panics where kube's `crd()` does, on a schema that Kubernetes could not take.
    fn definition() -> CustomResourceDefinition;

    /// The indexes that `#[informer(index(…))]` names.
    fn indexes() -> &'static [IndexSpec];
}

/// A kind with the `status` subresource. `#[derive(Informer)]` implements it where `#[kube(status = …)]` stands.
#[diagnostic::on_unimplemented(
    message = "kind `{Self}` has no status subresource",
    note = "a kind of your own gets one with `#[kube(status = \"…Status\")]`"
)]
pub trait WithStatus: Kind {}

/// A kind with the `scale` subresource. `#[derive(Informer)]` implements it where `#[kube(scale(…))]` stands.
#[diagnostic::on_unimplemented(
    message = "kind `{Self}` has no scale subresource",
    note = "a kind of your own gets one with `#[kube(scale(…))]`"
)]
pub trait WithScale: Kind {}
