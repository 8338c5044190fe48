//! Who asked what, and what the answer was.

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;

/// One request that was answered. A watch is answered when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Who asked; the one who was impersonated, if anybody was.
    pub user: String,
    /// Who impersonated, if anybody did.
    pub impersonator: Option<String>,
    /// As `get`; the method, for what is no resource.
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The resource; empty for what is none.
    pub resource: String,
    /// The subresource; may be empty.
    pub subresource: String,
    /// The namespace; may be empty.
    pub namespace: String,
    /// The name; may be empty.
    pub name: String,
    /// The path.
    pub path: String,
    /// The HTTP status of the answer.
    pub code: u16,
    /// Why it was refused; empty where it was not.
    pub message: String,
    /// The kind of the resource; empty where it is not served.
    pub kind: String,
    /// The owners in the object that was sent whose deletion it blocks.
    pub blocking_owners: Vec<Owner>,
    /// The User-Agent header.
    pub user_agent: String,
    /// When it came.
    pub received: Timestamp,
    /// When it was answered.
    pub answered: Timestamp,
}

/// An owner that an owner reference names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its API group.
    pub group: String,
    /// Its kind.
    pub kind: String,
}

impl Owner {
    /// Those in a body whose deletion the body's object blocks. A body may be anything: what is not there is no owner.
    pub(crate) fn blocked_by(body: &[u8]) -> Vec<Self> {
        const MARK: &[u8] = b"blockOwnerDeletion";
        // Few bodies have one, and none is parsed twice for nothing.
        if memchr::memmem::find(body, MARK).is_none() {
            return vec![];
        }
        let object: Value = serde_json::from_slice(body).unwrap_or_default();
        let references = object["metadata"]["ownerReferences"].as_array();
        let blocking = references
            .into_iter()
            .flatten()
            .filter(|reference| reference["blockOwnerDeletion"] == true);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        blocking
            .map(|reference| Self {
                group: reference["apiVersion"]
                    .as_str()
                    .and_then(|version| version.split_once('/'))
                    .map_or(String::new(), |(group, _)| group.to_owned()),
                kind: text(&reference["kind"]),
            })
            .collect()
    }
}

/// The latest requests, oldest first.
#[derive(Debug)]
pub struct Audit {
    /// How many are remembered.
    most: usize,
    records: Mutex<VecDeque<Record>>,
}

impl Audit {
    /// Remembers so many requests.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            records: Mutex::default(),
        }
    }

    /// What was answered so far.
    pub fn records(&self) -> Vec<Record> {
        self.records.lock().iter().cloned().collect()
    }

    /// Forgets everything so far.
    pub fn clear(&self) {
        self.records.lock().clear();
    }

    pub(crate) fn add(&self, record: impl FnOnce() -> Record) {
        if self.most == 0 {
            return;
        }
        let record = record();
        let mut records = self.records.lock();
        if records.len() == self.most {
            records.pop_front();
        }
        records.push_back(record);
    }
}
