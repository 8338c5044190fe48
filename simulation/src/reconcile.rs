//! Runs all controllers once.

use std::time::Duration;

use tokio::time::Instant;

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::{Timing, cluster_defaults, daemon_sets, deployments, jobs, pods, replica_sets, stateful_sets};

/// The actions of one reconcile, and the delay after which to reconcile again without an update.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<Action>,
    pub(crate) wait: Option<Duration>,
}

impl Plan {
    pub(crate) fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(crate) fn requeue_after(&mut self, wait: Duration) {
        self.wait = Some(self.wait.map_or(wait, |known| known.min(wait)));
    }
}

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
