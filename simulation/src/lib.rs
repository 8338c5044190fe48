//! What kube-controller-manager, the scheduler and a kubelet do with workloads, simulated: Deployments, ReplicaSets, StatefulSets,
//! DaemonSets and Jobs become pods, and pods become scheduled, running, ready and completed, so that the status of what watches them
//! becomes real. No container runs.
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
//! It is a client of an API server and of nothing else: it sees what any client sees, after it was stored, and its writes pass admission
//! and validation like anybody's. So it also works against an API server that is not ours, as long as no controller manager runs there:
//! the two would fight.
//!
//! It makes one node, [`NODE`], and a service account `default` in each namespace, which a controller manager does, not an API server.
//!
//! # What a pod does
//!
//! Annotations of a pod, and so of a workload's template, say what becomes of it:
//!
//! | annotation `simulation.kubewright.dev/` | |
//! |---|---|
//! | `start` | milliseconds from its place on the node until it runs; else [`Timing::pod_start`] |
//! | `run` | milliseconds until its containers end; else [`Timing::pod_run`] where the restart policy is not `Always`, and for ever where it is |
//! | `exit-code` | with which code they end; else 0. Where the policy says so, they start again |
//! | `waiting` | a reason for which its containers never start, such as `ImagePullBackOff` |
//! | `never-ready` | `true`: it runs and does not become ready |
//!
//! # What is not simulated
//!
//! Resources, affinity, taints, volumes and claims, probes, init containers, priorities and disruption budgets: every pod fits on the
//! node. CronJobs, HorizontalPodAutoscalers, endpoints, ControllerRevisions. Pods without a controller are not adopted.
//! `minReadySeconds`, `progressDeadlineSeconds`, `activeDeadlineSeconds` and `ttlSecondsAfterFinished` are taken for unset, a Job's
//! indexes and its policies for failures and successes, too. Containers that fail start again at once.
//!
//! Read in this order: `world` (what is known), `follow` (how it gets known), `step` (the order of the controllers, each a pure function
//! from the world to `Action`s), `running` (the loop that does them).

mod action;
mod daemon_sets;
mod deployments;
mod follow;
mod housekeeping;
mod jobs;
mod object;
mod pods;
mod replica_sets;
mod running;
mod stateful_sets;
mod step;
#[cfg(test)]
mod tests;
mod world;

use std::time::Duration;

use kube::Client;
use tokio::task::JoinHandle;

/// The one node.
pub const NODE: &str = "simulated-node";

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// From a pod's place on the node until it runs.
    pub pod_start: Duration,
    /// From then until its containers end, where they are to end.
    pub pod_run: Duration,
}

impl Default for Timing {
    /// Long enough to be seen: half a second, and two.
    fn default() -> Self {
        Self {
            pod_start: Duration::from_millis(500),
            pod_run: Duration::from_secs(2),
        }
    }
}

/// A running simulation. Dropping it ends it, and leaves the objects as they are.
#[derive(Debug)]
pub struct Simulation(JoinHandle<()>);

impl Simulation {
    /// Starts one, as the user of `client`, who needs an administrator's rights. It goes on over errors and lost connections.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start(client: Client, timing: Timing) -> Self {
        Self(tokio::spawn(running::run(client, timing)))
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        self.0.abort();
    }
}
