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

/// The most bytes that are kept of a text, and of what was said of it. A hundred thousand records may be of hostile paths.
const TEXT: usize = 1 << 10;
const MESSAGE: usize = 4 << 10;
/// The most owners that are kept.
const OWNERS: usize = 64;

impl Record {
    /// Cuts what is too long to be kept.
    fn shorten(&mut self) {
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
        owners.truncate(OWNERS);
        owners.shrink_to_fit();
        let owners = owners
            .iter_mut()
            .flat_map(|owner| [&mut owner.group, &mut owner.kind]);
        for text in texts.into_iter().chain(&mut self.impersonator).chain(owners) {
            cut(text, TEXT);
        }
        cut(&mut self.message, MESSAGE);
    }
}

/// Leaves the beginning of a text.
fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.shrink_to_fit();
    }
}

/// An owner that an owner reference names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        let mut record = record();
        record.shorten();
        let mut records = self.records.lock();
        if records.len() == self.most {
            records.pop_front();
        }
        records.push_back(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_kept_in_part() {
        let long = "\u{e9}".repeat(10_000);
        let owner = |kind: &str| Owner {
            group: String::new(),
            kind: kind.to_owned(),
        };
        let audit = Audit::new(2);
        audit.add(|| Record {
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
            user_agent: long.clone(),
            received: Timestamp::UNIX_EPOCH,
            answered: Timestamp::UNIX_EPOCH,
        });
        let record = &audit.records()[0];
        assert_eq!((record.user.as_str(), record.resource.as_str()), ("u", "pods"));
        let lengths = [&record.path, &record.user_agent, &record.name, &record.message].map(String::len);
        assert_eq!(lengths, [TEXT, TEXT, TEXT - 1, MESSAGE]);
        assert_eq!(record.impersonator.as_ref().map(String::len), Some(TEXT));
        assert!(record.blocking_owners.len() == OWNERS && long.starts_with(&record.path));
    }
}
