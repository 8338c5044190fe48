//! Health checks of the user's.

use std::fmt;

/// Which probe a check belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Probe {
    /// `/livez` and `/healthz`: while it fails, the process is not well, and is started again.
    Live,
    /// `/readyz`: while it fails, the process is not asked for anything and a rollout does not go on.
    Ready,
}

/// A check of the user's; see [`Setup::health_check`](super::Setup::health_check).
pub struct HealthCheck {
    pub(crate) probe: Probe,
    pub(crate) name: String,
    pub(crate) check: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl HealthCheck {
    /// Its name, as the probe lists it.
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
