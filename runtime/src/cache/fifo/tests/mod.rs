//! Both queues, each alone and compared with the other.
//!
//! Deltas are written as `+a2` (object `a` is there in version 2), `-a2` (deleted), `?a2` (a tombstone), `~a2` (a sync), `[+a2 +b1]` (a
//! list) and `~` (a resync). Batches that were popped are joined by ` | `.

mod batching;
mod delta_fifo;
mod equivalence;

use serde_json::json;

use super::*;
use crate::{Kind as _, cache::scan::Scanner};

fn object(name: &str, version: u32) -> Arc<StoredObject> {
    let json = json!({"metadata": {"name": name, "uid": name, "resourceVersion": version.to_string()}});
    let info = k8s_openapi::api::core::v1::Node::info();
    Arc::new(
        Scanner::new(&info)
            .object(json.to_string().as_bytes(), &[])
            .unwrap(),
    )
}

/// `a2`
fn parse_object(text: &str) -> Arc<StoredObject> {
    object(&text[..1], text[1..].parse().unwrap())
}

fn parse(text: &str) -> Delta {
    match text.as_bytes()[0] {
        b'+' => Delta::Upserted(parse_object(&text[1..])),
        b'-' => Delta::Deleted(parse_object(&text[1..])),
        b'~' => Delta::SyncAll,
        b'<' => Delta::Bookmark {
            namespace: None,
            version: text[1..].into(),
        },
        b'[' => Delta::Replaced {
            namespace: None,
            version: "1".into(),
            objects: text[1..text.len() - 1]
                .split_whitespace()
                .map(|object| parse_object(&object[1..]))
                .collect(),
        },
        _ => panic!("no delta: {text}"),
    }
}

fn show(delta: &Delta) -> String {
    let object = |object: &Arc<StoredObject>| {
        format!(
            "{}{}",
            object.metadata.name().name(),
            object.metadata.resource_version()
        )
    };
    match delta {
        Delta::Upserted(new) => format!("+{}", object(new)),
        Delta::Deleted(last) => format!("-{}", object(last)),
        Delta::DeletedFinalStateUnknown(last) => format!("?{}", object(last)),
        Delta::Sync(known) => format!("~{}", object(known)),
        Delta::SyncAll => "~".into(),
        Delta::Bookmark { version, .. } => format!("<{version}"),
        // Shown only in the tests of versions.
        Delta::Listed { .. } => String::new(),
        Delta::Replaced { objects, .. } => {
            let objects: Vec<_> = objects.iter().map(|new| format!("+{}", object(new))).collect();
            format!("[{}]", objects.join(" "))
        }
    }
}

/// Pushes deltas that are separated by commas.
fn push(fifo: &mut dyn Fifo, deltas: &str) {
    for delta in deltas.split(',').map(str::trim).filter(|delta| !delta.is_empty()) {
        fifo.push(parse(delta));
    }
}

fn pop(fifo: &mut dyn Fifo) -> Option<String> {
    let batch: Vec<String> = fifo
        .pop()?
        .iter()
        .map(show)
        .filter(|delta| !delta.is_empty())
        .collect();
    fifo.processed();
    Some(batch.join(" "))
}

fn drain(fifo: &mut dyn Fifo) -> String {
    let batches: Vec<String> = std::iter::from_fn(|| pop(fifo))
        .filter(|batch| !batch.is_empty())
        .collect();
    assert_eq!(fifo.len(), 0);
    batches.join(" | ")
}

/// A store with these objects, written as `a1 b2`.
fn store(objects: &str) -> Arc<Store> {
    let store = Store::default();
    let objects = objects.split_whitespace().map(parse_object);
    store.apply(objects.map(Delta::Upserted).collect(), false);
    Arc::new(store)
}
