//! Kubernetes' feature gates that change what these controllers do.

use std::collections::BTreeMap;

/// The emulated version and the gates, as `--emulated-version` and `--feature-gates` set them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    version: Version,
    set: BTreeMap<String, bool>,
}

/// Gates or an emulated version that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidGates {
    /// The text is not a list of gates.
    #[error("{0:?} are no feature gates: write `Gate=true,Other=false`")]
    Gates(String),
    /// The text is not a list of gates after the version to emulate.
    #[error(
        "{0:?} are no feature gates of a version: write `Gate=true,Other=false`, or `1.33;Gate=true` to emulate a version"
    )]
    VersionAndGates(String),
    /// The text is not a version, or one that kube-controller-manager does not emulate.
    #[error(
        "cannot emulate {0:?}: write a version from `kube={oldest}` to `kube={current}`",
        oldest = version_text(OLDEST_VERSION),
        current = version_text(CURRENT_VERSION)
    )]
    Version(String),
    /// The gate can no longer be changed.
    #[error(
        "cannot set feature gate {gate} to false: it is locked to true in Kubernetes {version}: remove it"
    )]
    Locked {
        /// Its name.
        gate: String,
        /// The emulated version.
        version: String,
    },
    /// The gate is newer.
    #[error(
        "cannot set feature gate {gate}: Kubernetes {version} does not have it: remove it, or emulate a later version"
    )]
    TooNew {
        /// Its name.
        gate: String,
        /// The emulated version.
        version: String,
    },
    /// The gate has no effect without another one.
    #[error(
        "cannot enable feature gate {gate}: it depends on {dependency}, which is off: enable that one as well"
    )]
    Dependency {
        /// Its name.
        gate: String,
        /// The name of the other one.
        dependency: String,
    },
}

/// Major and minor.
type Version = (u32, u32);

/// A gate that the controllers ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// ReplicaSets and Deployments count their terminating replicas in the status.
    DeploymentReplicaSetTerminatingReplicas,
    /// Indexes of a Job may have a backoff limit of their own.
    JobBackoffLimitPerIndex,
    /// Other controllers may manage a Job.
    JobManagedBy,
    /// Jobs may replace pods only after they have failed.
    JobPodReplacementPolicy,
    /// Indexed Jobs may succeed before all indexes have.
    JobSuccessPolicy,
    /// A StatefulSet says how many of its replicas may be unavailable during an update.
    MaxUnavailableStatefulSet,
    /// The pod template of a suspended Job may change where it is scheduled.
    MutableSchedulingDirectivesForSuspendedJobs,
    /// Pods are deleted before the other content of a namespace.
    OrderedNamespaceDeletion,
    /// Pods with a lower deletion cost are deleted first.
    PodDeletionCost,
    /// A revision of a StatefulSet that was written otherwise, and means the same, is the same.
    StatefulSetSemanticRevisionComparison,
    /// Tolerations may compare the numbers of taints.
    TaintTolerationComparisonOperators,
    /// The pods of a Job may be scheduled together.
    WorkloadWithJob,
}

/// The version of Kubernetes that these controllers follow.
const CURRENT_VERSION: Version = (1, 36);
/// The oldest version that kube-controller-manager emulates.
const OLDEST_VERSION: Version = (1, 33);

/// The gate of other components, off by default, without which kube-controller-manager refuses [`Gate::WorkloadWithJob`].
const GENERIC_WORKLOAD: &str = "GenericWorkload";

/// The version of what no version does by itself.
const NEVER: Version = (u32::MAX, 0);

/// What Kubernetes' versions do with a gate.
struct KnownGate {
    gate: Gate,
    name: &'static str,
    introduced_in: Version,
    /// The version from which on the gate is on unless it is set.
    on_since: Version,
    /// The version from which on it cannot be switched off.
    locked_since: Version,
}

const GATES: [KnownGate; 12] = [
    KnownGate {
        gate: Gate::DeploymentReplicaSetTerminatingReplicas,
        name: "DeploymentReplicaSetTerminatingReplicas",
        introduced_in: (1, 33),
        on_since: (1, 35),
        locked_since: NEVER,
    },
    KnownGate {
        gate: Gate::JobBackoffLimitPerIndex,
        name: "JobBackoffLimitPerIndex",
        introduced_in: (1, 28),
        on_since: (1, 29),
        locked_since: (1, 33),
    },
    KnownGate {
        gate: Gate::JobManagedBy,
        name: "JobManagedBy",
        introduced_in: (1, 30),
        on_since: (1, 32),
        locked_since: (1, 35),
    },
    KnownGate {
        gate: Gate::JobPodReplacementPolicy,
        name: "JobPodReplacementPolicy",
        introduced_in: (1, 28),
        on_since: (1, 29),
        locked_since: (1, 34),
    },
    KnownGate {
        gate: Gate::JobSuccessPolicy,
        name: "JobSuccessPolicy",
        introduced_in: (1, 30),
        on_since: (1, 31),
        locked_since: (1, 33),
    },
    KnownGate {
        gate: Gate::MaxUnavailableStatefulSet,
        name: "MaxUnavailableStatefulSet",
        introduced_in: (1, 24),
        on_since: NEVER,
        locked_since: NEVER,
    },
    KnownGate {
        gate: Gate::MutableSchedulingDirectivesForSuspendedJobs,
        name: "MutableSchedulingDirectivesForSuspendedJobs",
        introduced_in: (1, 35),
        on_since: (1, 36),
        locked_since: NEVER,
    },
    KnownGate {
        gate: Gate::OrderedNamespaceDeletion,
        name: "OrderedNamespaceDeletion",
        introduced_in: (1, 30),
        on_since: (1, 33),
        locked_since: (1, 34),
    },
    KnownGate {
        gate: Gate::PodDeletionCost,
        name: "PodDeletionCost",
        introduced_in: (1, 21),
        on_since: (1, 22),
        locked_since: NEVER,
    },
    KnownGate {
        gate: Gate::StatefulSetSemanticRevisionComparison,
        name: "StatefulSetSemanticRevisionComparison",
        introduced_in: (1, 0),
        on_since: (1, 0),
        locked_since: NEVER,
    },
    KnownGate {
        gate: Gate::TaintTolerationComparisonOperators,
        name: "TaintTolerationComparisonOperators",
        introduced_in: (1, 35),
        on_since: NEVER,
        locked_since: NEVER,
    },
    KnownGate {
        gate: Gate::WorkloadWithJob,
        name: "WorkloadWithJob",
        introduced_in: (1, 36),
        on_since: NEVER,
        locked_since: NEVER,
    },
];

impl Default for FeatureGates {
    fn default() -> Self {
        Self {
            version: CURRENT_VERSION,
            set: BTreeMap::new(),
        }
    }
}

impl FeatureGates {
    /// Parses a list: `Gate=true,kube:Other=false`.
    pub fn parse(text: &str) -> Result<Self, InvalidGates> {
        let invalid = || InvalidGates::Gates(text.to_owned());
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        let set = items.map(|item| {
            let (name, value) = item.split_once('=').ok_or_else(invalid)?;
            let value = value.to_ascii_lowercase().parse().map_err(|_| invalid())?;
            // Other components have no gates here.
            let name = name.strip_prefix("kube:").unwrap_or(name);
            let is_name = !name.is_empty() && !name.contains(';');
            is_name.then(|| (name.to_owned(), value)).ok_or_else(invalid)
        });
        Ok(Self {
            version: CURRENT_VERSION,
            set: set.collect::<Result<_, _>>()?,
        })
    }

    /// Parses a list that may follow the version to emulate: `1.33;Gate=true`.
    pub fn parse_with_version(text: &str) -> Result<Self, InvalidGates> {
        let invalid = || InvalidGates::VersionAndGates(text.to_owned());
        let (version, gates) = text.split_once(';').unwrap_or(("", text));
        let version = match version.trim() {
            "" => CURRENT_VERSION,
            version => parse_version(version).ok_or_else(invalid)?,
        };
        let gates = Self::parse(gates).map_err(|_| invalid())?;
        Ok(Self { version, ..gates })
    }

    /// Emulates a version: `1.33`, or `kube=1.33`.
    pub fn emulate(self, version: &str) -> Result<Self, InvalidGates> {
        let text = version.strip_prefix("kube=").unwrap_or(version);
        let version = parse_version(text).ok_or_else(|| InvalidGates::Version(version.to_owned()))?;
        Ok(Self { version, ..self })
    }

    /// Checks the version and the gates as kube-controller-manager checks its flags. [`parse`](Self::parse) and [`emulate`](Self::emulate) do not:
    /// Kubernetes' tests set gates of any version.
    ///
    /// # Errors
    ///
    /// [`InvalidGates::Version`] if the version is not emulated; [`InvalidGates::Locked`] or [`InvalidGates::TooNew`] if it does not let a gate
    /// be set; [`InvalidGates::Dependency`] if a gate is on without the one that it depends on.
    pub fn validate(&self) -> Result<(), InvalidGates> {
        let version = version_text(self.version);
        if !(OLDEST_VERSION..=CURRENT_VERSION).contains(&self.version) {
            return Err(InvalidGates::Version(version));
        }
        for known in GATES {
            let (gate, version) = (known.name.to_owned(), version.clone());
            match self.set.get(known.name) {
                Some(false) if self.version >= known.locked_since => {
                    return Err(InvalidGates::Locked { gate, version });
                }
                Some(_) if self.version < known.introduced_in => {
                    return Err(InvalidGates::TooNew { gate, version });
                }
                _ => {}
            }
        }
        // `AllAlpha` switches the dependency on, too.
        let dependency = self.set.get(GENERIC_WORKLOAD).or(self.set.get("AllAlpha"));
        if self.is_on(Gate::WorkloadWithJob) && dependency != Some(&true) {
            return Err(InvalidGates::Dependency {
                gate: "WorkloadWithJob".to_owned(),
                dependency: GENERIC_WORKLOAD.to_owned(),
            });
        }
        Ok(())
    }

    /// Returns the gates that are set and that no controller asks for.
    pub fn ignored(&self) -> Vec<&str> {
        let is_known =
            |name: &String| name == GENERIC_WORKLOAD || GATES.iter().any(|known| known.name == name);
        let names = self.set.keys().filter(|name| !is_known(name));
        names.map(String::as_str).collect()
    }

    /// Whether a gate is on.
    pub(crate) fn is_on(&self, gate: Gate) -> bool {
        GATES.iter().any(|known| {
            let default = self.version >= known.on_since;
            known.gate == gate && self.set.get(known.name).copied().unwrap_or(default)
        })
    }
}

fn version_text((major, minor): Version) -> String {
    format!("{major}.{minor}")
}

fn parse_version(text: &str) -> Option<Version> {
    let (major, minor) = text
        .trim()
        .strip_prefix('v')
        .unwrap_or(text.trim())
        .split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
#[path = "feature_gates_tests.rs"]
mod tests;
