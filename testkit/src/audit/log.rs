//! The audit log.

use super::event::{AuditEvent, AuditLine, Stage};
use jiff::Timestamp;
use std::collections::HashMap;
use std::path::PathBuf;

/// The audit log cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The file cannot be read.
    #[error("audit log {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A line is not an audit event.
    #[error("audit log, line {line}: {source}")]
    Parse {
        /// The line number, from 1.
        line: usize,
        /// The parse error.
        source: serde_json::Error,
    },
    /// A marker request by the testkit did not appear in the log in time.
    #[error("audit log {path}: the request {marker} did not appear in it in time: reduce the load on the API server", path = path.display())]
    Behind {
        /// The file.
        path: PathBuf,
        /// The request's path and query.
        marker: String,
    },
}

/// The requests up to a point in time, one event each, ordered by response. Requests without a response are left out, except open watches.
#[derive(Clone, Debug, Default)]
pub struct AuditLog {
    events: Vec<AuditEvent>,
}

impl AuditLog {
    /// Parses JSON lines. An incomplete last line, which is still being written, is ignored.
    pub fn parse(text: &str) -> Result<Self, AuditError> {
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut events: Vec<AuditEvent> = Vec::new();
        let mut positions = HashMap::new();
        for (index, line) in complete.lines().enumerate() {
            let line: AuditLine = serde_json::from_str(line).map_err(|source| AuditError::Parse {
                line: index + 1,
                source,
            })?;
            let event = AuditEvent::from(line);
            let is_final = match event.stage {
                Stage::ResponseComplete | Stage::Panic => true,
                Stage::ResponseStarted => event.verb == "watch",
                Stage::Other => false,
            };
            if !is_final {
                continue;
            }
            // A watch is logged when it opens and again when it closes.
            if let Some(&position) = positions.get(&event.id) {
                events[position] = event;
            } else {
                positions.insert(event.id.clone(), events.len());
                events.push(event);
            }
        }
        Ok(Self { events })
    }

    /// The events.
    pub fn iter(&self) -> std::slice::Iter<'_, AuditEvent> {
        self.events.iter()
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether the log is empty.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the events that satisfy the condition.
    pub fn filter(&self, condition: impl Fn(&AuditEvent) -> bool) -> Self {
        Self {
            events: self
                .events
                .iter()
                .filter(|event| condition(event))
                .cloned()
                .collect(),
        }
    }

    /// Returns the events of a user.
    pub fn by_user(&self, user: &str) -> Self {
        self.filter(|event| event.user == user)
    }

    /// Returns the events with the text in their user agent.
    pub fn by_user_agent(&self, text: &str) -> Self {
        self.filter(|event| event.user_agent.contains(text))
    }

    /// Returns the events received at or after a time. The API server uses this machine's clock.
    pub fn since(&self, time: Timestamp) -> Self {
        self.filter(|event| event.received >= time)
    }

    /// Returns the events on a resource, named as in RBAC: `foos` or `foos/status`.
    pub fn on_resource(&self, api_group: &str, resource: &str) -> Self {
        self.filter(|event| event.api_group == api_group && event.rbac_resource() == resource)
    }

    /// Returns the writes.
    pub fn writes(&self) -> Self {
        self.filter(AuditEvent::is_write)
    }

    /// Returns the events that were forbidden; see [`AuditEvent::is_forbidden`].
    pub fn forbidden(&self) -> Self {
        self.filter(AuditEvent::is_forbidden)
    }
}

impl FromIterator<AuditEvent> for AuditLog {
    fn from_iter<I: IntoIterator<Item = AuditEvent>>(events: I) -> Self {
        Self {
            events: events.into_iter().collect(),
        }
    }
}

impl<'log> IntoIterator for &'log AuditLog {
    type Item = &'log AuditEvent;
    type IntoIter = std::slice::Iter<'log, AuditEvent>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a real audit log (v1.36), shortened.
    const CREATE: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","auditID":"a-1","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/shop/deployments?fieldManager=x","verb":"create","user":{"username":"system:serviceaccount:shop:op","uid":"1","groups":["system:authenticated"]},"sourceIPs":["127.0.0.1"],"userAgent":"shop/0.1","objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps","apiVersion":"v1"},"responseStatus":{"metadata":{},"status":"Failure","message":"deployments.apps is forbidden","reason":"Forbidden","code":403},"requestObject":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","ownerReferences":[{"apiVersion":"demo.dev/v1alpha1","kind":"Foo","name":"x","uid":"u","controller":true,"blockOwnerDeletion":true},{"apiVersion":"v1","kind":"ConfigMap","name":"y","uid":"v"}]}},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","stageTimestamp":"2026-01-02T03:04:05.500000Z","annotations":{"authorization.k8s.io/decision":"forbid"}}"#;

    fn line(id: &str, stage: &str, verb: &str) -> String {
        format!(
            r#"{{"auditID":"{id}","stage":"{stage}","requestURI":"/api/v1/pods","verb":"{verb}","user":{{"username":"u"}},"objectRef":{{"resource":"pods","apiVersion":"v1"}},"responseStatus":{{"code":200}},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","stageTimestamp":"2026-01-02T03:04:05.500000Z"}}"#
        ) + "\n"
    }

    #[test]
    fn real_audit_line_is_parsed() {
        let log = AuditLog::parse(&format!("{CREATE}\n")).unwrap();
        let event = log.iter().next().unwrap();
        assert_eq!(event.user, "system:serviceaccount:shop:op");
        assert_eq!(
            (event.user_agent.as_str(), event.verb.as_str(), event.code),
            ("shop/0.1", "create", 403)
        );
        assert_eq!(
            (event.api_group.as_str(), event.rbac_resource().as_str()),
            ("apps", "deployments")
        );
        assert_eq!((event.namespace.as_str(), event.name.as_str()), ("shop", "web"));
        assert_eq!(event.kind, "Deployment");
        assert_eq!(
            event.blocking_owners,
            [super::super::Owner {
                group: "demo.dev".into(),
                kind: "Foo".into()
            }]
        );
        assert_eq!(event.time.to_string(), "2026-01-02T03:04:05.5Z");
        assert_eq!(
            event.to_string(),
            "create apps deployments shop/web: 403 deployments.apps is forbidden"
        );
    }

    #[test]
    fn open_and_closed_watch_is_one_event() {
        let open = line("w", "ResponseStarted", "watch");
        let log = AuditLog::parse(&open).unwrap();
        assert_eq!(log.len(), 1);
        let log = AuditLog::parse(&(open + &line("w", "ResponseComplete", "watch"))).unwrap();
        assert_eq!(
            log.iter().map(|event| event.stage).collect::<Vec<_>>(),
            [Stage::ResponseComplete]
        );
    }

    #[test]
    fn requests_without_response_are_ignored() {
        let text = line("1", "RequestReceived", "list") + &line("2", "ResponseStarted", "get");
        assert!(AuditLog::parse(&text).unwrap().is_empty());
    }

    #[test]
    fn incomplete_last_line_is_ignored() {
        let text = line("1", "ResponseComplete", "list") + &CREATE[..100];
        assert_eq!(AuditLog::parse(&text).unwrap().len(), 1);
        assert!(AuditLog::parse(&CREATE[..100]).unwrap().is_empty());
    }

    #[test]
    fn parse_error_has_the_line_number() {
        let text = line("1", "ResponseComplete", "list") + "{}\n";
        let error = AuditLog::parse(&text).unwrap_err().to_string();
        assert!(error.starts_with("audit log, line 2: missing field"), "{error}");
    }

    #[test]
    fn unknown_owner_kind_is_not_forbidden() {
        let unknown = "deployments.apps \"web\" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for \
            APIVersion demo.dev/v1alpha1 Kind Foo: no matches for kind \"Foo\" in version \"demo.dev/v1alpha1\"";
        let text = CREATE.replace("deployments.apps is forbidden", &unknown.replace('"', "\\\""));
        let log = AuditLog::parse(&(text + "\n")).unwrap();
        let requests: Vec<_> = log
            .iter()
            .map(|event| (event.code, event.message.as_str()))
            .collect();
        assert_eq!(requests, [(403, unknown)]);
        assert!(log.forbidden().is_empty());
    }

    #[test]
    fn filters_select_events() {
        let log = AuditLog::parse(&(line("1", "ResponseComplete", "list") + CREATE + "\n")).unwrap();
        assert_eq!(log.by_user("u").len(), 1);
        assert_eq!(log.by_user_agent("shop/").len(), 1);
        assert_eq!(log.writes().len(), 1);
        assert_eq!(log.on_resource("apps", "deployments").forbidden().len(), 1);
        assert_eq!(log.on_resource("apps", "deployments/status").len(), 0);
        assert_eq!(log.since("2026-01-02T03:04:05.000001Z".parse().unwrap()).len(), 2);
        assert_eq!(log.since("2026-01-02T03:04:05.000002Z".parse().unwrap()).len(), 0);
    }
}
