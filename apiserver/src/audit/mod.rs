//! The audit log: requests and their responses.

use crate::meta::text;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// A request that was answered. A watch is recorded when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// The user name, after impersonation.
    pub user: String,
    /// The user that impersonated, if any.
    pub impersonator: Option<String>,
    /// The verb, such as `get`; the lower-case method for a non-resource path.
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The resource; empty for a non-resource path.
    pub resource: String,
    /// The subresource; may be empty.
    pub subresource: String,
    /// The namespace; may be empty.
    pub namespace: String,
    /// The name; may be empty.
    pub name: String,
    /// The path.
    pub path: String,
    /// The HTTP status of the response.
    pub code: u16,
    /// The error message; empty on success.
    pub message: String,
    /// The kind of the resource; empty if it is not served.
    pub kind: String,
    /// The owners in the request's object with `blockOwnerDeletion`.
    pub blocking_owners: Vec<BlockingOwner>,
    /// The audit annotations of admission plugins, webhooks and policies, and of issued tokens.
    pub annotations: BTreeMap<String, String>,
    /// The User-Agent header.
    pub user_agent: String,
    /// When the request was received.
    pub received: Timestamp,
    /// When the response was sent.
    pub answered: Timestamp,
}

/// Limits of the stored strings: with 100,000 records, unlimited paths of hostile requests would exhaust the memory.
const MAX_TEXT_BYTES: usize = 1 << 10;
const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// The maximum number of stored annotations per record.
const MAX_ANNOTATIONS: usize = 64;
/// The maximum number of stored owners per record.
const MAX_OWNERS: usize = 64;

impl AuditRecord {
    /// Truncates the strings and lists of the record to their limits.
    fn truncate_to_limits(&mut self) {
        let texts = [
            &mut self.user,
            &mut self.verb,
            &mut self.group,
            &mut self.resource,
            &mut self.subresource,
            &mut self.namespace,
            &mut self.name,
            &mut self.path,
            &mut self.kind,
            &mut self.user_agent,
        ];
        let owners = &mut self.blocking_owners;
        owners.sort_unstable();
        owners.dedup();
        owners.truncate(MAX_OWNERS);
        owners.shrink_to_fit();
        while self.annotations.len() > MAX_ANNOTATIONS {
            self.annotations.pop_last();
        }
        let owners = owners
            .iter_mut()
            .flat_map(|owner| [&mut owner.group, &mut owner.kind]);
        let annotations = self.annotations.values_mut();
        for text in texts
            .into_iter()
            .chain(&mut self.impersonator)
            .chain(owners)
            .chain(annotations)
        {
            truncate(text, MAX_TEXT_BYTES);
        }
        truncate(&mut self.message, MAX_MESSAGE_BYTES);
    }
}

/// Truncates a string to at most `max` bytes.
fn truncate(text: &mut String, max: usize) {
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max));
        text.shrink_to_fit();
    }
}

/// Group and kind of an owner reference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockingOwner {
    /// Its API group.
    pub group: String,
    /// Its kind.
    pub kind: String,
}

impl BlockingOwner {
    /// Returns the owners with `blockOwnerDeletion` in a request body. Any other body has none.
    pub(crate) fn from_body(body: &[u8]) -> Vec<Self> {
        const FIELD: &[u8] = b"blockOwnerDeletion";
        // Most bodies do not contain the field, so they need not be parsed twice.
        if memchr::memmem::find(body, FIELD).is_none() {
            return vec![];
        }
        let object: Value = serde_json::from_slice(body).unwrap_or_default();
        let references = object["metadata"]["ownerReferences"].as_array();
        let blocking = references
            .into_iter()
            .flatten()
            .filter(|reference| reference["blockOwnerDeletion"] == true);
        blocking
            .map(|reference| {
                let group = text(reference, "apiVersion").split_once('/');
                Self {
                    group: group.map_or("", |(group, _)| group).to_owned(),
                    kind: text(reference, "kind").to_owned(),
                }
            })
            .collect()
    }
}

/// The latest requests, oldest first.
#[derive(Debug)]
pub struct AuditLog {
    /// The maximum number of records.
    capacity: usize,
    records: Mutex<VecDeque<AuditRecord>>,
}

impl AuditLog {
    /// Creates a log with the given capacity; 0 disables it.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            records: Mutex::default(),
        }
    }

    /// Returns the recorded requests.
    pub fn records(&self) -> Vec<AuditRecord> {
        self.records.lock().iter().cloned().collect()
    }

    /// Removes all records.
    pub fn clear(&self) {
        self.records.lock().clear();
    }

    pub(crate) fn add(&self, record: impl FnOnce() -> AuditRecord) {
        if self.capacity == 0 {
            return;
        }
        let mut record = record();
        record.truncate_to_limits();
        let mut records = self.records.lock();
        if records.len() == self.capacity {
            records.pop_front();
        }
        records.push_back(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_and_owner_lists_are_truncated() {
        let long = "\u{e9}".repeat(10_000);
        let owner = |kind: &str| BlockingOwner {
            group: String::new(),
            kind: kind.to_owned(),
        };
        let audit = AuditLog::new(2);
        audit.add(|| AuditRecord {
            user: "u".to_owned(),
            impersonator: Some(long.clone()),
            verb: "get".to_owned(),
            group: String::new(),
            resource: "pods".to_owned(),
            subresource: String::new(),
            namespace: String::new(),
            name: format!("x{long}"),
            path: long.clone(),
            code: 404,
            message: long.clone(),
            kind: String::new(),
            blocking_owners: [owner(&long), owner("a"), owner("a")]
                .into_iter()
                .chain((0..1000).map(|at| owner(&at.to_string())))
                .collect(),
            annotations: (0..1000).map(|at| (at.to_string(), long.clone())).collect(),
            user_agent: long.clone(),
            received: Timestamp::UNIX_EPOCH,
            answered: Timestamp::UNIX_EPOCH,
        });
        let record = &audit.records()[0];
        assert_eq!((record.user.as_str(), record.resource.as_str()), ("u", "pods"));
        let lengths = [&record.path, &record.user_agent, &record.name, &record.message].map(String::len);
        assert_eq!(
            lengths,
            [
                MAX_TEXT_BYTES,
                MAX_TEXT_BYTES,
                MAX_TEXT_BYTES - 1,
                MAX_MESSAGE_BYTES
            ]
        );
        assert_eq!(
            record.impersonator.as_ref().map(String::len),
            Some(MAX_TEXT_BYTES)
        );
        assert!(
            record.blocking_owners.len() == MAX_OWNERS
                && record.annotations.len() == MAX_ANNOTATIONS
                && long.starts_with(&record.path)
        );
    }
}
