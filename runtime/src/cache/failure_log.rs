//! The log of a reflector's failures: with the fix, and without repeating each retry.

use std::time::Duration;

use tokio::time::Instant;

use super::{ListWatchError, log_once::LogOnce};
use crate::{ApiResource, NamespacedName};

/// How often a failure that persists is logged.
const REPEAT_INTERVAL: Duration = Duration::from_mins(5);

/// Makes the warnings about failed lists and watches. A failure is logged once, and again if it persists; an unusable object once in the
/// life of the process.
#[derive(Debug)]
pub(super) struct FailureLog {
    kind: String,
    resource: String,
    /// The informer, for messages.
    informer: String,
    /// When each failure was logged last.
    logged: Vec<(FailureClass, Instant)>,
    bad_objects: LogOnce<String>,
    logged_version_faults: Vec<VersionFault>,
}

/// A property that resource versions must not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionFault {
    /// It is less than one before.
    Backwards,
    /// It is not a decimal number.
    NotANumber,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
/// Failures of one class are logged as one.
enum FailureClass {
    NotInstalled,
    Forbidden,
    Unreachable,
    Malformed,
    Other,
}

impl FailureLog {
    pub(super) fn new(info: &ApiResource, namespace: Option<&str>) -> Self {
        let resource = info.group_resource();
        let informer = match namespace {
            Some(namespace) => format!("informer of {resource} in namespace {namespace}"),
            None => format!("informer of {resource}"),
        };
        Self {
            kind: format!("{} of {}", info.kind, info.api_version()),
            resource,
            informer,
            logged: Vec::new(),
            bad_objects: LogOnce::default(),
            logged_version_faults: Vec::new(),
        }
    }

    /// The informer, for messages.
    pub(super) fn informer(&self) -> &str {
        &self.informer
    }

    /// The warning to log about a failure; none if it was logged lately.
    pub(super) fn warning(&mut self, error: &ListWatchError) -> Option<String> {
        if let ListWatchError::BadObject { object, .. } = error {
            let more = self.bad_objects.first_time(object.clone())?;
            return Some(format!("{}: {error}; relisting{more}", self.informer));
        }
        let failure = match error {
            error if error.is_not_found() => FailureClass::NotInstalled,
            error if error.is_forbidden() => FailureClass::Forbidden,
            ListWatchError::Unreachable { .. } => FailureClass::Unreachable,
            ListWatchError::Malformed(_) => FailureClass::Malformed,
            _ => FailureClass::Other,
        };
        let now = Instant::now();
        self.logged.retain(|(_, at)| now - *at < REPEAT_INTERVAL);
        if self.logged.iter().any(|(logged, _)| *logged == failure) {
            return None;
        }
        self.logged.push((failure, now));
        let Self {
            informer,
            kind,
            resource,
            ..
        } = self;
        Some(match failure {
            FailureClass::NotInstalled => format!(
                "{informer}: the API server does not serve {kind}: its CustomResourceDefinition {resource} is not installed, or does not \
                 serve this version; install it (`kubectl apply -f manifests/crds`); retrying"
            ),
            FailureClass::Forbidden => format!(
                "{informer}: {error}; allow the operator to list and watch {resource} (`kubewright generate`, then \
                 `kubectl apply -f manifests/rbac`); retrying"
            ),
            FailureClass::Unreachable => {
                format!("{informer}: {error}; check its address and that it runs; retrying")
            }
            FailureClass::Malformed => format!("{informer}: {error}; relisting"),
            FailureClass::Other => format!("{informer}: {error}; retrying"),
        })
    }

    /// The warning to log about a resource version. Each fault is logged once: such a server does it with every version.
    pub(super) fn version_warning(
        &mut self,
        fault: VersionFault,
        last: &str,
        version: &str,
        object: Option<&NamespacedName>,
    ) -> Option<String> {
        if self.logged_version_faults.contains(&fault) {
            return None;
        }
        self.logged_version_faults.push(fault);
        let of = object.map_or_else(
            || "of a list or a bookmark".to_owned(),
            |name| format!("of {name}"),
        );
        let version: String = version.chars().take(100).collect();
        let what = match fault {
            VersionFault::Backwards => format!("goes back from {last}"),
            VersionFault::NotANumber => "is not a number".to_owned(),
        };
        Some(format!(
            "{}: the resource version {version:?} {of} {what}; using it; this is not logged again",
            self.informer
        ))
    }

    /// Notes that a watch was accepted. Returns whether that ends a failure that was logged.
    pub(super) fn recovered(&mut self) -> bool {
        // These two occur between watches that are accepted.
        let before = self.logged.len();
        self.logged
            .retain(|(failure, _)| [FailureClass::Malformed, FailureClass::Other].contains(failure));
        self.logged.len() < before
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use crate::Scope;

    fn failure_log() -> FailureLog {
        let info = ApiResource {
            group: "demo.dev".into(),
            version: "v1".into(),
            kind: "Foo".into(),
            plural: "foos".into(),
            scope: Scope::Namespaced,
        };
        FailureLog::new(&info, Some("shop"))
    }

    #[tokio::test(start_paused = true)]
    async fn failure_is_logged_with_the_fix_and_again_after_five_minutes() {
        let mut failure_log = failure_log();
        let missing =
            ListWatchError::Status(Box::new(Status::failure("404 page not found", "").with_code(404)));
        let warning = failure_log.warning(&missing).unwrap();
        for part in [
            "foos.demo.dev",
            "namespace shop",
            "demo.dev/v1",
            "kubectl apply -f manifests/crds",
        ] {
            assert!(warning.contains(part), "{warning}");
        }
        tokio::time::advance(Duration::from_secs(299)).await;
        assert_eq!(failure_log.warning(&missing), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(failure_log.warning(&missing), Some(warning));
    }

    #[tokio::test(start_paused = true)]
    async fn another_failure_and_one_after_recovery_are_logged_at_once() {
        let mut failure_log = failure_log();
        let away = ListWatchError::Unreachable {
            message: "connection refused".into(),
            refused: true,
        };
        let forbidden = ListWatchError::Status(Box::new(Status::failure("no", "Forbidden").with_code(403)));
        assert!(failure_log.warning(&away).unwrap().contains("connection refused"));
        assert!(
            failure_log
                .warning(&forbidden)
                .unwrap()
                .contains("manifests/rbac")
        );
        // Failures that alternate are not new.
        assert!(failure_log.warning(&away).is_none());
        assert!(failure_log.warning(&forbidden).is_none());
        assert!(failure_log.recovered() && !failure_log.recovered());
        assert!(failure_log.warning(&away).is_some());
    }

    #[test]
    fn each_version_fault_is_logged_once() {
        let mut failure_log = failure_log();
        let name = NamespacedName::namespaced("shop", "web");
        let warning = failure_log
            .version_warning(VersionFault::Backwards, "9", "8", Some(&name))
            .unwrap();
        assert!(
            warning.contains("shop/web") && warning.contains("\"8\""),
            "{warning}"
        );
        assert_eq!(
            failure_log.version_warning(VersionFault::Backwards, "8", "7", None),
            None
        );
        let long = "x".repeat(1000);
        let warning = failure_log
            .version_warning(VersionFault::NotANumber, "8", &long, None)
            .unwrap();
        assert!(warning.len() < 300, "{warning}");
    }

    #[tokio::test(start_paused = true)]
    async fn malformed_data_between_good_watches_is_not_logged_each_time() {
        let mut failure_log = failure_log();
        let bad = ListWatchError::Malformed("metadata.name is missing".into());
        assert!(failure_log.warning(&bad).is_some());
        assert!(!failure_log.recovered());
        assert_eq!(failure_log.warning(&bad), None);
    }

    #[tokio::test(start_paused = true)]
    async fn unusable_object_is_logged_once() {
        let mut failure_log = failure_log();
        let bad = |object: &str| ListWatchError::BadObject {
            object: object.into(),
            problem: "it is no UTF-8".into(),
        };
        for object in ["shop/spy", "shop/other"] {
            assert!(failure_log.warning(&bad(object)).unwrap().contains(object));
        }
        tokio::time::advance(10 * REPEAT_INTERVAL).await;
        assert_eq!(failure_log.warning(&bad("shop/spy")), None);
    }
}
