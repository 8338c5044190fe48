//! ResourceQuota: refuses writes that exceed a quota of their namespace, and computes the usage that the others add to `status.used`.
//!
//! Limits and usage are read from `status`, which the quota controller computes from `spec` and the existing objects. Without that controller
//! a quota limits nothing until a client sets `status.hard` and `status.used`. As in kube-apiserver, admission never lowers the usage: not when
//! an object is deleted, and not when a write fails after it was charged.
//!
//! Reading order: `amounts` (arithmetic), `scopes` (the objects that a quota counts), `usage` with `pods` and `device_claims` (evaluators, one
//! per kind), then this file.

mod amounts;
mod device_claims;
mod pods;
mod scopes;
mod usage;

pub(super) use pods::spec_resources;

use super::{Attributes, Operation};
use crate::builtin::{ResourceList, resource_list};
use crate::meta;
use crate::status::ApiError;
use crate::storage::Object;
use amounts::{add, exceeded, format_resources, increase, is_zero};
use scopes::ScopeRequirement;
use serde_json::Value;
use std::sync::Arc;
use usage::Evaluator;

/// A quota and its usage after a write.
#[derive(Debug)]
pub(crate) struct QuotaCharge {
    /// The quota, as it is before the write.
    pub(crate) quota: Arc<Object>,
    /// The new `status.used`.
    pub(crate) used: ResourceList,
}

/// Whether a write can change the usage of quotas.
pub(crate) fn is_charged(attributes: &Attributes<'_>, object: &Value) -> bool {
    let evaluator = Evaluator::of(attributes.kind);
    !attributes.namespace.is_empty()
        && evaluator.is_some_and(|evaluator| evaluator.handles(attributes, object))
}

/// Returns the quotas of the object's namespace.
pub(crate) fn resource_quotas(attributes: &Attributes<'_>) -> Vec<Arc<Object>> {
    attributes.list("", "resourcequotas", attributes.namespace)
}

/// Returns the quotas that a write is charged to, of some of the quotas of its namespace.
///
/// # Errors
///
/// 403 if the write exceeds a quota, if its object does not set a resource that a quota limits, or if a quota has no usage yet.
pub(crate) fn quota_charges(
    attributes: &Attributes<'_>,
    object: &Value,
    quotas: &[Arc<Object>],
) -> Result<Vec<QuotaCharge>, ApiError> {
    let Some(evaluator) = Evaluator::of(attributes.kind) else {
        return Ok(vec![]);
    };
    let write = MeasuredWrite {
        evaluator,
        attributes,
        object,
    };
    let forbidden = |why: String| attributes.forbidden(object, why);
    let mut matching = vec![];
    for quota in quotas.iter().filter(|quota| write.matches(quota.value(), object)) {
        write.check_quota(quota.value()).map_err(forbidden)?;
        matching.push(quota);
    }
    let mut charges = vec![];
    for quota in matching {
        let used = write.usage_after(quota.value()).map_err(forbidden)?;
        charges.extend(used.map(|used| QuotaCharge {
            quota: quota.clone(),
            used,
        }));
    }
    Ok(charges)
}

/// A write with the evaluator of its kind.
struct MeasuredWrite<'a> {
    evaluator: Evaluator,
    attributes: &'a Attributes<'a>,
    object: &'a Value,
}

impl MeasuredWrite<'_> {
    /// Whether a quota limits a resource of the object's kind, and the object is in all scopes of the quota.
    fn matches(&self, quota: &Value, object: &Value) -> bool {
        let hard = resource_list(&quota["status"]["hard"]);
        let requirements = ScopeRequirement::of_quota(quota);
        !self.limited(&hard).is_empty()
            && requirements
                .iter()
                .all(|requirement| self.evaluator.matches_scope(requirement, object))
    }

    /// Returns the limited resources that objects of the kind use, sorted.
    fn limited<'h>(&self, hard: &'h ResourceList) -> Vec<&'h str> {
        let names = hard.keys().map(String::as_str);
        let mut names: Vec<&str> = names
            .filter(|name| self.evaluator.is_resource(self.attributes, name))
            .collect();
        names.sort_unstable();
        names
    }

    /// Checks that the object sets the resources that the quota limits, and that the quota's usage is known.
    fn check_quota(&self, quota: &Value) -> Result<(), String> {
        let (name, hard) = (meta::name(quota), resource_list(&quota["status"]["hard"]));
        let limited = self.limited(&hard);
        if let Some(missing) = self.evaluator.missing_resources(&limited, self.object) {
            return Err(format!("failed quota: {name}: must specify {missing}"));
        }
        let used = &quota["status"]["used"];
        if limited.iter().any(|resource| used[*resource].is_null()) {
            let limited = limited.join(",");
            return Err(format!("status unknown for quota: {name}, resources: {limited}"));
        }
        Ok(())
    }

    /// Returns the usage of a quota after the write, or None if it stays the same.
    fn usage_after(&self, quota: &Value) -> Result<Option<ResourceList>, String> {
        let (hard, used) = (&quota["status"]["hard"], &quota["status"]["used"]);
        let (hard, used) = (resource_list(hard), resource_list(used));
        let mut requested = self.requested(quota);
        requested.retain(|name, quantity| hard.contains_key(name) && !is_zero(quantity));
        if requested.is_empty() {
            return Ok(None);
        }
        let new = add(&used, &requested);
        let changed = new
            .clone()
            .into_iter()
            .filter(|(name, _)| requested.contains_key(name));
        let changed: ResourceList = changed.collect();
        let over = exceeded(&changed, &hard);
        // A status reports the observed state, so its usage is counted and never refused.
        if over.is_empty() || self.attributes.subresource == "status" {
            return Ok(Some(new));
        }
        Err(format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            meta::name(quota),
            format_resources(&requested, &over),
            format_resources(&used, &over),
            format_resources(&hard, &over)
        ))
    }

    /// Returns the usage that the write adds to a quota: all of the object's usage, or the increase if the quota counted the old object.
    fn requested(&self, quota: &Value) -> ResourceList {
        let usage = |object: &Value| self.evaluator.usage(self.attributes, object);
        match self.attributes.operation {
            Operation::Update { old } if self.matches(quota, old) => {
                increase(&usage(self.object), &usage(old))
            }
            _ => usage(self.object),
        }
    }
}

#[cfg(test)]
mod charge_tests;
#[cfg(test)]
mod usage_tests;
