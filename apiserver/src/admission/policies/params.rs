//! The params of policies: the objects that a binding refers to.

use crate::admission::WebhookContext;
use crate::admission::hook_request::HookRequest;
use crate::kinds::{Kind, convert};
use crate::selectors::LabelSelector;
use crate::storage::{Object, Store};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The kind of a policy's params.
#[derive(Debug)]
pub(super) struct ParamKind {
    api_version: String,
    kind: String,
}

/// A binding's reference to params.
#[derive(Debug)]
pub(super) struct ParamRef {
    /// Empty if params are selected by their labels.
    name: String,
    /// Empty for the namespace of the request.
    namespace: String,
    /// None if it is malformed.
    selector: Option<LabelSelector>,
    /// Whether it is an error that there are no params (`parameterNotFoundAction: Deny`).
    requires_params: bool,
}

impl ParamKind {
    pub(super) fn parse(kind: &Value) -> Option<Self> {
        let text = |field: &str| kind[field].as_str().unwrap_or_default().to_owned();
        kind.is_object().then(|| Self {
            api_version: text("apiVersion"),
            kind: text("kind"),
        })
    }

    /// Returns the served kind.
    ///
    /// # Errors
    ///
    /// Returns kube-apiserver's message if there is none.
    pub(super) fn resolve<'r>(&self, request: &HookRequest<'r>) -> Result<&'r Arc<Kind>, String> {
        let kind = request.catalog.kind(&self.api_version, &self.kind);
        kind.ok_or_else(|| format!("failed to find resource referenced by paramKind: '{self}'"))
    }
}

impl fmt::Display for ParamKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.api_version.contains('/') { "" } else { "/" };
        write!(formatter, "{separator}{}, Kind={}", self.api_version, self.kind)
    }
}

impl ParamRef {
    pub(super) fn parse(reference: &Value) -> Option<Self> {
        let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
        reference.is_object().then(|| Self {
            name: text("name"),
            namespace: text("namespace"),
            selector: LabelSelector::from_value(&reference["selector"]),
            requires_params: reference["parameterNotFoundAction"] == "Deny",
        })
    }

    /// Returns the params, in the version of their kind.
    ///
    /// # Errors
    ///
    /// Returns kube-apiserver's message if the reference does not fit the kind or the request, or if there must be params and are none.
    pub(super) fn find(
        &self,
        kind: &Kind,
        request: &HookRequest<'_>,
        context: &WebhookContext<'_>,
    ) -> Result<Vec<Value>, String> {
        let namespace = match (kind.namespaced, self.namespace.as_str()) {
            (true, "") if request.namespace.is_empty() => {
                return Err(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                        .to_owned(),
                );
            }
            (true, "") => request.namespace,
            (true, namespace) => namespace,
            (false, "") => "",
            (false, _) => {
                return Err(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned(),
                );
            }
        };
        let table = kind.table();
        let found: Vec<Arc<Object>> = if self.name.is_empty() {
            let selector = self.selector.as_ref().ok_or("the selector is invalid")?;
            let objects = request.store.objects(&table, namespace).into_iter();
            objects
                .filter(|object| selector.matches(object.value()))
                .collect()
        } else {
            let key = Store::key(namespace, &self.name);
            request.store.get(&table, &key).into_iter().collect()
        };
        if found.is_empty() && self.requires_params {
            return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
        }
        let mut params: Vec<Value> = found.iter().map(|object| object.value().clone()).collect();
        if let Some(webhook) = kind.conversion_webhook() {
            webhook.convert(&mut params, &kind.api_version(), request.store, context.caller)?;
            return Ok(params);
        }
        for param in &mut params {
            if let Some(converted) = convert::to_request_version(kind, param) {
                *param = converted;
            }
        }
        Ok(params)
    }
}
