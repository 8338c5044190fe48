//! Which webhooks are called for a write, as kube-apiserver decides it.

use super::WebhookContext;
use super::hook::{Hook, Rule};
use super::request::{HookRequest, HookTarget};
use crate::cel::Variables;
use crate::kinds::Kind;
use crate::status::ApiError;
use serde_json::{Value, json};

/// The kinds whose objects are sent to no webhook: otherwise a faulty webhook could refuse the change that mends it.
const EXEMPT_KINDS: &[&str] = &[
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
];

impl HookRequest<'_> {
    /// True if no webhook is called for the request, whatever the rules say.
    pub(super) fn is_exempt(&self) -> bool {
        self.resource.group == "admissionregistration.k8s.io"
            && EXEMPT_KINDS.contains(&self.resource.kind.as_str())
    }

    /// Returns the target in which the webhook gets the request; None if it does not match. `object` is in the version `target`.
    pub(super) fn matches(
        &self,
        hook: &Hook,
        object: Option<(&HookTarget, &Value)>,
        context: &WebhookContext<'_>,
    ) -> Result<Option<HookTarget>, ApiError> {
        // A namespace that does not exist is an error only if everything else matches.
        let in_namespace = self.is_in_namespace(hook, object.map(|(_, object)| object));
        if matches!(in_namespace, Ok(false)) {
            return Ok(None);
        }
        let Some(selector) = &hook.object_selector else {
            return Err(ApiError::internal("the objectSelector is invalid"));
        };
        let mut objects = object.map(|(_, object)| object).into_iter().chain(self.old);
        if !selector.is_empty() && !objects.any(|object| selector.matches(object)) {
            return Ok(None);
        }
        let Some(target) = self.rule_target(hook) else {
            return Ok(None);
        };
        in_namespace?;
        if hook.conditions.is_empty() || self.meets_conditions(hook, object, &target, context)? {
            return Ok(Some(target));
        }
        Ok(None)
    }

    fn is_in_namespace(&self, hook: &Hook, object: Option<&Value>) -> Result<bool, ApiError> {
        if self.namespace.is_empty() && self.resource.plural != "namespaces" {
            return Ok(true);
        }
        let selector = hook.namespace_selector.as_ref();
        let selector = selector.ok_or_else(|| ApiError::internal("the namespaceSelector is invalid"))?;
        Ok(selector.is_empty() || selector.matches(&self.namespace_labels(object)?))
    }

    fn rule_target(&self, hook: &Hook) -> Option<HookTarget> {
        if hook
            .rules
            .iter()
            .any(|rule| self.matches_rule(rule, self.resource))
        {
            return Some(self.target());
        }
        if !hook.matches_equivalent {
            return None;
        }
        let equivalents = self.equivalents();
        // Earlier rules are preferred to earlier versions.
        hook.rules.iter().find_map(|rule| {
            let mut equivalents = equivalents.iter();
            equivalents
                .find(|target| self.matches_rule(rule, &target.resource))
                .cloned()
        })
    }

    fn matches_rule(&self, rule: &Rule, resource: &Kind) -> bool {
        let contains = |list: &[String], value: &str| list.iter().any(|item| item == "*" || item == value);
        let is_namespace = resource.group.is_empty() && resource.plural == "namespaces";
        let is_cluster_scoped = is_namespace || self.namespace.is_empty();
        (match rule.scope.as_str() {
            "Namespaced" => !is_cluster_scoped,
            "Cluster" => is_cluster_scoped,
            _ => true,
        }) && contains(&rule.operations, self.operation.name())
            && contains(&rule.groups, &resource.group)
            && contains(&rule.versions, &resource.version)
            && rule.resources.iter().any(|rule| {
                let (plural, subresource) = rule.split_once('/').unwrap_or((rule, ""));
                (plural == "*" || plural == resource.plural)
                    && (subresource == "*" || subresource == self.subresource)
            })
    }

    /// Evaluates the match conditions: one that is false wins over others that cannot be evaluated.
    fn meets_conditions(
        &self,
        hook: &Hook,
        object: Option<(&HookTarget, &Value)>,
        target: &HookTarget,
        context: &WebhookContext<'_>,
    ) -> Result<bool, ApiError> {
        let own = self.target();
        let access = (self.store, context.caller);
        let object = match object {
            Some((from, object)) => target.convert(from, object, access)?.into_owned(),
            None => Value::Null,
        };
        let old = match self.old {
            Some(old) => target.convert(&own, old, access)?.into_owned(),
            None => Value::Null,
        };
        let mut request = self.review_request(target, context);
        request["object"] = object.clone();
        request["oldObject"] = old.clone();
        let variables = Variables::new([("object", &object), ("oldObject", &old), ("request", &request)]);
        let mut errors = vec![];
        for condition in &hook.conditions {
            match variables.evaluate(&condition.0) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(why) => errors.push(why),
            }
        }
        if errors.is_empty() {
            return Ok(true);
        }
        if !hook.fails_closed {
            return Ok(false);
        }
        let why = match errors.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        Err(ApiError::forbidden(self.resource, self.name, why))
    }

    /// The request of a review, without objects and uid.
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
}
