//! Simulates kube-controller-manager, scheduler and kubelet for workloads: Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs get
//! pods, and pods are scheduled, run, become ready and complete, so that the status of workloads becomes realistic. No container runs.
//!
//! ```no_run
//! use kubewright_simulation::{Simulation, Timing};
//!
//! # async fn start(client: kube::Client) {
//! let simulation = Simulation::start(client, Timing::default());
//! // … Deployments have available replicas a moment later …
//! drop(simulation);
//! # }
//! ```
//!
//! The simulation is an ordinary client of an API server: it sees stored objects like any client, and its writes pass admission and
//! validation. So it works with any API server, unless a controller manager runs as well: the two would conflict.
//!
//! It creates one node, [`NODE`], and a service account `default` in each namespace (a task of the controller manager, not of the API
//! server).
//!
//! # Behavior of pods
//!
#![doc = include_str!("annotations.md")]
//!
//! # Limitations
//!
//! Not simulated: resources, affinity, taints, volumes and claims, probes, init containers, priorities and disruption budgets (every pod
//! fits on the node); CronJobs, HorizontalPodAutoscalers, endpoints, ControllerRevisions. Pods without a controller are not adopted.
//! `minReadySeconds`, `progressDeadlineSeconds`, `activeDeadlineSeconds` and `ttlSecondsAfterFinished` are ignored, as are a Job's indexes
//! and its failure and success policies. Failed containers are restarted without backoff.
//!
//! Read in this order: `kind` and `cache` (the known objects), `list_watch` (updates of the cache), `reconcile` (the controllers, each a
//! function from the cache to a `Plan` of `Action`s), `control_loop` (runs the controllers and executes the actions).

mod action;
mod cache;
mod cluster_defaults;
mod control_loop;
mod daemon_sets;
mod deployments;
mod jobs;
mod kind;
mod list_watch;
mod object;
mod plan;
mod pods;
mod reconcile;
mod replica_sets;
mod stateful_sets;
#[cfg(test)]
mod tests;

use std::time::Duration;

use kube::Client;
use tokio::task::JoinHandle;

/// The name of the simulated node.
pub const NODE: &str = "simulated-node";

/// Durations of pod phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// From scheduling until the pod runs.
    pub pod_start: Duration,
    /// From then until the containers exit, for pods that are to complete.
    pub pod_run: Duration,
}

impl Default for Timing {
    /// Half a second and two seconds: long enough to be observed.
    fn default() -> Self {
        Self {
            pod_start: Duration::from_millis(500),
            pod_run: Duration::from_secs(2),
        }
    }
}

/// A running simulation. Dropping it stops it; the objects stay as they are.
#[derive(Debug)]
pub struct Simulation(JoinHandle<()>);

impl Simulation {
    /// Starts a simulation as the user of `client`, who needs administrator permissions. It retries after errors and lost connections.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn start(client: Client, timing: Timing) -> Self {
        Self(tokio::spawn(control_loop::run(client, timing)))
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        self.0.abort();
    }
}
