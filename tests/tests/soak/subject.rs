//! An informer under test: its handlers, its readers, and the comparison with the API server's objects.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use kube::{
    ResourceExt as _,
    api::DynamicObject,
    core::{Expression, Selector},
};
use kubewright::{
    NamespacedName, View,
    cache::{
        Filtered, HandlerOptions, HandlerRegistration, IndexKey, IndexSpec, IndexType, Object, SharedInformer,
    },
    unstable::InformerStats,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use crate::{
    event_checker::{
        CheckingHandler, EventChecker, HandlerMode, ObjectVersions, Violations, parse_version, passes_filter,
    },
    workload::{BUCKETS, NAMESPACES, ResourceKind, ServerObjects, TIERS, TestData},
};

const RESYNC: Duration = Duration::from_secs(5);
const BUCKET: IndexSpec = IndexSpec {
    name: "bucket",
    path: "metadata.labels.bucket",
    value_type: IndexType::String,
};
/// Added while the informer runs.
const TIER: IndexSpec = IndexSpec {
    name: "tier",
    path: "metadata.labels.tier",
    value_type: IndexType::String,
};

pub struct Subject<K> {
    pub name: &'static str,
    kind: ResourceKind,
    informer: SharedInformer<K>,
    violations: Arc<Violations>,
    checkers: Vec<(Arc<EventChecker<K>>, HandlerRegistration)>,
    removed: Option<(Arc<EventChecker<K>>, u64)>,
}

/// A [`Subject`] without its type parameter.
pub trait AnySubject: Send {
    fn name(&self) -> &'static str;
    fn stats(&self) -> InformerStats;
    /// Adds a handler and an index while the informer runs.
    fn add_late_handler(&mut self, label: &str);
    /// Removes a handler.
    fn remove_handler(&mut self);
    /// Stores the event count of the removed handler, which has returned from its last call by now.
    fn store_removed_count(&mut self);
    /// Compares cache, indexes and handlers with the API server's objects.
    fn compare(&self, served: &ServerObjects) -> Result<(), String>;
    /// Returns for each handler its label and the numbers of all events, additions, updates, deletions, missed deletions, and uid changes.
    fn event_counts(&self) -> Vec<(String, [u64; 6])>;
    /// Returns a task that reads from the informer's lister until `stop` is set.
    fn reader(
        &self,
        seed: u64,
        stop: Arc<AtomicBool>,
        reads: Arc<AtomicU64>,
    ) -> futures::future::BoxFuture<'static, ()>;
}

impl<K: View + TestData + Clone + Debug> Subject<K> {
    pub fn new(
        name: &'static str,
        kind: ResourceKind,
        informer: SharedInformer<K>,
        violations: &Arc<Violations>,
    ) -> Self {
        informer.add_index(&BUCKET).expect("no conflicting index");
        let mut subject = Self {
            name,
            kind,
            informer,
            violations: violations.clone(),
            checkers: Vec::new(),
            removed: None,
        };
        // This handler is removed in the middle of the run.
        subject.add_handler("removed midway", HandlerMode::Plain);
        subject.add_handler("plain", HandlerMode::Plain);
        subject.add_handler("slow", HandlerMode::Slow);
        subject.add_handler("decoding", HandlerMode::Decoding);
        let (coalesced, resynced) = (
            HandlerOptions::default().coalesce(),
            HandlerOptions::default().resync(RESYNC),
        );
        subject.add_handler_with("coalesced", HandlerMode::Coalesced, coalesced);
        subject.add_handler_with("resynced", HandlerMode::Resynced, resynced);
        let filtered = subject.checker("filtered", HandlerMode::Filtered);
        let handler = Filtered::new(
            |object: &Object<K>| passes_filter(object.metadata().label("bucket")),
            CheckingHandler(filtered.clone()),
        );
        let registration = subject.informer.add_event_handler(handler);
        subject.checkers.push((filtered, registration));
        let sink = subject.checker("sink", HandlerMode::Plain);
        let checker = sink.clone();
        let registration = subject
            .informer
            .add_sink(move |change| checker.check_change(change));
        subject.checkers.push((sink, registration));
        subject
    }

    fn checker(&self, label: &str, mode: HandlerMode) -> Arc<EventChecker<K>> {
        EventChecker::new(
            format!("{}, {label}", self.name),
            mode,
            &self.informer,
            &self.violations,
        )
    }

    fn add_handler(&mut self, label: &str, mode: HandlerMode) {
        self.add_handler_with(label, mode, HandlerOptions::default());
    }

    fn add_handler_with(&mut self, label: &str, mode: HandlerMode, options: HandlerOptions) {
        let checker = self.checker(label, mode);
        let registration = self
            .informer
            .add_event_handler_with(CheckingHandler(checker.clone()), options);
        self.checkers.push((checker, registration));
    }

    /// Returns the objects that the informer must have, by its namespaces and its label selector.
    fn expected_objects<'a>(&self, served: &'a [DynamicObject]) -> Vec<&'a DynamicObject> {
        let options = self.informer.options();
        let is_in_namespaces = |object: &&DynamicObject| {
            let names = options.namespaces.iter().flatten();
            options.namespaces.is_none()
                || names
                    .into_iter()
                    .any(|name| Some(name) == object.metadata.namespace.as_ref())
        };
        let selected = |object: &&DynamicObject| {
            options.label_selector.as_deref().is_none_or(|selector| {
                let (key, value) = selector.split_once('=').expect("key=value");
                object.labels().get(key).is_some_and(|label| label == value)
            })
        };
        served.iter().filter(is_in_namespaces).filter(selected).collect()
    }
}

impl<K: View + TestData + Clone + Debug> AnySubject for Subject<K> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn stats(&self) -> InformerStats {
        self.informer.stats()
    }

    fn add_late_handler(&mut self, label: &str) {
        self.add_handler(label, HandlerMode::Decoding);
        self.informer.add_index(&TIER).expect("no conflicting index");
    }

    fn remove_handler(&mut self) {
        let (checker, registration) = self.checkers.remove(0);
        registration.remove();
        self.removed = Some((checker, 0));
    }

    fn store_removed_count(&mut self) {
        if let Some((checker, count)) = &mut self.removed {
            *count = checker.counts.total();
        }
    }

    fn compare(&self, served: &ServerObjects) -> Result<(), String> {
        let expected_objects = self.expected_objects(&served[&self.kind]);
        let name_of = |object: &DynamicObject| NamespacedName::of(&object.metadata).expect("a name");
        let expected: ObjectVersions = expected_objects
            .iter()
            .map(|object| {
                let (uid, version) = (object.uid(), object.resource_version());
                (
                    name_of(object),
                    (uid.unwrap_or_default(), version.unwrap_or_default()),
                )
            })
            .collect();
        let lister = self.informer.lister();
        let cached = lister.list().objects().map(|object| {
            let metadata = object.metadata();
            (
                object.name().clone(),
                (metadata.uid().to_owned(), metadata.resource_version().to_owned()),
            )
        });
        check_equal("the cache", &cached.collect(), &expected)?;
        let passing: ObjectVersions = expected_objects
            .iter()
            .filter(|object| passes_filter(object.labels().get("bucket").map(String::as_str)))
            .map(|object| name_of(object))
            .filter_map(|name| expected.get_key_value(&name))
            .map(|(name, state)| (name.clone(), state.clone()))
            .collect();
        for (checker, registration) in &self.checkers {
            if !registration.has_synced() {
                return Err(format!("{} has not synced", checker.label));
            }
            let expected = if checker.mode == HandlerMode::Filtered {
                &passing
            } else {
                &expected
            };
            check_equal(&checker.label, &checker.existing(), expected)?;
        }
        for object in &expected_objects {
            let name = name_of(object);
            let mut json = serde_json::to_value(object).map_err(|error| error.to_string())?;
            if let Some(metadata) = json["metadata"].as_object_mut() {
                metadata.remove("managedFields");
            }
            K::to_received_form(&mut json);
            let served: K = serde_json::from_value(json).map_err(|error| error.to_string())?;
            let cached = lister.get(&name).map_err(|error| error.to_string())?;
            // Not all of these types implement `PartialEq`; the debug output contains every field.
            let (cached_as, served_as) = (format!("{cached:?}"), format!("{served:?}"));
            if cached_as != served_as {
                return Err(format!(
                    "{name} is cached as {cached_as}, but the API server has {served_as}"
                ));
            }
            cached.check()?;
        }
        for (index, values) in [
            (
                "bucket",
                (0..BUCKETS).map(|bucket| bucket.to_string()).collect::<Vec<_>>(),
            ),
            ("tier", TIERS.iter().flatten().map(ToString::to_string).collect()),
        ] {
            let mut expected: BTreeMap<&str, Vec<NamespacedName>> = BTreeMap::new();
            for object in &expected_objects {
                if let Some(value) = object.labels().get(index) {
                    expected.entry(value).or_default().push(name_of(object));
                }
            }
            for value in &values {
                let mut expected = expected.remove(&**value).unwrap_or_default();
                expected.sort_unstable();
                let found = self
                    .informer
                    .lister()
                    .index_keys(index, &**value)
                    .map_err(|error| error.to_string())?;
                if found != expected {
                    return Err(format!(
                        "index lookup {index}={value} returned {found:?} instead of {expected:?}"
                    ));
                }
            }
        }
        match &self.removed {
            Some((checker, count)) if checker.counts.total() != *count => Err(format!(
                "{} received events after it had been removed",
                checker.label
            )),
            _ => Ok(()),
        }
    }

    fn event_counts(&self) -> Vec<(String, [u64; 6])> {
        let checkers = self.checkers.iter().map(|(checker, _)| checker);
        let checkers = checkers.chain(self.removed.iter().map(|(checker, _)| checker));
        checkers
            .map(|checker| {
                let counts = &checker.counts;
                let counters = [
                    &counts.added,
                    &counts.updated,
                    &counts.deleted,
                    &counts.missed_deletions,
                    &counts.changed_uids,
                ];
                let [added, updated, deleted, missed, others] =
                    counters.map(|counter| counter.load(Ordering::Relaxed));
                (
                    checker.label.clone(),
                    [counts.total(), added, updated, deleted, missed, others],
                )
            })
            .collect()
    }

    fn reader(
        &self,
        seed: u64,
        stop: Arc<AtomicBool>,
        reads: Arc<AtomicU64>,
    ) -> futures::future::BoxFuture<'static, ()> {
        let reader = Reader {
            name: self.name,
            kind: self.kind,
            informer: self.informer.clone(),
            violations: self.violations.clone(),
            seen: HashMap::new(),
        };
        Box::pin(reader.run(seed, stop, reads))
    }
}

fn check_equal(label: &str, found: &ObjectVersions, expected: &ObjectVersions) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let differing = expected
        .keys()
        .chain(found.keys())
        .filter(|name| found.get(*name) != expected.get(*name));
    let differing: Vec<String> = differing
        .take(5)
        .map(|name| {
            format!(
                "{name}: {:?} instead of {:?}",
                found.get(name),
                expected.get(name)
            )
        })
        .collect();
    Err(format!(
        "{label} has {} objects instead of {}: {}",
        found.len(),
        expected.len(),
        differing.join("; ")
    ))
}

struct Reader<K> {
    name: &'static str,
    kind: ResourceKind,
    informer: SharedInformer<K>,
    violations: Arc<Violations>,
    /// The resource version of each object when it was read last.
    seen: HashMap<NamespacedName, u64>,
}

impl<K: View + TestData> Reader<K> {
    async fn run(mut self, seed: u64, stop: Arc<AtomicBool>, reads: Arc<AtomicU64>) {
        let mut rng = StdRng::seed_from_u64(seed);
        while !stop.load(Ordering::Relaxed) {
            if let Err(error) = self.read(&mut rng) {
                self.violations.add(format!("{}, reader: {error}", self.name));
            }
            reads.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(rng.random_range(5..60))).await;
        }
    }

    fn read(&mut self, rng: &mut StdRng) -> Result<(), String> {
        let lister = self.informer.lister();
        let namespace = NAMESPACES[rng.random_range(0..NAMESPACES.len())];
        match rng.random_range(0..5) {
            0 | 1 => {
                for _ in 0..10 {
                    let index = rng.random_range(0..self.kind.name_count());
                    self.get(&NamespacedName::namespaced(namespace, format!("object-{index}")))?;
                }
            }
            2 => {
                let mut names = HashSet::new();
                for object in lister.list().objects() {
                    if !names.insert(object.name().clone()) {
                        return Err(format!("{} is listed twice", object.name()));
                    }
                }
            }
            3 => {
                let bucket = rng.random_range(0..BUCKETS).to_string();
                for object in lister
                    .by_index("bucket", IndexKey::String((&*bucket).into()))
                    .map_err(|error| error.to_string())?
                    .take(10)
                {
                    let object = object.map_err(|error| error.to_string())?;
                    object.check()?;
                    if object.entry("bucket").as_ref() != Some(&bucket) {
                        return Err(format!(
                            "{} was found in the index under bucket {bucket}",
                            object.name_any()
                        ));
                    }
                }
            }
            _ => {
                let web: Selector = Expression::Equal("tier".into(), "web".into()).into();
                for object in lister.namespace(namespace).select(&web).objects() {
                    let metadata = object.metadata();
                    if metadata.label("tier") != Some("web") || metadata.name().namespace() != Some(namespace)
                    {
                        return Err(format!("{metadata:?} does not match tier=web in {namespace}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads an object and checks its integrity, and that its version is not older than at the previous read.
    fn get(&mut self, name: &NamespacedName) -> Result<(), String> {
        let object = match self.informer.lister().get(name) {
            Ok(object) => object,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        object.check()?;
        let version = parse_version(&object.resource_version().unwrap_or_default());
        match self.seen.insert(name.clone(), version) {
            Some(before) if before > version => Err(format!(
                "{name} was read in version {before}, then in the older version {version}"
            )),
            _ => Ok(()),
        }
    }
}
