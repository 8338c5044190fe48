//! A write as webhooks and policies see it.

use super::WebhookContext;
use crate::auth::{Authorizer, ResourceAttributes, User};
use crate::cel::AccessCheck;
use crate::kinds::{Catalog, Kind, convert};
use crate::status::ApiError;
use crate::storage::{Object, Store};
use crate::strategy;
use crate::webhook_client::WebhookCaller;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// The operations that rules name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookOperation {
    Create,
    Update,
    Delete,
    Connect,
}

impl HookOperation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }

    /// The kind of the options; a connection has none beside those that are its object.
    fn options_kind(self) -> Option<&'static str> {
        match self {
            Self::Create => Some("CreateOptions"),
            Self::Update => Some("UpdateOptions"),
            Self::Delete => Some("DeleteOptions"),
            Self::Connect => None,
        }
    }
}

/// A write as webhooks and policies see it, apart from the new object, which webhooks may change.
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
    pub(crate) authorizer: &'a Authorizer,
}

/// The kinds whose objects meet no webhook: otherwise a faulty one could refuse the change that repairs it.
const EXEMPT_KINDS: &[&str] = &[
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
];

/// The versions in which a webhook gets a request: a resource, and the kind of the objects.
#[derive(Clone, Debug)]
pub(super) struct HookTarget {
    pub(super) resource: Kind,
    pub(super) kind: Kind,
}

impl HookRequest<'_> {
    /// True if no webhook is called for the request, whatever the rules say.
    pub(super) fn is_exempt(&self) -> bool {
        self.resource.group == "admissionregistration.k8s.io"
            && EXEMPT_KINDS.contains(&self.resource.kind.as_str())
    }

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
        let Some(kind) = self.operation.options_kind() else {
            return Value::Null;
        };
        let mut options: Map<String, Value> = context.options.clone();
        options.insert("kind".to_owned(), kind.into());
        options.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
        Value::Object(options)
    }

    /// The request of a review, without objects and uid; expressions see it as `request`.
    pub(super) fn review_request(&self, target: &HookTarget, context: &WebhookContext<'_>) -> Value {
        let own = self.target();
        let kind = |kind: &Kind| json!({ "group": kind.group, "version": kind.version, "kind": kind.kind });
        let resource =
            |kind: &Kind| json!({ "group": kind.group, "version": kind.version, "resource": kind.plural });
        let mut request = json!({
            "kind": kind(&target.kind), "resource": resource(&target.resource),
            "requestKind": kind(&own.kind), "requestResource": resource(&own.resource),
            "operation": self.operation.name(), "userInfo": self.user.to_json(), "dryRun": self.dry_run,
            "options": self.options(context),
        });
        for (key, value) in [
            ("subResource", self.subresource),
            ("requestSubResource", self.subresource),
            ("name", self.name),
            ("namespace", self.namespace),
        ] {
            if !value.is_empty() {
                request[key] = value.into();
            }
        }
        request
    }

    /// Converts an object of the request to another target; null if there is none.
    pub(super) fn convert(
        &self,
        object: Option<&Value>,
        target: &HookTarget,
        context: &WebhookContext<'_>,
    ) -> Result<Value, ApiError> {
        let Some(object) = object else {
            return Ok(Value::Null);
        };
        let converted = target.convert(&self.target(), object, (self.store, context.caller));
        converted.map(Cow::into_owned)
    }

    /// The check of a permission for the resource of the request; expressions see it as `authorizer.requestResource`.
    pub(super) fn own_access(&self) -> AccessCheck {
        AccessCheck {
            group: self.resource.group.clone(),
            resource: self.resource.plural.clone(),
            subresource: self.subresource.to_owned(),
            namespace: self.namespace.to_owned(),
            name: self.name.to_owned(),
            ..AccessCheck::default()
        }
    }

    /// Returns why a permission is granted that an expression checks, if it is.
    pub(super) fn authorize(&self, check: &AccessCheck) -> Option<String> {
        let account = check.service_account.as_ref();
        let account = account.map(|(namespace, name)| User::unauthenticated_service_account(namespace, name));
        let user = account.as_ref().unwrap_or(self.user);
        if let Some(path) = &check.path {
            let authorizer = self.authorizer;
            return authorizer.allow_reason_for_path(self.store, user, &check.verb, path);
        }
        let access = ResourceAttributes {
            verb: &check.verb,
            group: &check.group,
            resource: &check.resource,
            subresource: &check.subresource,
            namespace: &check.namespace,
            name: &check.name,
        };
        self.authorizer.allow_reason(self.store, user, &access)
    }

    /// The labels by which a namespace selector selects; an error if the namespace does not exist.
    pub(super) fn namespace_labels(&self, object: Option<&Value>) -> Result<Value, ApiError> {
        let is_namespace = self.resource.plural == "namespaces" && self.subresource.is_empty();
        if let (true, Some(object)) = (is_namespace && self.operation != HookOperation::Delete, object) {
            return Ok(json!({ "metadata": { "labels": object["metadata"]["labels"] } }));
        }
        Ok(self.namespace()?.value().clone())
    }

    /// The namespace of the request; an error if it does not exist.
    pub(super) fn namespace(&self) -> Result<Arc<Object>, ApiError> {
        let namespace = self.store.get("namespaces", self.namespace);
        match (namespace, self.catalog.any_version("", "namespaces")) {
            (Some(namespace), _) => Ok(namespace),
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

    /// Decodes an object that a webhook or a policy changed, as a body of this kind is decoded; returns the errors of strict decoding.
    pub(super) fn decode(&self, object: &mut Value) -> Result<Vec<String>, String> {
        let strict_errors = strategy::prune_and_default(&self.kind, object, false)?;
        crate::meta::normalize_metadata(object);
        Ok(strict_errors)
    }
}
