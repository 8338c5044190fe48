//! API groups that do not answer discovery: each failure is counted, and a change in the set of failing groups
//! is logged.

use std::mem;

use kubewright::{
    controller::Setup,
    prometheus_client::metrics::{counter::Counter, family::Family},
};
use parking_lot::Mutex;

use super::{discovery::Discovered, metrics::Labels};

/// Stands for all group versions, where the documents themselves could not be read.
const ALL: &str = "*";

/// The failures of one controller.
pub(crate) struct DiscoveryFailures {
    controller: &'static str,
    counts: Family<Labels, Counter>,
    /// The group versions that failed in the last attempt.
    last: Mutex<Vec<String>>,
}

impl DiscoveryFailures {
    /// Registers the counter of a controller, whose metrics begin with `subsystem`.
    pub(crate) fn register(setup: &mut Setup, controller: &'static str, subsystem: &str) -> Self {
        let counts = Family::default();
        setup.metrics().register(
            format!("{subsystem}_discovery_failures"),
            "Attempts to discover the served resources that failed, by group version; *: for all of them",
            counts.clone(),
        );
        Self {
            controller,
            counts,
            last: Mutex::default(),
        }
    }

    /// Counts what failed in an attempt, and logs it if the last attempt ended otherwise.
    pub(crate) fn observe(&self, attempt: Result<&Discovered, &kube::Error>) {
        let failed = attempt.map_or_else(|_| vec![ALL.to_owned()], |discovered| discovered.stale.clone());
        if !self.record(&failed) {
            return;
        }
        let controller = self.controller;
        match attempt {
            Err(error) => tracing::warn!(controller, %error, "served resources are not known"),
            Ok(_) if failed.is_empty() => tracing::info!(controller, "all API groups answer again"),
            Ok(_) => tracing::warn!(
                controller,
                groups = failed.join(", "),
                "some API groups do not answer"
            ),
        }
    }

    /// Counts the group versions that failed in an attempt. Returns whether others failed than in the last one.
    fn record(&self, failed: &[String]) -> bool {
        for group_version in failed {
            let labels = vec![("group_version", group_version.clone())];
            self.counts.get_or_create(&labels).inc();
        }
        let last = mem::replace(&mut *self.last.lock(), failed.to_vec());
        last != failed
    }
}

#[cfg(test)]
mod tests {
    use kubewright::testing::Harness;

    use super::*;

    #[tokio::test]
    async fn every_failed_attempt_is_counted_and_only_changes_are_logged() {
        let failures = failures();
        let attempt = |failed: &[&str]| {
            let failed: Vec<_> = failed.iter().map(|&name| name.to_owned()).collect();
            failures.record(&failed)
        };
        let attempts = [
            (&[][..], false),
            (&["metrics.k8s.io/v1beta1"], true),
            (&["metrics.k8s.io/v1beta1"], false),
            (&["metrics.k8s.io/v1beta1", "demo.dev/v1"], true),
            (&[ALL], true),
            (&[ALL], false),
            (&[], true),
            (&[], false),
        ];
        for (failed, is_logged) in attempts {
            assert_eq!(attempt(failed), is_logged, "{failed:?}");
        }
        check_counts(
            &failures,
            [("metrics.k8s.io/v1beta1", 3), ("demo.dev/v1", 1), (ALL, 2)],
        );
    }

    #[tokio::test]
    async fn stale_groups_and_failed_requests_are_failures() {
        let failures = failures();
        let discovered = |stale: &[&str]| Discovered {
            stale: stale.iter().map(|&name| name.to_owned()).collect(),
            ..Discovered::default()
        };
        failures.observe(Ok(&discovered(&[])));
        assert_eq!(*failures.last.lock(), [""; 0]);
        let stale = ["demo.dev/v1", "metrics.k8s.io/v1beta1"];
        failures.observe(Ok(&discovered(&stale)));
        assert_eq!(*failures.last.lock(), stale);
        failures.observe(Err(&kube::Error::LinesCodecMaxLineLengthExceeded));
        assert_eq!(*failures.last.lock(), [ALL]);
        failures.observe(Ok(&discovered(&["demo.dev/v1"])));
        assert_eq!(*failures.last.lock(), ["demo.dev/v1"]);
        failures.observe(Ok(&discovered(&[])));
        assert_eq!(*failures.last.lock(), [""; 0]);
        check_counts(
            &failures,
            [("metrics.k8s.io/v1beta1", 1), ("demo.dev/v1", 2), (ALL, 1)],
        );
    }

    fn failures() -> DiscoveryFailures {
        let mut failures = None;
        let _test = Harness::new(|setup| {
            failures = Some(DiscoveryFailures::register(setup, "a-controller", "a_controller"));
        });
        failures.unwrap()
    }

    #[track_caller]
    fn check_counts(failures: &DiscoveryFailures, expected: [(&str, u64); 3]) {
        for (group_version, count) in expected {
            let labels = vec![("group_version", group_version.to_owned())];
            let found = failures.counts.get_or_create(&labels).get();
            assert_eq!(found, count, "{group_version}");
        }
    }
}
