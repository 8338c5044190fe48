//! What a reflector says of failures: clearly, with the mend, and not at every try.

use std::time::Duration;

use tokio::time::Instant;

use super::{ListWatchError, log_once::LogOnce};
use crate::{ApiResource, NamespacedName};

/// A failure that lasts is warned of again after this time.
const AGAIN_AFTER: Duration = Duration::from_mins(5);

/// Warns of a failure once, and again when it lasts; of bad data once for each object, and not again while the process runs.
#[derive(Debug)]
pub(super) struct FailureLog {
    kind: String,
    resource: String,
    place: String,
    /// When each was last warned of.
    last: Vec<(Failure, Instant)>,
    /// The objects that cannot be used.
    bad: LogOnce<String>,
    /// What was said of versions.
    said: Vec<VersionFault>,
}

/// What a resource version should not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionFault {
    /// It is less than one that came before.
    Backwards,
    /// It is no decimal number.
    NoNumber,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    NotInstalled,
    Forbidden,
    Unreachable,
    Malformed,
    Other,
}

impl FailureLog {
    pub(super) fn new(info: &ApiResource, namespace: Option<&str>) -> Self {
        let resource = info.group_resource();
        let place = match namespace {
            Some(namespace) => format!("informer of {resource} in namespace {namespace}"),
            None => format!("informer of {resource}"),
        };
        Self {
            kind: format!("{} of {}", info.kind, info.api_version()),
            resource,
            place,
            last: Vec::new(),
            bad: LogOnce::default(),
            said: Vec::new(),
        }
    }

    /// Which informer this is about.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// What to warn of; nothing when it was warned of a moment ago.
    pub(super) fn about(&mut self, error: &ListWatchError) -> Option<String> {
        if let ListWatchError::BadObject { object, .. } = error {
            let more = self.bad.first(object.clone())?;
            return Some(format!("{}: {error}; listing anew{more}", self.place));
        }
        let failure = match error {
            error if error.is_not_found() => Failure::NotInstalled,
            error if error.is_forbidden() => Failure::Forbidden,
            ListWatchError::Unreachable { .. } => Failure::Unreachable,
            ListWatchError::Malformed(_) => Failure::Malformed,
            _ => Failure::Other,
        };
        let now = Instant::now();
        self.last.retain(|(_, at)| now - *at < AGAIN_AFTER);
        if self.last.iter().any(|(last, _)| *last == failure) {
            return None;
        }
        self.last.push((failure, now));
        let Self {
            place,
            kind,
            resource,
            ..
        } = self;
        Some(match failure {
            Failure::NotInstalled => format!(
                "{place}: the API server does not know {kind}: its CustomResourceDefinition {resource} is not installed, or does not \
                 serve this version; install it (`kubectl apply -f manifests/crds`); waiting for it"
            ),
            Failure::Forbidden => format!(
                "{place}: {error}; allow the operator to list and watch {resource} (`kubewright generate`, then \
                 `kubectl apply -f manifests/rbac`); trying again"
            ),
            Failure::Unreachable => {
                format!("{place}: {error}; check its address and that it runs; trying again")
            }
            Failure::Malformed => format!("{place}: {error}; listing anew"),
            Failure::Other => format!("{place}: {error}; trying again"),
        })
    }

    /// What to warn of, once for each fault: a server that does this does it with every version.
    pub(super) fn about_version(
        &mut self,
        fault: VersionFault,
        last: &str,
        version: &str,
        object: Option<&NamespacedName>,
    ) -> Option<String> {
        if self.said.contains(&fault) {
            return None;
        }
        self.said.push(fault);
        let of = object.map_or_else(
            || "of a list or a bookmark".to_owned(),
            |name| format!("of {name}"),
        );
        let version: String = version.chars().take(100).collect();
        let what = match fault {
            VersionFault::Backwards => format!("goes back from {last}"),
            VersionFault::NoNumber => "is no number".to_owned(),
        };
        Some(format!(
            "{}: the resource version {version:?} {of} {what}; it is followed, and not spoken of again",
            self.place
        ))
    }

    /// A watch was accepted. Says whether something had been warned of that this mends.
    pub(super) fn settled(&mut self) -> bool {
        // The others come between watches that are accepted.
        let before = self.last.len();
        self.last
            .retain(|(failure, _)| [Failure::Malformed, Failure::Other].contains(failure));
        self.last.len() < before
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use crate::Scope;

    fn complaints() -> FailureLog {
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
    async fn warns_once_with_the_mend_and_again_after_five_minutes() {
        let mut complaints = complaints();
        let missing =
            ListWatchError::Status(Box::new(Status::failure("404 page not found", "").with_code(404)));
        let warning = complaints.about(&missing).unwrap();
        for part in [
            "foos.demo.dev",
            "namespace shop",
            "demo.dev/v1",
            "kubectl apply -f manifests/crds",
        ] {
            assert!(warning.contains(part), "{warning}");
        }
        tokio::time::advance(Duration::from_secs(299)).await;
        assert_eq!(complaints.about(&missing), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(complaints.about(&missing), Some(warning));
    }

    #[tokio::test(start_paused = true)]
    async fn another_failure_and_one_after_a_recovery_are_warned_of_at_once() {
        let mut complaints = complaints();
        let away = ListWatchError::Unreachable {
            message: "connection refused".into(),
            refused: true,
        };
        let forbidden = ListWatchError::Status(Box::new(Status::failure("no", "Forbidden").with_code(403)));
        assert!(complaints.about(&away).unwrap().contains("connection refused"));
        assert!(complaints.about(&forbidden).unwrap().contains("manifests/rbac"));
        // One that comes and goes in turn with another is the same as before.
        assert!(complaints.about(&away).is_none());
        assert!(complaints.about(&forbidden).is_none());
        assert!(complaints.settled() && !complaints.settled());
        assert!(complaints.about(&away).is_some());
    }

    #[test]
    fn each_fault_of_versions_is_spoken_of_once() {
        let mut complaints = complaints();
        let name = NamespacedName::namespaced("shop", "web");
        let warning = complaints
            .about_version(VersionFault::Backwards, "9", "8", Some(&name))
            .unwrap();
        assert!(
            warning.contains("shop/web") && warning.contains("\"8\""),
            "{warning}"
        );
        assert_eq!(
            complaints.about_version(VersionFault::Backwards, "8", "7", None),
            None
        );
        let long = "x".repeat(1000);
        let warning = complaints
            .about_version(VersionFault::NoNumber, "8", &long, None)
            .unwrap();
        assert!(warning.len() < 300, "{warning}");
    }

    #[tokio::test(start_paused = true)]
    async fn bad_data_between_good_watches_is_not_warned_of_each_time() {
        let mut complaints = complaints();
        let bad = ListWatchError::Malformed("metadata.name is missing".into());
        assert!(complaints.about(&bad).is_some());
        assert!(!complaints.settled());
        assert_eq!(complaints.about(&bad), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_cannot_be_used_is_named_once() {
        let mut complaints = complaints();
        let bad = |object: &str| ListWatchError::BadObject {
            object: object.into(),
            problem: "it is no UTF-8".into(),
        };
        for object in ["shop/spy", "shop/other"] {
            assert!(complaints.about(&bad(object)).unwrap().contains(object));
        }
        tokio::time::advance(10 * AGAIN_AFTER).await;
        assert_eq!(complaints.about(&bad("shop/spy")), None);
    }
}
