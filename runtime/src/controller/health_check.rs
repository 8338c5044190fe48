//! Health checks that the user registers.

use std::fmt;

/// The probe that runs a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Probe {
    /// `/livez` and `/healthz`: if it fails, the kubelet restarts the process.
    Live,
    /// `/readyz`: while it fails, the pod gets no requests and a rollout does not continue.
    Ready,
}

/// A registered health check; see [`Setup::liveness_check`](super::Setup::liveness_check).
pub struct HealthCheck {
    pub(crate) probe: Probe,
    pub(crate) name: String,
    pub(crate) check: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl HealthCheck {
    /// Returns the name, as the probe lists it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for HealthCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthCheck")
            .field("probe", &self.probe)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
