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
    /// The text is no list of gates.
    #[error(
        "{0:?} are no feature gates: write `Gate=true,Other=false`, after `1.36;` where a version is emulated"
    )]
    Syntax(String),
    /// The text is no version, or one that kube-controller-manager does not emulate.
    #[error("cannot emulate {0:?}: write a version from `kube=1.33` to `kube=1.36`")]
    Version(String),
    /// The gate can no longer be changed.
    #[error("cannot set feature gate {gate} to false: it is locked to true in Kubernetes {version}")]
    Locked {
        /// Its name.
        gate: String,
        /// The emulated version.
        version: String,
    },
    /// The gate is newer.
    #[error("cannot set feature gate {gate}: Kubernetes {version} does not have it")]
    TooNew {
        /// Its name.
        gate: String,
        /// The emulated version.
        version: String,
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

/// The version of what no version does by itself.
const NEVER: Version = (u32::MAX, 0);

/// The name of each gate, the version that introduced it, the version from which on it is on, and the one from which on it is locked to that.
const GATES: [(Gate, &str, Version, Version, Version); 12] = [
    (
        Gate::DeploymentReplicaSetTerminatingReplicas,
        "DeploymentReplicaSetTerminatingReplicas",
        (1, 33),
        (1, 35),
        NEVER,
    ),
    (
        Gate::JobBackoffLimitPerIndex,
        "JobBackoffLimitPerIndex",
        (1, 28),
        (1, 29),
        (1, 33),
    ),
    (Gate::JobManagedBy, "JobManagedBy", (1, 30), (1, 32), (1, 35)),
    (
        Gate::JobPodReplacementPolicy,
        "JobPodReplacementPolicy",
        (1, 28),
        (1, 29),
        (1, 34),
    ),
    (
        Gate::JobSuccessPolicy,
        "JobSuccessPolicy",
        (1, 30),
        (1, 31),
        (1, 33),
    ),
    (
        Gate::MaxUnavailableStatefulSet,
        "MaxUnavailableStatefulSet",
        (1, 24),
        NEVER,
        NEVER,
    ),
    (
        Gate::MutableSchedulingDirectivesForSuspendedJobs,
        "MutableSchedulingDirectivesForSuspendedJobs",
        (1, 35),
        (1, 36),
        NEVER,
    ),
    (
        Gate::OrderedNamespaceDeletion,
        "OrderedNamespaceDeletion",
        (1, 30),
        (1, 33),
        (1, 34),
    ),
    (Gate::PodDeletionCost, "PodDeletionCost", (1, 21), (1, 22), NEVER),
    (
        Gate::StatefulSetSemanticRevisionComparison,
        "StatefulSetSemanticRevisionComparison",
        (1, 0),
        (1, 0),
        NEVER,
    ),
    (
        Gate::TaintTolerationComparisonOperators,
        "TaintTolerationComparisonOperators",
        (1, 35),
        NEVER,
        NEVER,
    ),
    (Gate::WorkloadWithJob, "WorkloadWithJob", (1, 36), NEVER, NEVER),
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
    /// Parses `Gate=true,kube:Other=false`, or `1.33;Gate=true`, which emulates a version.
    pub fn parse(text: &str) -> Result<Self, InvalidGates> {
        let invalid = || InvalidGates::Syntax(text.to_owned());
        let (version, gates) = text.split_once(';').unwrap_or(("", text));
        let version = match version.trim() {
            "" => CURRENT_VERSION,
            version => parse_version(version).ok_or_else(invalid)?,
        };
        let items = gates.split(',').map(str::trim).filter(|item| !item.is_empty());
        let set = items.map(|item| {
            let (name, value) = item.split_once('=').ok_or_else(invalid)?;
            let value = value.to_ascii_lowercase().parse().map_err(|_| invalid())?;
            // Other components have no gates here.
            Ok((name.strip_prefix("kube:").unwrap_or(name).to_owned(), value))
        });
        Ok(Self {
            version,
            set: set.collect::<Result<_, _>>()?,
        })
    }

    /// Emulates a version: `1.33`, or `kube=1.33`.
    pub fn emulate(self, version: &str) -> Result<Self, InvalidGates> {
        let text = version.strip_prefix("kube=").unwrap_or(version);
        let version = parse_version(text).ok_or_else(|| InvalidGates::Version(version.to_owned()))?;
        Ok(Self { version, ..self })
    }

    /// Fails where kube-controller-manager refuses its flags: the version is not emulated, or does not let a gate be set. Its tests set what
    /// they like, so that [`parse`](Self::parse) does not fail.
    pub fn validate(&self) -> Result<(), InvalidGates> {
        let (major, minor) = self.version;
        let version = format!("{major}.{minor}");
        if !(OLDEST_VERSION..=CURRENT_VERSION).contains(&self.version) {
            return Err(InvalidGates::Version(version));
        }
        for (_, name, since, _, locked) in GATES {
            let (gate, version) = (name.to_owned(), version.clone());
            match self.set.get(name) {
                Some(false) if self.version >= locked => return Err(InvalidGates::Locked { gate, version }),
                Some(_) if self.version < since => return Err(InvalidGates::TooNew { gate, version }),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the gates that are set and that no controller asks for.
    pub fn ignored(&self) -> Vec<&str> {
        let is_known = |name: &String| GATES.iter().any(|(_, known, ..)| known == name);
        let names = self.set.keys().filter(|name| !is_known(name));
        names.map(String::as_str).collect()
    }

    /// Whether a gate is on.
    pub(crate) fn is_on(&self, gate: Gate) -> bool {
        GATES.iter().any(|(known, name, _, on, _)| {
            *known == gate && self.set.get(*name).copied().unwrap_or(self.version >= *on)
        })
    }
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
mod tests {
    use super::*;

    #[test]
    fn gates_depend_on_the_emulated_version_unless_they_are_set() {
        let gate = Gate::DeploymentReplicaSetTerminatingReplicas;
        for (text, is_on) in [
            ("", true),
            ("1.36;", true),
            ("1.34;", false),
            ("1.33;DeploymentReplicaSetTerminatingReplicas=true", true),
            ("DeploymentReplicaSetTerminatingReplicas=False", false),
            ("kube:DeploymentReplicaSetTerminatingReplicas=false", false),
        ] {
            assert_eq!(FeatureGates::parse(text).unwrap().is_on(gate), is_on, "{text}");
        }
        let emulated = FeatureGates::default().emulate("kube=1.33").unwrap();
        assert!(!emulated.is_on(gate) && emulated.is_on(Gate::PodDeletionCost));
    }

    #[test]
    fn alpha_gates_are_off_unless_they_are_set() {
        let gate = Gate::TaintTolerationComparisonOperators;
        assert!(!FeatureGates::parse("1.99;").unwrap().is_on(gate));
        let set = FeatureGates::parse("TaintTolerationComparisonOperators=true");
        assert!(set.unwrap().is_on(gate));
    }

    #[test]
    fn other_gates_are_ignored_by_name() {
        let gates = FeatureGates::parse("1.36;PodDeletionCost=false,SomethingElse=true").unwrap();
        assert_eq!(gates.ignored(), ["SomethingElse"]);
        assert!(!gates.is_on(Gate::PodDeletionCost));
    }

    #[test]
    fn invalid_gates_are_refused() {
        for text in ["Gate", "Gate=maybe", "one;", "1;Gate=true"] {
            assert!(FeatureGates::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn gates_that_the_version_does_not_let_be_set_are_refused_as_flags() {
        let locked = "cannot set feature gate JobManagedBy to false: it is locked to true in Kubernetes 1.36";
        let too_new = "cannot set feature gate WorkloadWithJob: Kubernetes 1.35 does not have it";
        for (text, expected) in [
            ("JobManagedBy=false", Some(locked)),
            ("JobManagedBy=true", None),
            ("1.34;JobManagedBy=false", None),
            ("1.35;WorkloadWithJob=false", Some(too_new)),
            ("WorkloadWithJob=true", None),
            ("PodDeletionCost=false,SomethingElse=false", None),
        ] {
            let gates = FeatureGates::parse(text).unwrap();
            let error = gates.validate().err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn versions_that_are_not_emulated_are_refused_as_flags() {
        let versions = ["1.10", "1.32", "1.33", "1.36", "1.37", "1.99", "2.35"];
        let gates = versions.map(|version| FeatureGates::default().emulate(version).unwrap());
        let accepted = gates.map(|gates| gates.validate().is_ok());
        assert_eq!(accepted, [false, false, true, true, false, false, false]);
        for text in ["", "1", "wardle=1.2", "kube=1.35,kube=1.36", "kube=1.35.1"] {
            let error = FeatureGates::default().emulate(text).unwrap_err();
            assert_eq!(error, InvalidGates::Version(text.to_owned()));
        }
    }
}
