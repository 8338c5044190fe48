//! Who asked what, and what the answer was.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// How many requests are remembered.
const MOST: usize = 100_000;

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
}

/// The latest requests, oldest first.
#[derive(Debug, Default)]
pub struct Audit {
    records: Mutex<VecDeque<Record>>,
}

impl Audit {
    /// What was answered so far.
    pub fn records(&self) -> Vec<Record> {
        self.records.lock().iter().cloned().collect()
    }

    /// Forgets everything so far.
    pub fn clear(&self) {
        self.records.lock().clear();
    }

    pub(crate) fn add(&self, record: Record) {
        let mut records = self.records.lock();
        if records.len() == MOST {
            records.pop_front();
        }
        records.push_back(record);
    }
}
