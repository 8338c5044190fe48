//! Workloads that become pods, where a test wants them to.

use super::{Cluster, ClusterError};
use kubewright_simulation::{Simulation, Timing};

impl Cluster {
    /// From now on, until the value is dropped, Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs become pods, and pods run, as in
    /// `kubewright dev`: as the administrator, whose requests count to nobody's rights. On a real cluster no controller manager may do it, too.
    ///
    /// ```no_run
    /// # use kubewright_testkit::{Cluster, Timing};
    /// # let cluster = Cluster::embedded().unwrap();
    /// let simulation = cluster.simulate(Timing::default()).unwrap();
    /// // … Deployments have available replicas a moment later …
    /// # drop(simulation);
    /// ```
    pub fn simulate(&self, timing: Timing) -> Result<Simulation, ClusterError> {
        let client = self.requester.clone();
        let start = async move { Simulation::start(client, timing) };
        Ok(self.background.wait(start)?)
    }
}
