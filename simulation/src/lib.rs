//! Simulates nodes: a scheduler assigns pods to them, and kubelets let pods run, become ready, complete and end. No container runs.
//!
//! ```no_run
//! use kubewright_simulation::{Simulation, SimulationOptions};
//!
//! # async fn start(client: kube::Client) {
//! let simulation = Simulation::start(client, SimulationOptions::default());
//! // … pods run a moment later …
//! drop(simulation);
//! # }
//! ```
//!
//! The simulation is an ordinary client of an API server: it sees stored objects like any client, and its writes pass admission and
//! validation. So it works with any API server that has no scheduler. Deployments and other workloads get their pods from the controllers of
//! kube-controller-manager, or of `kubewright-controllers`, beside it.
//!
//! # Nodes
//!
//! It creates [its nodes](Simulation::nodes) when it starts, once: a deleted node stays deleted, and so do its pods' kubelet. Their status is
//! written once, so it can be changed. Their leases in the namespace `kube-node-lease` are renewed every ten seconds.
//!
//! # Scheduler
//!
//! A pod of the scheduler `default-scheduler` without scheduling gates gets the node with the fewest pods among those, of all nodes in the API
//! server, that are ready and schedulable, have room for another pod (`allocatable.pods`), whose taints it tolerates, and that its
//! `nodeSelector` and required node affinity select. If there is none, its condition `PodScheduled` says why.
//!
//! # Pods
//!
#![doc = include_str!("annotations.md")]
//!
//! Readiness probes succeed after their `initialDelaySeconds`, also after a restart.
//!
//! A deleted pod is gone at once. If it has finalizers it fails with exit code 143 before, as containers do that end on SIGTERM.
//!
//! # Limitations
//!
//! Not simulated: requests of CPU and memory, affinity between pods, topology spread, preferences, volumes and claims, startup probes, init containers,
//! priorities and preemption, `activeDeadlineSeconds` of pods. Failed containers are restarted without backoff.
//!
//! Read in this order: `kind` and `cache` (the known objects), `list_watch` (updates of the cache), `nodes`, `scheduler` and `kubelet` (functions
//! from the cache to a `Plan` of `Action`s), `control_loop` (calls them and executes the actions).

mod action;
mod cache;
mod control_loop;
mod kind;
mod kubelet;
mod list_watch;
mod node_selection;
mod nodes;
mod object;
mod options;
mod plan;
mod pod_status;
mod scheduler;
#[cfg(test)]
mod tests;
mod timers;

use kube::Client;
use tokio::task::JoinHandle;

pub use nodes::NODE;
pub use options::SimulationOptions;

/// A running simulation. Dropping it stops it; the objects stay as they are.
#[derive(Debug)]
pub struct Simulation {
    task: JoinHandle<()>,
    nodes: Vec<String>,
}

impl Simulation {
    /// Starts a simulation as the user of `client`, who needs administrator permissions. It retries after errors and lost connections.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn start(client: Client, options: SimulationOptions) -> Self {
        let nodes = nodes::names(options.nodes);
        let task = tokio::spawn(control_loop::run(client, nodes.clone(), options));
        Self { task, nodes }
    }

    /// Returns the names of the simulated nodes.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        self.task.abort();
    }
}
