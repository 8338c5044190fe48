//! The control loop: applies watch updates to the cache, reconciles and executes the actions, until there are none; then waits for updates.

use std::time::Duration;

use kube::Client;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::kubelet::Kubelets;
use crate::list_watch::{CacheUpdate, list_and_watch_forever};
use crate::nodes::Nodes;
use crate::options::SimulationOptions;
use crate::plan::Plan;
use crate::scheduler;
use crate::timers::Timers;

/// Capacity of the channel of watch updates.
const UPDATE_CHANNEL_CAPACITY: usize = 256;
/// Delay after a failed write: its cause may disappear without a watch event.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Interval of reconciles without watch events.
const IDLE_INTERVAL: Duration = Duration::from_mins(1);

/// What the simulation knows.
struct Simulated {
    cache: ObjectCache,
    nodes: Nodes,
    timers: Timers,
    options: SimulationOptions,
}

/// Runs until it is dropped.
pub(crate) async fn run(client: Client, nodes: Vec<String>, options: SimulationOptions) {
    let (sender, mut updates) = mpsc::channel(UPDATE_CHANNEL_CAPACITY);
    let mut watchers = JoinSet::new();
    for kind in Kind::ALL {
        watchers.spawn(list_and_watch_forever(client.clone(), kind, sender.clone()));
    }
    drop(sender);
    let mut simulated = Simulated {
        cache: ObjectCache::default(),
        nodes: Nodes::new(nodes),
        timers: Timers::default(),
        options,
    };
    let mut listed = std::collections::HashSet::new();
    let mut wait = IDLE_INTERVAL;
    loop {
        match tokio::time::timeout(wait, updates.recv()).await {
            Ok(None) => return,
            Ok(Some(first_update)) => {
                let mut pending = Some(first_update);
                while let Some(update) = pending {
                    if let CacheUpdate::Listed(kind, ..) = &update {
                        listed.insert(*kind);
                    }
                    update.apply_to(&mut simulated.cache);
                    pending = updates.try_recv().ok();
                }
            }
            Err(_) => {}
        }
        // Before all kinds are listed, unknown objects would be taken for missing ones.
        if listed.len() == Kind::ALL.len() {
            wait = simulated.reconcile_and_execute(&client).await;
        }
    }
}

impl Simulated {
    fn plan(&mut self, now: Instant) -> Plan {
        let mut plan = Plan::default();
        if self.nodes.reconcile(&self.cache, now, &mut plan) {
            scheduler::reconcile(&self.cache, &mut plan);
        }
        let mut kubelets = Kubelets {
            nodes: &self.nodes,
            options: self.options,
            timers: &mut self.timers,
            now,
        };
        kubelets.reconcile(&self.cache, &mut plan);
        plan
    }

    /// Reconciles once and executes the actions. Returns the delay until the next reconcile.
    async fn reconcile_and_execute(&mut self, client: &Client) -> Duration {
        let plan = self.plan(Instant::now());
        let mut wait = plan.wait.unwrap_or(IDLE_INTERVAL);
        for action in plan.actions {
            match action.execute(client, &mut self.cache).await {
                // The writes may require further actions.
                Ok(()) => wait = Duration::ZERO,
                Err(_) => wait = wait.min(RETRY_DELAY),
            }
        }
        wait
    }
}
