//! Which webhooks are called for a write, as kube-apiserver decides it.

use super::WebhookContext;
use super::hook::Hook;
use crate::admission::hook_request::{HookRequest, HookTarget};
use crate::admission::match_conditions;
use crate::cel::{Activation, Budget};
use crate::status::ApiError;
use serde_json::Value;
use std::sync::Arc;

impl HookRequest<'_> {
    /// Returns the target in which the webhook gets the request; None if it does not match. `object` is in the version `target`.
    pub(super) fn matches(
        &self,
        hook: &Hook,
        object: Option<(&HookTarget, &Value)>,
        context: &WebhookContext<'_>,
    ) -> Result<Option<HookTarget>, ApiError> {
        let target = hook.matches.target(self, object.map(|(_, object)| object))?;
        let Some(target) = target else {
            return Ok(None);
        };
        if hook.conditions.is_empty() || self.meets_conditions(hook, object, &target, context)? {
            return Ok(Some(target));
        }
        Ok(None)
    }

    fn meets_conditions(
        &self,
        hook: &Hook,
        object: Option<(&HookTarget, &Value)>,
        target: &HookTarget,
        context: &WebhookContext<'_>,
    ) -> Result<bool, ApiError> {
        let access = (self.store, context.caller);
        let object = match object {
            Some((from, object)) => target.convert(from, object, access)?.into_owned(),
            None => Value::Null,
        };
        let old = self.convert(self.old, target, context)?;
        let request = self.review_request(target, context);
        let variables = [
            ("object", &object),
            ("oldObject", &old),
            ("request", &request),
            ("namespaceObject", &Value::Null),
        ];
        let activation = Activation::new(variables, &Arc::default(), self.own_access(), Budget::Conditions);
        match match_conditions::are_met(&hook.conditions, &activation, &|check| self.authorize(check)) {
            Ok(are_met) => Ok(are_met),
            Err(_) if !hook.fails_closed => Ok(false),
            Err(why) => Err(ApiError::forbidden(self.resource, self.name, why)),
        }
    }
}
