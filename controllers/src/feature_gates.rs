//! Kubernetes' feature gates that change what these controllers do.

use std::collections::BTreeMap;

/// The emulated version and the gates, as `--emulated-version` and `--feature-gates` set them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    version: (u32, u32),
    set: BTreeMap<String, bool>,
}

/// Gates that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} are no feature gates: write `Gate=true,Other=false`, after `1.36;` where a version is emulated"
)]
pub struct InvalidGates(String);

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
const CURRENT_VERSION: (u32, u32) = (1, 36);

/// The version from which on a gate is on that no version turns on by itself.
const NEVER: (u32, u32) = (u32::MAX, 0);

/// The name of each gate, and the version from which on it is on.
const GATES: [(Gate, &str, (u32, u32)); 12] = [
    (
        Gate::DeploymentReplicaSetTerminatingReplicas,
        "DeploymentReplicaSetTerminatingReplicas",
        (1, 35),
    ),
    (Gate::JobBackoffLimitPerIndex, "JobBackoffLimitPerIndex", (1, 29)),
    (Gate::JobManagedBy, "JobManagedBy", (1, 32)),
    (Gate::JobPodReplacementPolicy, "JobPodReplacementPolicy", (1, 29)),
    (Gate::JobSuccessPolicy, "JobSuccessPolicy", (1, 31)),
    (
        Gate::MaxUnavailableStatefulSet,
        "MaxUnavailableStatefulSet",
        NEVER,
    ),
    (
        Gate::MutableSchedulingDirectivesForSuspendedJobs,
        "MutableSchedulingDirectivesForSuspendedJobs",
        (1, 36),
    ),
    (
        Gate::OrderedNamespaceDeletion,
        "OrderedNamespaceDeletion",
        (1, 33),
    ),
    (Gate::PodDeletionCost, "PodDeletionCost", (1, 22)),
    (
        Gate::StatefulSetSemanticRevisionComparison,
        "StatefulSetSemanticRevisionComparison",
        (1, 0),
    ),
    (
        Gate::TaintTolerationComparisonOperators,
        "TaintTolerationComparisonOperators",
        NEVER,
    ),
    (Gate::WorkloadWithJob, "WorkloadWithJob", NEVER),
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
    /// Parses `Gate=true,Other=false`, or `1.33;Gate=true`, which emulates a version.
    pub fn parse(text: &str) -> Result<Self, InvalidGates> {
        let invalid = || InvalidGates(text.to_owned());
        let (version, gates) = text.split_once(';').unwrap_or(("", text));
        let version = match version.trim() {
            "" => CURRENT_VERSION,
            version => parse_version(version).ok_or_else(invalid)?,
        };
        let items = gates.split(',').map(str::trim).filter(|item| !item.is_empty());
        let set = items.map(|item| {
            let (name, value) = item.split_once('=').ok_or_else(invalid)?;
            let value = value.to_ascii_lowercase().parse().map_err(|_| invalid())?;
            Ok((name.to_owned(), value))
        });
        Ok(Self {
            version,
            set: set.collect::<Result<_, _>>()?,
        })
    }

    /// Emulates a version: `1.33`, or `kube=1.33`.
    pub fn emulate(self, version: &str) -> Result<Self, InvalidGates> {
        let text = version.strip_prefix("kube=").unwrap_or(version);
        let version = parse_version(text).ok_or_else(|| InvalidGates(version.to_owned()))?;
        Ok(Self { version, ..self })
    }

    /// Returns the gates that are set and that no controller asks for.
    pub fn ignored(&self) -> Vec<&str> {
        let is_known = |name: &String| GATES.iter().any(|(_, known, _)| known == name);
        let names = self.set.keys().filter(|name| !is_known(name));
        names.map(String::as_str).collect()
    }

    /// Whether a gate is on.
    pub(crate) fn is_on(&self, gate: Gate) -> bool {
        GATES.iter().any(|(known, name, since)| {
            *known == gate && self.set.get(*name).copied().unwrap_or(self.version >= *since)
        })
    }
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
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
}
