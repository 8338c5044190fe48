//! The options of a simulation.

use std::time::Duration;

/// How many nodes are simulated, and how long pods take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulationOptions {
    /// The number of nodes. Default: 1.
    pub nodes: usize,
    /// From scheduling until the pod runs. Default: half a second, long enough to be observed.
    pub pod_start: Duration,
    /// From then until the containers exit, for pods that are to complete. Default: two seconds.
    pub pod_run: Duration,
}

impl Default for SimulationOptions {
    fn default() -> Self {
        Self {
            nodes: 1,
            pod_start: Duration::from_millis(500),
            pod_run: Duration::from_secs(2),
        }
    }
}
