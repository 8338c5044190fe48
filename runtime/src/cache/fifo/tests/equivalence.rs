//! Both queues lead to the same store, and to the same events of each object.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{cache::store::StoreEvent, test_effort::property_cases};

#[derive(Debug, Clone)]
enum Operation {
    Put(u8),
    /// The present version again.
    Repeat(u8),
    Delete(u8),
    /// A list, after these changes that no watch saw.
    Relist {
        put: Vec<u8>,
        deleted: Vec<u8>,
    },
    Resync,
    Bookmark,
    /// The consumers process so many batches.
    Pop(u8),
    /// Pops a batch, which is processed at the next pop.
    PopSlowly,
}

fn operation() -> impl Strategy<Value = Operation> {
    let key = 0u8..5;
    let keys = || prop::collection::vec(0u8..5, 0..3);
    prop_oneof![
        6 => key.clone().prop_map(Operation::Put),
        1 => key.clone().prop_map(Operation::Repeat),
        3 => key.prop_map(Operation::Delete),
        2 => (keys(), keys()).prop_map(|(put, deleted)| Operation::Relist { put, deleted }),
        1 => Just(Operation::Resync),
        1 => Just(Operation::Bookmark),
        2 => (1u8..4).prop_map(Operation::Pop),
        2 => Just(Operation::PopSlowly),
    ]
}

/// A queue, its store, and the events that a handler would have received.
struct Side {
    fifo: Box<dyn Fifo>,
    store: Arc<Store>,
    popped: Option<Vec<Delta>>,
    events: BTreeMap<String, Vec<StoreEvent>>,
}

impl Side {
    fn new(kind: QueueKind) -> Self {
        let store: Arc<Store> = Arc::default();
        let fifo: Box<dyn Fifo> = match kind {
            QueueKind::Batching => Box::new(BatchingFifo::new([None])),
            QueueKind::DeltaFifo => Box::new(DeltaFifo::new([None], store.clone())),
        };
        Self {
            fifo,
            store,
            popped: None,
            events: BTreeMap::new(),
        }
    }

    fn finish(&mut self) {
        if let Some(batch) = self.popped.take() {
            for change in self.store.apply(batch, true) {
                self.events
                    .entry(change.name().to_string())
                    .or_default()
                    .push(change);
            }
            self.fifo.processed();
        }
    }

    /// Returns whether there was a batch.
    fn pop(&mut self) -> bool {
        self.finish();
        self.popped = self.fifo.pop();
        self.popped.is_some()
    }

    fn contents(&self) -> BTreeMap<String, String> {
        self.store
            .all()
            .iter()
            .map(|object| (object.metadata.name().to_string(), version(object)))
            .collect()
    }

    /// The first and the last version of each object's events; none if it was deleted. Fails if its events have a gap.
    fn ends(&self) -> Result<BTreeMap<&str, (String, Option<String>)>, TestCaseError> {
        let mut ends = BTreeMap::new();
        for (name, changes) in &self.events {
            let (mut first, mut now) = (None, None);
            for change in changes {
                now = match (change, now) {
                    (StoreEvent::Added(new), None) => Some(version(new)),
                    (StoreEvent::Updated { old, new }, Some(now)) if now == version(old) => {
                        Some(version(new))
                    }
                    (StoreEvent::Deleted { .. }, Some(_)) => None,
                    (change, now) => {
                        return Err(TestCaseError::fail(format!(
                            "{name} was {now:?}, then {change:?}"
                        )));
                    }
                };
                first = first.or_else(|| now.clone());
            }
            ends.insert(name.as_str(), (first.unwrap_or_default(), now));
        }
        Ok(ends)
    }
}

fn version(object: &Arc<StoredObject>) -> String {
    object.metadata.resource_version().to_owned()
}

fn run(operations: Vec<Operation>) -> Result<(), TestCaseError> {
    let mut sides = [Side::new(QueueKind::Batching), Side::new(QueueKind::DeltaFifo)];
    let mut truth: BTreeMap<u8, u32> = BTreeMap::new();
    let stored = |key: u8, version: u32| object(&format!("o{key}"), version);
    let mut now = 0;
    let relist = Operation::Relist {
        put: vec![],
        deleted: vec![],
    };
    for operation in [relist.clone()].into_iter().chain(operations).chain([relist]) {
        now += 1;
        let delta = match operation {
            Operation::Put(key) => {
                truth.insert(key, now);
                Delta::Upserted(stored(key, now))
            }
            Operation::Repeat(key) => match truth.get(&key) {
                Some(version) => Delta::Upserted(stored(key, *version)),
                None => continue,
            },
            Operation::Delete(key) => {
                truth.remove(&key);
                Delta::Deleted(stored(key, now))
            }
            Operation::Relist { put, deleted } => {
                truth.extend(put.into_iter().map(|key| (key, now)));
                truth.retain(|key, _| !deleted.contains(key));
                let objects = truth
                    .iter()
                    .map(|(key, version)| stored(*key, *version))
                    .collect();
                Delta::Replaced {
                    namespace: None,
                    version: now.to_string().into(),
                    objects,
                }
            }
            Operation::Resync => Delta::SyncAll,
            Operation::Bookmark => Delta::Bookmark {
                namespace: None,
                version: now.to_string().into(),
            },
            Operation::Pop(times) => {
                for side in &mut sides {
                    for _ in 0..times {
                        side.pop();
                    }
                    side.finish();
                }
                continue;
            }
            Operation::PopSlowly => {
                for side in &mut sides {
                    side.pop();
                }
                continue;
            }
        };
        for side in &mut sides {
            side.fifo.push(delta.clone());
        }
    }
    let truth: BTreeMap<_, _> = truth
        .iter()
        .map(|(key, version)| (format!("o{key}"), version.to_string()))
        .collect();
    for side in &mut sides {
        while side.pop() {}
        prop_assert!(side.fifo.has_synced());
        prop_assert_eq!(side.contents(), truth.clone());
        let last_versions: BTreeMap<String, String> = side
            .ends()?
            .into_iter()
            .filter_map(|(name, (_, last))| Some((name.to_owned(), last?)))
            .collect();
        prop_assert_eq!(last_versions, truth.clone());
    }
    prop_assert_eq!(sides[0].store.version(None), sides[1].store.version(None));
    prop_assert_eq!(sides[0].ends()?, sides[1].ends()?);
    Ok(())
}

proptest! {
    #![proptest_config(property_cases(500))]

    /// client-go: TestReplaceEvents compares its two modes in this way.
    #[test]
    fn both_queues_lead_to_the_same_events_of_each_object(operations in prop::collection::vec(operation(), 1..60)) {
        run(operations)?;
    }
}
