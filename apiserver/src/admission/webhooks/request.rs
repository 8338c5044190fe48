//! A write as webhooks see it.

use super::WebhookContext;
use crate::auth::User;
use crate::kinds::{Catalog, Kind, convert};
use crate::status::ApiError;
use crate::storage::Store;
use crate::strategy;
use crate::webhook_client::WebhookCaller;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The operations that rules name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookOperation {
    Create,
    Update,
    Delete,
}

impl HookOperation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    fn options_kind(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Delete => "DeleteOptions",
        }
    }
}

/// A write as webhooks see it, apart from the new object, which they may change.
#[derive(Clone, Copy)]
pub(crate) struct HookRequest<'a> {
    pub(crate) operation: HookOperation,
    /// The resource.
    pub(crate) resource: &'a Kind,
    pub(crate) subresource: &'a str,
    /// For a namespace, its name.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) old: Option<&'a Value>,
    pub(crate) user: &'a User,
    pub(crate) dry_run: bool,
    pub(crate) store: &'a Store,
    pub(crate) catalog: &'a Catalog,
}

/// The versions in which a webhook gets a request: a resource, and the kind of the objects.
#[derive(Clone, Debug)]
pub(super) struct HookTarget {
    pub(super) resource: Kind,
    pub(super) kind: Kind,
}

impl HookRequest<'_> {
    /// The target of the request itself.
    pub(super) fn target(&self) -> HookTarget {
        self.target_of(self.resource)
    }

    pub(super) fn target_of(&self, resource: &Kind) -> HookTarget {
        let kind = match resource.subresource(self.subresource) {
            Some(subresource) => resource.for_subresource(subresource),
            None => resource.clone(),
        };
        HookTarget {
            resource: resource.clone(),
            kind,
        }
    }

    /// The other versions of the resource that are served, in the order in which kube-apiserver registers them.
    pub(super) fn equivalents(&self) -> Vec<HookTarget> {
        let resource = self.resource;
        let has_subresource =
            |kind: &&Kind| self.subresource.is_empty() || kind.subresource(self.subresource).is_some();
        let is_other = |kind: &&Kind| (&kind.group, &kind.version) != (&resource.group, &resource.version);
        let kinds: Vec<&Kind> = if let Some(definition) = &resource.definition {
            let versions = definition.versions.iter().filter(|version| version.served);
            let kinds = versions.filter_map(|version| {
                self.catalog
                    .resource(&resource.group, &version.name, &resource.plural)
            });
            kinds.map(AsRef::as_ref).collect()
        } else {
            let table = resource.table();
            let kinds = self.catalog.iter().map(AsRef::as_ref);
            kinds
                .filter(|kind: &&Kind| kind.plural == resource.plural && kind.table() == table)
                .collect()
        };
        let kinds = kinds.into_iter().filter(has_subresource).filter(is_other);
        kinds.map(|kind| self.target_of(kind)).collect()
    }

    /// The options of the request, as the kind that belongs to the operation.
    pub(super) fn options(&self, context: &WebhookContext<'_>) -> Value {
        let mut options: Map<String, Value> = context.options.clone();
        options.insert("kind".to_owned(), self.operation.options_kind().into());
        options.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
        Value::Object(options)
    }

    /// The labels by which a namespace selector selects; an error if the namespace does not exist.
    pub(super) fn namespace_labels(&self, object: Option<&Value>) -> Result<Value, ApiError> {
        let is_namespace = self.resource.plural == "namespaces" && self.subresource.is_empty();
        if let (true, Some(object)) = (is_namespace && self.operation != HookOperation::Delete, object) {
            return Ok(json!({ "metadata": { "labels": object["metadata"]["labels"] } }));
        }
        let namespace = self.store.get("namespaces", self.namespace);
        match (namespace, self.catalog.any_version("", "namespaces")) {
            (Some(namespace), _) => Ok(namespace.value().clone()),
            (None, Some(kind)) => Err(ApiError::not_found(kind, self.namespace)),
            (None, None) => Err(ApiError::no_such_resource()),
        }
    }
}

impl HookTarget {
    /// Converts an object of another target to this one.
    pub(super) fn convert<'o>(
        &self,
        from: &Self,
        object: &'o Value,
        (store, caller): (&Store, &dyn WebhookCaller),
    ) -> Result<Cow<'o, Value>, ApiError> {
        let (from, to) = (&from.kind, &self.kind);
        if (&from.group, &from.version) == (&to.group, &to.version) {
            return Ok(Cow::Borrowed(object));
        }
        if let Some(webhook) = to.conversion_webhook() {
            let mut objects = [object.clone()];
            let converted = webhook.convert(&mut objects, &to.api_version(), store, caller);
            converted.map_err(ApiError::internal)?;
            let [object] = objects;
            return Ok(Cow::Owned(object));
        }
        if to.definition.is_some() {
            let mut object = object.clone();
            object["apiVersion"] = to.api_version().into();
            return Ok(Cow::Owned(object));
        }
        let stored = convert::to_stored_version(from, object.clone());
        Ok(Cow::Owned(
            convert::to_request_version(to, &stored).unwrap_or(stored),
        ))
    }

    /// Decodes an object that a webhook changed, as a body of this kind is decoded.
    pub(super) fn decode(&self, object: &mut Value) -> Result<(), String> {
        strategy::prune_and_default(&self.kind, object, false)?;
        crate::meta::normalize_metadata(object);
        Ok(())
    }
}
