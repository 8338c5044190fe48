//! What a session's embedded API server lacks to be a cluster: Kubernetes' own controllers, in this process, and simulated nodes.

use std::time::Duration;

use kube::{Client, Config};
use kubewright_controllers::{Controllers, Knobs, Options, start_with};
use kubewright_simulation::{Simulation, SimulationOptions};

use crate::Error;

/// Those that need no keys, files or other nodes.
const CONTROLLERS: &str = "serviceaccount,namespace,garbagecollector,podgc,daemonset,deployment,job,replicaset,replicationcontroller,\
                           statefulset,cronjob,ttl-after-finished";
/// The project's CRDs are applied while the session runs: the garbage collector looks for new kinds every two seconds.
const KNOBS: &str = r#"{"garbagecollector.syncPeriod": "2s"}"#;

/// The running controllers and nodes.
pub(super) struct SimulatedCluster {
    controllers: Controllers,
    _simulation: Simulation,
}

impl SimulatedCluster {
    /// Starts the controllers and the nodes as the administrator.
    pub(super) async fn start(
        client: Client,
        config: Config,
        pod_start: Option<Duration>,
    ) -> Result<Self, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Controllers(error.to_string());
        let defaults = SimulationOptions::default();
        let simulation = SimulationOptions {
            pod_start: pod_start.unwrap_or(defaults.pod_start),
            ..defaults
        };
        let options = Options {
            knobs: Knobs::parse(KNOBS).map_err(|error| failed(&error))?,
            // There is one API server: when it says that a namespace is terminating, none accepts objects there any more.
            namespace_grace_period: Duration::ZERO,
            ..Options::default()
                .select(CONTROLLERS)
                .map_err(|error| failed(&error))?
        };
        Ok(Self {
            _simulation: Simulation::start(client, simulation),
            controllers: start_with(config, options)
                .await
                .map_err(|error| failed(&error))?,
        })
    }

    /// Stops the controllers and the nodes. Returns why the controllers failed, if they did.
    pub(super) async fn stop(self) -> Result<(), Error> {
        let stopped = self.controllers.stop().await;
        stopped.map_err(|error| Error::Controllers(error.to_string()))
    }
}
