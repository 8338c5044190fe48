//! Simulation of nodes.

use super::{Cluster, ClusterError};
use kubewright_simulation::{Simulation, SimulationOptions};

impl Cluster {
    /// Until the returned value is dropped, there are nodes, to which pods are assigned and where they run, as in `kubewright dev`. Deployments
    /// and other workloads get their pods from controllers: see `kubewright_controllers::start`, or [`ControlPlane`](crate::ControlPlane)'s.
    /// The simulation uses the administrator's identity, so it does not affect audited permissions. Do not combine it with a real scheduler.
    ///
    /// ```no_run
    /// # use kubewright_testkit::{Cluster, SimulationOptions};
    /// # let cluster = Cluster::embedded().unwrap();
    /// let simulation = cluster.simulate(SimulationOptions::default()).unwrap();
    /// // … pods run a moment later …
    /// # drop(simulation);
    /// ```
    pub fn simulate(&self, options: SimulationOptions) -> Result<Simulation, ClusterError> {
        let client = self.admin_client.clone();
        let start = async move { Simulation::start(client, options) };
        Ok(self.background.block_on(start)?)
    }
}
