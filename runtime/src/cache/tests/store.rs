//! Property tests of the store against a map.

use std::{
    collections::{BTreeSet, HashMap},
    sync::atomic::{AtomicBool, Ordering},
};

use proptest::prelude::*;

use super::*;
use crate::{
    Kind as _,
    cache::{
        fifo::Delta,
        index::Index,
        object::StoredObject,
        scan::Scanner,
        snapshot_tree::Tree,
        store::{Store, StoreEvent},
    },
    test_effort::property_cases,
};

const DATUM: IndexSpec = IndexSpec {
    name: "datum",
    path: "data.datum",
    value_type: IndexType::String,
};
const ALL: IndexSpec = IndexSpec {
    name: "all",
    path: "data.all[*]",
    value_type: IndexType::Integer,
};

#[derive(Debug, Clone, PartialEq, Eq)]
struct ModelObject {
    version: u64,
    datum: String,
    all: Vec<i64>,
}

#[derive(Debug, Clone)]
enum StoreOperation {
    Put(u8, u8, Vec<i64>),
    /// The stored version again.
    Repeat(u8),
    Delete(u8),
    /// A deletion with DeletedFinalStateUnknown.
    DeleteUnknown(u8),
    /// A relist: keeps some objects, adds or changes others, and deletes the rest of the namespace, or of all.
    Replace {
        namespace: Option<u8>,
        kept: u8,
        new: Vec<(u8, u8)>,
    },
    /// Resyncs one object.
    Sync(u8),
    SyncAll,
}

#[derive(Debug, Clone)]
enum StoreStep {
    Batch(Vec<StoreOperation>),
    AddIndex,
    /// Whether a listener resyncs from now on.
    Resyncing(bool),
}

fn step() -> impl Strategy<Value = StoreStep> {
    prop_oneof![
        12 => prop::collection::vec(operation(), 1..=5).prop_map(StoreStep::Batch),
        1 => Just(StoreStep::AddIndex),
        1 => any::<bool>().prop_map(StoreStep::Resyncing),
    ]
}

fn operation() -> impl Strategy<Value = StoreOperation> {
    let all = prop::collection::vec(0i64..3, 0..4);
    prop_oneof![
        4 => (0u8..8, 0u8..3, all).prop_map(|(key, datum, all)| StoreOperation::Put(key, datum, all)),
        1 => (0u8..8).prop_map(StoreOperation::Repeat),
        2 => (0u8..8).prop_map(StoreOperation::Delete),
        1 => (proptest::option::of(0u8..2), any::<u8>(), prop::collection::vec((0u8..8, 0u8..3), 0..3))
            .prop_map(|(namespace, kept, new)| StoreOperation::Replace { namespace, kept, new }),
        1 => (0u8..8).prop_map(StoreOperation::DeleteUnknown),
        1 => (0u8..8).prop_map(StoreOperation::Sync),
        1 => Just(StoreOperation::SyncAll),
    ]
}

/// Returns a name, alternately in one of two namespaces.
fn namespaced_name(key: u8) -> NamespacedName {
    NamespacedName::namespaced(format!("ns{}", key % 2), format!("o{key}"))
}

struct StoreModel {
    store: Store,
    model: HashMap<NamespacedName, ModelObject>,
    scanner: Scanner,
    versions: u64,
    is_resyncing: bool,
}

impl StoreModel {
    fn stored(&mut self, name: &NamespacedName, model: &ModelObject) -> Arc<StoredObject> {
        let json = json!({
            "metadata": {"name": name.name(), "namespace": name.namespace(), "resourceVersion": model.version.to_string()},
            "data": {"datum": model.datum, "all": model.all},
        });
        Arc::new(
            self.scanner
                .object(json.to_string().as_bytes(), &self.store.indexes())
                .unwrap(),
        )
    }

    fn fresh(&mut self, datum: u8, all: Vec<i64>) -> ModelObject {
        self.versions += 1;
        ModelObject {
            version: self.versions,
            datum: datum.to_string(),
            all,
        }
    }

    /// Applies a batch to both; returns the changes of the store and those of the model, sorted.
    fn apply(&mut self, step: StoreStep) -> (Vec<String>, Vec<String>) {
        let operations = match step {
            StoreStep::Batch(operations) => operations,
            StoreStep::Resyncing(is_resyncing) => {
                self.is_resyncing = is_resyncing;
                return Default::default();
            }
            StoreStep::AddIndex => {
                self.store.add_index(Index::by_path(&ALL).unwrap());
                return Default::default();
            }
        };
        let mut expected = Vec::new();
        let deltas = operations.into_iter();
        let deltas = deltas.filter_map(|operation| self.delta(operation, &mut expected));
        let batch = deltas.collect();
        let changes = self.store.apply(batch, self.is_resyncing).into_iter();
        let actual = changes.map(|change| match change {
            StoreEvent::Added(new) => format!("add {}", new.metadata.name()),
            unchanged if unchanged.is_unchanged() => format!("again {}", unchanged.name()),
            StoreEvent::Updated { new, .. } => format!("update {}", new.metadata.name()),
            StoreEvent::Deleted {
                old,
                final_state_known,
            } => format!("delete {} {final_state_known}", old.metadata.name()),
        });
        let mut actual: Vec<_> = actual.collect();
        actual.sort();
        expected.sort();
        (actual, expected)
    }

    /// Applies an operation to the model, and returns its delta.
    fn delta(&mut self, operation: StoreOperation, expected: &mut Vec<String>) -> Option<Delta> {
        Some(match operation {
            StoreOperation::Put(key, datum, all) => {
                let (name, model) = (namespaced_name(key), self.fresh(datum, all));
                expected.extend(self.put(&name, &model));
                Delta::Upserted(self.stored(&name, &model))
            }
            StoreOperation::Repeat(key) => {
                let name = namespaced_name(key);
                let model = self.model.get(&name).cloned()?;
                expected.extend(self.is_resyncing.then(|| format!("again {name}")));
                Delta::Upserted(self.stored(
                    &name,
                    &ModelObject {
                        datum: "other".into(),
                        ..model
                    },
                ))
            }
            StoreOperation::Delete(key) => {
                let (name, model) = (namespaced_name(key), self.fresh(0, vec![]));
                expected.extend(self.model.remove(&name).map(|_| format!("delete {name} true")));
                Delta::Deleted(self.stored(&name, &model))
            }
            StoreOperation::DeleteUnknown(key) => {
                let (name, model) = (namespaced_name(key), self.fresh(0, vec![]));
                expected.extend(self.model.remove(&name).map(|_| format!("delete {name} false")));
                Delta::DeletedFinalStateUnknown(self.stored(&name, &model))
            }
            StoreOperation::Sync(key) => {
                let (name, model) = (namespaced_name(key), self.fresh(0, vec![]));
                expected.extend(self.model.contains_key(&name).then(|| format!("again {name}")));
                Delta::Sync(self.stored(&name, &model))
            }
            StoreOperation::SyncAll => {
                expected.extend(self.model.keys().map(|name| format!("again {name}")));
                Delta::SyncAll
            }
            StoreOperation::Replace { namespace, kept, new } => {
                let namespace = namespace.map(|namespace| format!("ns{namespace}"));
                self.replace(namespace, kept, new, expected)
            }
        })
    }

    fn replace(
        &mut self,
        namespace: Option<String>,
        kept: u8,
        new: Vec<(u8, u8)>,
        expected: &mut Vec<String>,
    ) -> Delta {
        let inside = |name: &NamespacedName| namespace.is_none() || name.namespace() == namespace.as_deref();
        let mut list: Vec<(NamespacedName, ModelObject)> = Vec::new();
        for key in (0..8).filter(|key| kept & (1 << key) != 0) {
            let name = namespaced_name(key);
            list.extend(
                self.model
                    .get(&name)
                    .filter(|_| inside(&name))
                    .map(|model| (name.clone(), model.clone())),
            );
        }
        for (key, datum) in new {
            let name = namespaced_name(key);
            list.retain(|(known, _)| *known != name);
            if inside(&name) {
                list.push((name, self.fresh(datum, vec![])));
            }
        }
        let gone: Vec<_> = self
            .model
            .keys()
            .filter(|name| inside(name) && !list.iter().any(|(n, _)| n == *name))
            .cloned()
            .collect();
        for name in gone {
            self.model.remove(&name);
            expected.push(format!("delete {name} false"));
        }
        for (name, model) in &list {
            expected.extend(self.put(name, model));
        }
        let objects = list
            .iter()
            .map(|(name, model)| self.stored(name, model))
            .collect();
        Delta::Replaced {
            version: "1".into(),
            namespace: namespace.map(Into::into),
            objects,
        }
    }

    fn put(&mut self, name: &NamespacedName, model: &ModelObject) -> Option<String> {
        match self.model.insert(name.clone(), model.clone()) {
            None => Some(format!("add {name}")),
            Some(old) if old != *model => Some(format!("update {name}")),
            Some(_) => self.is_resyncing.then(|| format!("again {name}")),
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let names = |objects: Tree| {
            objects
                .iter()
                .map(|object| object.name().clone())
                .collect::<BTreeSet<_>>()
        };
        let modelled = |pass: &dyn Fn(&NamespacedName, &ModelObject) -> bool| {
            self.model
                .iter()
                .filter(|(name, model)| pass(name, model))
                .map(|(name, _)| name.clone())
                .collect::<BTreeSet<_>>()
        };
        prop_assert_eq!(names(self.store.all()), modelled(&|_, _| true));
        for (name, model) in &self.model {
            let found = self.store.get(name).unwrap();
            prop_assert_eq!(found.metadata.resource_version(), model.version.to_string());
            let json: Value = serde_json::from_slice(&found.payload.json().unwrap()).unwrap();
            prop_assert_eq!(&json["data"], &json!({"datum": model.datum, "all": model.all}));
        }
        for namespace in ["ns0", "ns1", "ns2"] {
            prop_assert_eq!(
                names(self.store.of_namespace(namespace)),
                modelled(&|name, _| name.namespace() == Some(namespace))
            );
        }
        let has_all = self.store.indexes().len() == 2;
        for value in 0..4 {
            let datum = IndexKey::from(value.to_string());
            prop_assert_eq!(
                names(self.store.by_index("datum", &datum).unwrap()),
                modelled(&|_, model| model.datum == value.to_string())
            );
            let all = IndexKey::Integer(value);
            let expected = modelled(&|_, model| has_all && model.all.contains(&value));
            prop_assert_eq!(
                self.store.index_keys("all", &all).unwrap_or_default(),
                expected.into_iter().collect::<Vec<_>>()
            );
        }
        // client-go: TestThreadSafeStoreDeleteRemovesEmptySetsFromIndex.
        let distinct = |values: BTreeSet<String>| values.len();
        let mut sizes = vec![distinct(
            self.model
                .keys()
                .map(|name| name.namespace().unwrap().to_owned())
                .collect(),
        )];
        sizes.push(distinct(
            self.model.values().map(|model| model.datum.clone()).collect(),
        ));
        sizes.extend(has_all.then(|| {
            distinct(
                self.model
                    .values()
                    .flat_map(|model| model.all.iter().map(i64::to_string))
                    .collect(),
            )
        }));
        prop_assert_eq!(self.store.index_sizes(), sizes);
        let lengths = self.store.all();
        let bytes = lengths
            .iter()
            .map(|object| object.payload.length())
            .sum::<usize>();
        prop_assert_eq!(self.store.size(), (self.model.len(), bytes, bytes));
        Ok(())
    }
}

proptest! {
    #![proptest_config(property_cases(100))]

    #[test]
    fn the_store_and_its_indexes_equal_a_plain_map(steps in prop::collection::vec(step(), 1..40)) {
        let store = Store::default();
        store.add_index(Index::by_path(&DATUM).unwrap());
        let mut model_store = StoreModel { store, model: HashMap::new(), scanner: Scanner::new(&ConfigMap::info()), versions: 0, is_resyncing: false };
        for step in steps {
            let (actual, expected) = model_store.apply(step);
            prop_assert_eq!(actual, expected);
            model_store.check()?;
        }
    }
}

/// Readers see a batch completely or not at all, also in indexes that are added at the same time.
#[test]
fn readers_see_batches_atomically_while_indexes_are_added() {
    const ROUNDS: u64 = 2000;
    let store = Store::default();
    store.add_index(Index::by_path(&DATUM).unwrap());
    let is_over = AtomicBool::new(false);
    let check = |pair: Tree| {
        let versions: Vec<_> = pair
            .iter()
            .map(|object| object.metadata.resource_version().to_owned())
            .collect();
        assert!(
            versions.is_empty() || (versions.len() == 2 && versions[0] == versions[1]),
            "{versions:?}"
        );
        usize::from(!versions.is_empty())
    };
    let names: Vec<&'static str> = (0..40).map(|number| &*format!("late-{number}").leak()).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut scanner = Scanner::new(&ConfigMap::info());
            for version in 1..=ROUNDS {
                let object = |name: &str| {
                    json!({"metadata": {"name": name, "namespace": "default", "resourceVersion": version.to_string()},
                        "data": {"datum": (version % 2).to_string()}})
                };
                let batch = ["a", "b"].map(|name| {
                    let object = scanner.object(object(name).to_string().as_bytes(), &store.indexes());
                    Delta::Upserted(Arc::new(object.unwrap()))
                });
                store.apply(batch.into(), false);
            }
            is_over.store(true, Ordering::SeqCst);
        });
        scope.spawn(|| {
            for name in &names {
                store.add_index(Index::by_path(&IndexSpec { name, ..DATUM }).unwrap());
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let mut found = 0;
                for name in ["datum"].iter().chain(&names).cycle() {
                    check(store.all());
                    check(store.of_namespace("default"));
                    found += ["0", "1"]
                        .map(|datum| check(store.by_index(name, &datum.into()).unwrap_or_default()))
                        .iter()
                        .sum::<usize>();
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                }
                assert!(found > 0);
            });
        }
    });
    for name in ["datum"].iter().chain(&names) {
        assert_eq!(
            [
                check(store.by_index(name, &"0".into()).unwrap()),
                check(store.by_index(name, &"1".into()).unwrap())
            ],
            [1, 0],
            "{name}"
        );
    }
}
