//! Eviction of pods: a deletion that PodDisruptionBudgets can refuse.

use super::pod_removal::MarkedPod;
use super::{Deletion, Registry, Target, WriteContext};
use crate::auth::User;
use crate::kinds::Kind;
use crate::meta::{self, has_condition, set_condition};
use crate::request::{DeleteOptions, WriteOptions};
use crate::selectors::LabelSelector;
use crate::status::{ApiError, details};
use crate::storage::Object;
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Maximum number of evictions that the disruption controller has not confirmed.
const MAX_DISRUPTED_PODS: usize = 2000;
/// How often an eviction is tried that write conflicts stop.
const MAX_ATTEMPTS: usize = 20;
/// When a client may retry while the controller has not seen the newest budget.
const RETRY_AFTER_SECONDS: u64 = 10;

const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";

/// The result of an eviction that is not an error.
pub(crate) enum Eviction {
    /// The pod is deleted, or about to be. [`Registry::remove_marked_pod`] removes one that is only marked.
    Evicted(Option<MarkedPod>),
    /// Several budgets select the pod: the API server answers 500 with a Status without a reason.
    SeveralBudgets,
}

impl Registry {
    /// Evicts a pod: deletes it, unless its PodDisruptionBudget does not allow a disruption.
    ///
    /// Pods that do not run are deleted whatever the budget. A pod that is not ready is deleted if its budget allows it (`AlwaysAllow`) or
    /// is met without it. Each other eviction takes one of the budget's allowed disruptions.
    pub(crate) fn evict(&self, target: &Target, options: &DeleteOptions) -> Result<Eviction, ApiError> {
        let pod = match self.evict_disrupted(target, options)? {
            ControlFlow::Break(evicted) => return Ok(evicted),
            ControlFlow::Continue(pod) => pod,
        };
        let mut options = options.clone();
        let budgets = self.resource("policy", "poddisruptionbudgets")?;
        let matching = self.budgets_of(&budgets, pod.value());
        let [budget] = matching.as_slice() else {
            if !matching.is_empty() {
                return Ok(Eviction::SeveralBudgets);
            }
            return self.add_condition_and_delete(target, &options);
        };
        let name = meta::name(budget).to_owned();
        let is_unguarded = !has_condition(pod.value(), "Ready") && allows_unready(budget);
        let was_unversioned = options.resource_version.is_none();
        if is_unguarded {
            // Only while it is not ready.
            bind_to_version(&mut options, pod.value());
        } else {
            let budget = Target::new(&budgets, &target.namespace, &name);
            self.take_disruption(&budget, &target.name, options.dry_run)?;
        }
        match self.add_condition_and_delete(target, &options) {
            Err(error) if error.code == 409 && is_unguarded && was_unversioned => {
                Err(budget_not_processed(&name))
            }
            evicted => evicted,
        }
    }

    /// Evicts a pod that counts as disrupted already, and returns another one. Tries again after write conflicts, unless the client names a
    /// version.
    fn evict_disrupted(
        &self,
        target: &Target,
        options: &DeleteOptions,
    ) -> Result<ControlFlow<Eviction, Arc<Object>>, ApiError> {
        let mut attempts = 0;
        loop {
            let pod = self.get(target)?;
            if !is_disrupted_already(pod.value()) {
                return Ok(ControlFlow::Continue(pod));
            }
            // Somebody else deletes it now. In kube-apiserver, the eviction conflicts with that, and finds no pod half a second later.
            if options.resource_version.is_none() && is_being_removed(pod.value()) {
                return Err(ApiError::not_found(&target.kind, &target.name));
            }
            let mut bound = options.clone();
            if !is_terminal(pod.value()) {
                bind_to_version(&mut bound, pod.value());
            }
            attempts += 1;
            match self.add_condition_and_delete(target, &bound) {
                Err(error)
                    if error.code == 409 && options.resource_version.is_none() && attempts < MAX_ATTEMPTS => {
                }
                evicted => return evicted.map(ControlFlow::Break),
            }
        }
    }

    fn budgets_of(&self, budgets: &Arc<Kind>, pod: &Value) -> Vec<Value> {
        let objects = self.store.objects(&budgets.table(), meta::namespace(pod));
        let budgets = objects.iter().map(|budget| budget.value());
        let matching = budgets.filter(|budget| {
            // A budget without a selector selects nothing, one with an empty selector everything.
            let selector = Some(&budget["spec"]["selector"]).filter(|selector| selector.is_object());
            let selector = selector.and_then(LabelSelector::from_value);
            selector.is_some_and(|selector| selector.matches(pod))
        });
        matching.cloned().collect()
    }

    /// Takes one of the allowed disruptions of a budget for a pod.
    fn take_disruption(&self, budget: &Target, pod: &str, dry_run: bool) -> Result<(), ApiError> {
        let user = User::system();
        let options = WriteOptions {
            dry_run,
            ..WriteOptions::of_manager("kube-apiserver")
        };
        let context = WriteContext::new(&user, &options);
        self.guaranteed_update(budget, "status", false, context, |old| {
            let mut new = old.cloned().unwrap_or_default();
            check_disruption(budget, &new)?;
            let left = count(&new, "disruptionsAllowed") - 1;
            let observed = new["status"]["observedGeneration"].clone();
            let status = meta::entry_mut(&mut new, "status");
            status.insert("disruptionsAllowed".into(), json!(left));
            let disrupted = status.entry("disruptedPods").or_insert_with(|| json!({}));
            disrupted[pod] = json!(meta::now());
            if left == 0 {
                set_condition(&mut new, DISRUPTION_ALLOWED, "False", "InsufficientPods", "");
                set_condition_field(&mut new, DISRUPTION_ALLOWED, "observedGeneration", &observed);
            }
            Ok(new.into())
        })?;
        Ok(())
    }

    /// Begins the deletion of the pod. If something delays that, its status says why it is being deleted.
    fn add_condition_and_delete(
        &self,
        target: &Target,
        options: &DeleteOptions,
    ) -> Result<Eviction, ApiError> {
        let mut options = options.clone();
        if !options.dry_run {
            let updated = self.try_update_as_server(target, |pod| {
                super::delete::check_preconditions(&target.kind, &target.name, pod, &options)?;
                set_eviction_condition(pod);
                Ok(())
            })?;
            if let Some(version) = &mut options.resource_version {
                meta::resource_version(updated.value()).clone_into(version);
            }
        }
        Ok(Eviction::Evicted(
            match self.begin_server_deletion(target, &options)? {
                Deletion::Done(_) => None,
                Deletion::Marked(pod) => Some(pod),
            },
        ))
    }
}

/// Sets the condition that says why the pod is being deleted.
fn set_eviction_condition(pod: &mut Value) {
    const TARGET: &str = "DisruptionTarget";
    set_condition(
        pod,
        TARGET,
        "True",
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
    );
    // Conditions of pods always have this field.
    set_condition_field(pod, TARGET, "lastProbeTime", &Value::Null);
}

/// Sets a field of the conditions of a type that the object has.
fn set_condition_field(object: &mut Value, kind: &str, field: &str, value: &Value) {
    let conditions = object["status"]["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten() {
        if condition["type"] == kind {
            condition[field] = value.clone();
        }
    }
}

/// Whether the pod counts as disrupted already, so that its eviction needs no budget.
fn is_disrupted_already(pod: &Value) -> bool {
    pod["status"]["phase"] == "Pending" || is_terminal(pod)
}

/// Whether the pod is marked for deletion, and nothing holds it.
fn is_being_removed(pod: &Value) -> bool {
    let metadata = &pod["metadata"];
    meta::is_being_deleted(pod)
        && metadata["deletionGracePeriodSeconds"] == 0
        && metadata["finalizers"].as_array().is_none_or(Vec::is_empty)
}

/// Deletes the pod only in this version, unless the client names one.
fn bind_to_version(options: &mut DeleteOptions, pod: &Value) {
    let version = meta::resource_version(pod).to_owned();
    options.resource_version.get_or_insert(version);
}

fn is_terminal(pod: &Value) -> bool {
    let phase = &pod["status"]["phase"];
    meta::is_being_deleted(pod) || phase == "Succeeded" || phase == "Failed"
}

/// Whether the budget allows the eviction of a pod that is not ready, without a disruption of its own.
fn allows_unready(budget: &Value) -> bool {
    let desired = count(budget, "desiredHealthy");
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || desired > 0 && count(budget, "currentHealthy") >= desired
}

fn count(budget: &Value, field: &str) -> i64 {
    budget["status"][field].as_i64().unwrap_or(0)
}

/// Refuses if the budget allows no disruption.
fn check_disruption(target: &Target, budget: &Value) -> Result<(), ApiError> {
    let name = &target.name;
    let generation = budget["metadata"]["generation"].as_i64().unwrap_or(0);
    if count(budget, "observedGeneration") < generation {
        return Err(budget_not_processed(name));
    }
    let allowed = count(budget, "disruptionsAllowed");
    let disrupted = budget["status"]["disruptedPods"].as_object().map_or(0, Map::len);
    let forbidden = |why: &str| {
        let message = format!("poddisruptionbudget.policy {name:?} is forbidden: {why}");
        let details = details(name, "policy", "poddisruptionbudget");
        ApiError::with_details(403, "Forbidden", message, details)
    };
    if allowed < 0 {
        return Err(forbidden("pdb disruptions allowed is negative"));
    }
    if disrupted > MAX_DISRUPTED_PODS {
        return Err(forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ));
    }
    if allowed > 0 {
        return Ok(());
    }
    Err(refused(&reason(name, budget)))
}

/// The reason why a budget allows no disruption.
fn reason(name: &str, budget: &Value) -> String {
    let conditions = budget["status"]["conditions"].as_array().into_iter().flatten();
    let mut conditions = conditions.filter(|condition| condition["type"] == DISRUPTION_ALLOWED);
    let condition = conditions
        .next()
        .filter(|condition| condition["status"] == "False");
    let text = |key: &str| {
        condition
            .and_then(|condition| condition[key].as_str())
            .unwrap_or_default()
    };
    let (message, condition_reason) = (text("message"), text("reason"));
    let (desired, current) = (count(budget, "desiredHealthy"), count(budget, "currentHealthy"));
    if !message.is_empty() && condition_reason == "SyncFailed" {
        format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
        )
    } else if current <= desired {
        format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently")
    } else if message.is_empty() {
        format!("The disruption budget {name} does not allow evicting pods currently")
    } else {
        format!(
            "The disruption budget {name} does not allow evicting pods currently ({condition_reason}): {message}"
        )
    }
}

/// The error for a budget that the disruption controller has not processed, or for a pod that changed meanwhile: the client should retry.
fn budget_not_processed(name: &str) -> ApiError {
    let cause = format!("The disruption budget {name} is still being processed by the server.");
    refused(&cause).with_retry_after(RETRY_AFTER_SECONDS)
}

fn refused(cause: &str) -> ApiError {
    let details = json!({ "causes": [{ "reason": "DisruptionBudget", "message": cause }] });
    ApiError::with_details(429, "TooManyRequests", REFUSED, details)
}
