//! Which checks a level has in a version, in the order of kube-apiserver's messages, and what they return.

use super::levels::Version::{self, Minor};
use super::levels::{Level, LevelVersion};
use super::pod::{PodView, named};
use super::{baseline, restricted};

/// A check: returns how a pod violates it.
type Check = fn(&PodView<'_>, Version) -> Option<Violation>;

/// The checks of the level baseline. The level restricted has them before the version in which a stricter one replaces them.
const BASELINE: [(Version, Option<Version>, Check); 12] = [
    (Minor(0), None, baseline::app_armor_profile),
    (Minor(0), Some(Minor(22)), baseline::capabilities),
    (Minor(0), None, baseline::host_namespaces),
    (Minor(0), Some(Minor(0)), baseline::host_path_volumes),
    (Minor(0), None, baseline::host_ports),
    (Minor(34), None, baseline::host_probes_and_lifecycle),
    (Minor(0), None, baseline::privileged),
    (Minor(0), Some(Minor(35)), baseline::proc_mount_in_host_users),
    (Minor(0), None, baseline::selinux_options),
    (Minor(0), Some(Minor(19)), baseline::seccomp_profile),
    (Minor(0), None, baseline::sysctls),
    (Minor(0), None, baseline::windows_host_process),
];

/// The checks that only the level restricted has, from a version on.
const RESTRICTED: [(Version, Check); 7] = [
    (Minor(8), restricted::allow_privilege_escalation),
    (Minor(22), restricted::capabilities),
    (Minor(35), baseline::proc_mount),
    (Minor(0), restricted::volumes),
    (Minor(0), restricted::run_as_non_root),
    (Minor(23), restricted::run_as_user),
    (Minor(19), restricted::required_seccomp_profile),
];

/// How a pod violates a check.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    reason: &'static str,
    detail: String,
}

impl Violation {
    /// A violation, if there is anything that violates.
    pub(super) fn unless_empty<T>(
        reason: &'static str,
        bad: &[T],
        detail: impl FnOnce() -> String,
    ) -> Option<Self> {
        (!bad.is_empty()).then(|| Self {
            reason,
            detail: detail(),
        })
    }

    /// A violation by containers, if there are any; `what` follows their names.
    pub(super) fn of_containers(
        reason: &'static str,
        bad: &[&str],
        what: impl FnOnce() -> String,
    ) -> Option<Self> {
        Self::unless_empty(reason, bad, || format!("{} {}", named("container", bad), what()))
    }

    /// A violation by the pod or containers, if there are any; `what` follows their names.
    pub(super) fn of_setters(
        reason: &'static str,
        setters: &[String],
        what: impl FnOnce() -> String,
    ) -> Option<Self> {
        Self::unless_empty(reason, setters, || {
            format!("{} {}", setters.join(" and "), what())
        })
    }
}

/// How a pod violates a level; never empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violations(Vec<Violation>);

impl Violations {
    /// What is violated.
    pub(super) fn reasons(&self) -> String {
        let reasons: Vec<&str> = self.0.iter().map(|violation| violation.reason).collect();
        reasons.join(", ")
    }

    /// What is violated, and by which parts of the pod.
    pub(super) fn details(&self) -> String {
        let details = self
            .0
            .iter()
            .map(|Violation { reason, detail }| format!("{reason} ({detail})"));
        details.collect::<Vec<_>>().join(", ")
    }
}

/// Returns how a pod violates a level; None if it does not.
pub(super) fn violations(standard: LevelVersion, pod: &PodView<'_>) -> Option<Violations> {
    let LevelVersion { level, version } = standard;
    let is_restricted = level == Level::Restricted;
    let baseline = BASELINE.iter().filter(|(since, replaced, _)| {
        let is_replaced = is_restricted && replaced.is_some_and(|replaced| replaced <= version);
        level > Level::Privileged && *since <= version && !is_replaced
    });
    let restricted = RESTRICTED
        .iter()
        .filter(|(since, _)| is_restricted && *since <= version);
    let checks = baseline
        .map(|(_, _, check)| check)
        .chain(restricted.map(|(_, check)| check));
    let found: Vec<Violation> = checks.filter_map(|check| check(pod, version)).collect();
    (!found.is_empty()).then_some(Violations(found))
}
