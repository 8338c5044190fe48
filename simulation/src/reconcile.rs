//! Runs all controllers once.

use tokio::time::Instant;

use crate::cache::ObjectCache;
use crate::plan::Plan;
use crate::{Timing, cluster_defaults, daemon_sets, deployments, jobs, pods, replica_sets, stateful_sets};

/// Reconciles owners before their dependents, so that a change takes as few rounds as there are levels.
pub(crate) fn reconcile_all(cache: &mut ObjectCache, timing: Timing, now: Instant) -> Plan {
    let mut plan = Plan::default();
    cache.remove_stale_timers();
    cluster_defaults::reconcile(cache, &mut plan);
    deployments::reconcile(cache, &mut plan);
    replica_sets::reconcile(cache, &mut plan);
    stateful_sets::reconcile(cache, &mut plan);
    daemon_sets::reconcile(cache, &mut plan);
    jobs::reconcile(cache, &mut plan);
    pods::reconcile(cache, timing, now, &mut plan);
    plan
}
