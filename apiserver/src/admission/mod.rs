//! Admission: what the server changes in a write and refuses, beyond the rules of the object's kind. One file a plugin of kube-apiserver,
//! under its name there; `plugin` has them in its order. `webhooks` calls those of clients, and `policies` evaluates expressions of clients;
//! `hook_request` is a write as both see it, and `expressions` has what both compile.

mod bound_pod;
mod certificate_approval;
mod certificate_signing;
mod certificate_subject_restriction;
mod default_class;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod expressions;
mod hook_request;
mod limit_ranger;
mod match_conditions;
mod match_resources;
mod namespace_lifecycle;
mod node_declared_feature_validator;
mod owner_references_permission_enforcement;
mod persistent_volume_claim_resize;
mod plugin;
mod pod_resize_validator;
mod pod_security;
mod pod_topology_labels;
mod policies;
mod priority;
mod reinvocation;
mod report;
mod resource_quota;
mod runtime_class;
mod service_account;
mod signers;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;
mod webhooks;

pub use plugin::{AdmissionPlugin, AdmissionPluginError};
pub(crate) use pod_topology_labels::topology_labels;
pub(crate) use report::AdmissionReport;
pub(crate) use resource_quota::{QuotaCharge, is_charged, quota_charges, resource_quotas};
pub(crate) use service_account::{DEFAULT_ACCOUNT, is_mirror};
pub(crate) use webhooks::{HookCache, HookSet, WebhookContext};

use crate::auth::{Authorizer, User};
use crate::kinds::{Catalog, Kind};
use crate::meta;
use crate::status::ApiError;
use crate::storage::{Object, Store};
use hook_request::{HookOperation, HookRequest};
use policies::MutatingPolicies;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use webhooks::MutatingWebhooks;

/// A write, as plugins see it.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a> {
    pub(crate) operation: Operation<'a>,
    pub(crate) kind: &'a Kind,
    pub(crate) namespace: &'a str,
    /// Empty if it is generated later.
    pub(crate) name: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) user: &'a User,
    pub(crate) store: &'a Store,
    pub(crate) catalog: &'a Catalog,
    pub(crate) authorizer: &'a Authorizer,
    pub(crate) dry_run: bool,
    /// None if the write is the server's own: nobody would read the report.
    pub(crate) report: Option<&'a AdmissionReport>,
    /// None if the write calls no webhooks and evaluates no policies.
    pub(crate) webhooks: Option<WebhookContext<'a>>,
}

/// The operation of a write.
#[derive(Clone, Copy)]
pub(crate) enum Operation<'a> {
    Create,
    Update {
        /// The object before.
        old: &'a Value,
    },
    Delete,
    /// The object is the options of a connection, such as `PodExecOptions`.
    Connect,
}

/// Changes the object of a create or an update, before it is prepared and validated.
pub(crate) fn mutate(
    plugins: &[AdmissionPlugin],
    attributes: &Attributes<'_>,
    object: &mut Value,
) -> Result<(), ApiError> {
    let name = attributes.webhook_name(object).to_owned();
    let named = Attributes {
        name: &name,
        ..*attributes
    };
    let hooks = |plugin| Some((named.hook_request(), named.webhooks?)).filter(|_| plugins.contains(&plugin));
    let mut policies = hooks(AdmissionPlugin::MutatingAdmissionPolicy)
        .and_then(|(request, context)| MutatingPolicies::new(request, context));
    let mut webhooks = hooks(AdmissionPlugin::MutatingAdmissionWebhook)
        .and_then(|(request, context)| MutatingWebhooks::new(request, context));
    for is_first in [true, false] {
        plugins.iter().try_for_each(|plugin| match plugin {
            AdmissionPlugin::MutatingAdmissionPolicy => {
                policies.as_mut().map_or(Ok(()), |policies| policies.run(object))
            }
            AdmissionPlugin::MutatingAdmissionWebhook => webhooks
                .as_mut()
                .map_or(Ok(()), |webhooks| webhooks.run(Some(object))),
            plugin => plugin.mutate(attributes, object),
        })?;
        let by_policies = policies
            .as_ref()
            .is_some_and(MutatingPolicies::changed_the_object);
        let by_webhooks = webhooks
            .as_ref()
            .is_some_and(MutatingWebhooks::changed_the_object);
        if !(is_first && (by_policies || by_webhooks)) {
            break;
        }
    }
    Ok(())
}

/// Refuses a valid object that is about to be stored. ResourceQuota follows as the last plugin: it writes to other objects, so the registry calls
/// [`quota_charges`].
pub(crate) fn validate(
    plugins: &[AdmissionPlugin],
    attributes: &Attributes<'_>,
    object: &Value,
) -> Result<(), ApiError> {
    plugins.iter().try_for_each(|plugin| match plugin {
        AdmissionPlugin::ValidatingAdmissionPolicy => {
            attributes.validate_by_hooks(object, policies::validate)
        }
        AdmissionPlugin::ValidatingAdmissionWebhook => {
            attributes.validate_by_hooks(object, webhooks::validate)
        }
        plugin => plugin.validate(attributes, object),
    })
}

/// Lets only webhooks and policies change an object that other plugins do not see: one that is answered but not stored, or the scale of an object.
pub(crate) fn mutate_by_webhooks(
    plugins: &[AdmissionPlugin],
    attributes: &Attributes<'_>,
    object: &mut Value,
) -> Result<(), ApiError> {
    mutate(webhook_plugins(plugins), attributes, object)
}

/// Lets only webhooks and policies refuse an object that other plugins do not see.
pub(crate) fn validate_by_webhooks(
    plugins: &[AdmissionPlugin],
    attributes: &Attributes<'_>,
    object: &Value,
) -> Result<(), ApiError> {
    validate(webhook_plugins(plugins), attributes, object)
}

/// The plugins that call webhooks or evaluate policies, which are next to each other.
fn webhook_plugins(plugins: &[AdmissionPlugin]) -> &[AdmissionPlugin] {
    let first = plugins.partition_point(|plugin| *plugin < AdmissionPlugin::MutatingAdmissionPolicy);
    let end = plugins.partition_point(|plugin| *plugin <= AdmissionPlugin::ValidatingAdmissionWebhook);
    &plugins[first..end]
}

/// Refuses a deletion.
pub(crate) fn admit_deletion(
    plugins: &[AdmissionPlugin],
    attributes: &Attributes<'_>,
) -> Result<(), ApiError> {
    admit_virtual_resource(plugins, attributes, &Value::Null)
}

/// Refuses an object that is not stored, such as an eviction.
pub(crate) fn admit_virtual_resource(
    plugins: &[AdmissionPlugin],
    attributes: &Attributes<'_>,
    object: &Value,
) -> Result<(), ApiError> {
    if plugins.contains(&AdmissionPlugin::NamespaceLifecycle) {
        return namespace_lifecycle::admit(attributes, object);
    }
    Ok(())
}

/// Lets webhooks refuse the deletion of an object in its present state.
pub(crate) fn admit_deletion_by_webhooks(
    plugins: &[AdmissionPlugin],
    attributes: &Attributes<'_>,
    old: &Value,
) -> Result<(), ApiError> {
    let Some(context) = attributes.webhooks else {
        return Ok(());
    };
    let request = HookRequest {
        old: Some(old),
        ..attributes.hook_request()
    };
    webhook_plugins(plugins)
        .iter()
        .try_for_each(|plugin| match plugin {
            // There is no object to change.
            AdmissionPlugin::MutatingAdmissionPolicy => Ok(()),
            AdmissionPlugin::MutatingAdmissionWebhook => match MutatingWebhooks::new(request, context) {
                Some(mut webhooks) => webhooks.run(None),
                None => Ok(()),
            },
            AdmissionPlugin::ValidatingAdmissionPolicy => policies::validate(&request, None, &context),
            _ => webhooks::validate(&request, None, &context),
        })
}

impl<'a> Attributes<'a> {
    /// The attributes for plugins that see the object. Webhooks see the scale instead, if that is written.
    pub(crate) fn for_plugins(&self) -> Self {
        let webhooks = self.webhooks.filter(|_| self.subresource != "scale");
        Self { webhooks, ..*self }
    }

    fn hook_request(&self) -> HookRequest<'a> {
        let (operation, old) = match self.operation {
            Operation::Create => (HookOperation::Create, None),
            Operation::Update { old } => (HookOperation::Update, Some(old)),
            Operation::Delete => (HookOperation::Delete, None),
            Operation::Connect => (HookOperation::Connect, None),
        };
        let is_namespace = self.is_kind("", "Namespace");
        HookRequest {
            operation,
            resource: self.kind,
            subresource: self.subresource,
            namespace: if is_namespace { self.name } else { self.namespace },
            name: self.name,
            old,
            user: self.user,
            dry_run: self.dry_run,
            store: self.store,
            catalog: self.catalog,
            authorizer: self.authorizer,
        }
    }

    /// The name of an object as webhooks see it. Empty if it is generated later, or no webhook is called.
    fn webhook_name<'o>(&self, object: &'o Value) -> &'o str
    where
        'a: 'o,
    {
        match self.webhooks {
            None => "",
            Some(_) if self.name.is_empty() => meta::name(object),
            Some(_) => self.name,
        }
    }

    /// Lets webhooks or policies refuse an object.
    fn validate_by_hooks(
        &self,
        object: &Value,
        validate: impl FnOnce(&HookRequest<'_>, Option<&Value>, &WebhookContext<'_>) -> Result<(), ApiError>,
    ) -> Result<(), ApiError> {
        let Some(context) = self.webhooks else {
            return Ok(());
        };
        // The name may have been generated.
        let name = self.webhook_name(object);
        let attributes = Attributes { name, ..*self };
        validate(&attributes.hook_request(), Some(object), &context)
    }
}

impl Attributes<'_> {
    /// True for a kind, not for its subresources.
    fn is_object(&self, group: &str, kind: &str) -> bool {
        self.subresource.is_empty() && self.is_kind(group, kind)
    }

    fn is_kind(&self, group: &str, kind: &str) -> bool {
        self.kind.group == group && self.kind.kind == kind
    }

    /// True for a create of a kind, not of its subresources.
    fn creates(&self, group: &str, kind: &str) -> bool {
        matches!(self.operation, Operation::Create) && self.is_object(group, kind)
    }

    /// Returns an object by its key in the store: its name, after `namespace/` for a namespaced resource.
    fn get(&self, group: &str, plural: &str, key: &str) -> Option<Arc<Object>> {
        let kind = self.catalog.any_version(group, plural)?;
        self.store.get(&kind.table(), key)
    }

    /// Returns all objects of a resource in a namespace, or in all if it is empty.
    fn list(&self, group: &str, plural: &str, namespace: &str) -> Vec<Arc<Object>> {
        let kind = self.catalog.any_version(group, plural);
        kind.map(|kind| self.store.objects(&kind.table(), namespace))
            .unwrap_or_default()
    }

    /// The 403 of a plugin. The name of a new object may not be generated yet.
    fn forbidden(&self, object: &Value, why: impl fmt::Display) -> ApiError {
        forbidden(self.kind, self.name, object, why)
    }
}

/// The 403 for a request. `name` is empty if the request does not name the object.
fn forbidden(kind: &Kind, name: &str, object: &Value, why: impl fmt::Display) -> ApiError {
    let generate_name = meta::text(&object["metadata"], "generateName");
    let names = [name, meta::name(object), generate_name];
    let name = names.into_iter().find(|name| !name.is_empty());
    ApiError::forbidden(kind, name.unwrap_or("Unknown"), why)
}
