//! Simulation of workload controllers and pods.

use super::{Cluster, ClusterError};
use kubewright_simulation::{Simulation, Timing};

impl Cluster {
    /// Until the returned value is dropped, Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs get pods, and pods run, as in
    /// `kubewright dev`. The simulation uses the administrator's identity, so it does not affect audited permissions. Do not combine it
    /// with a real controller manager for the same kinds.
    ///
    /// ```no_run
    /// # use kubewright_testkit::{Cluster, Timing};
    /// # let cluster = Cluster::embedded().unwrap();
    /// let simulation = cluster.simulate(Timing::default()).unwrap();
    /// // … Deployments have available replicas a moment later …
    /// # drop(simulation);
    /// ```
    pub fn simulate(&self, timing: Timing) -> Result<Simulation, ClusterError> {
        let client = self.admin_client.clone();
        let start = async move { Simulation::start(client, timing) };
        Ok(self.background.block_on(start)?)
    }
}
