//! An informer under test: its handlers, its readers, and what must be true of it in the end.

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
        Filtered, HandlerOptions, HandlerRegistration, IndexKey, IndexSpec, IndexType, InformerStats, Object,
        SharedInformer,
    },
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use crate::{
    ledger::{Contents, Faults, Handler, Ledger, Manner, is_of_filter, number},
    world::{BUCKETS, Content, NAMESPACES, Served, Sort, TIERS},
};

const RESYNC: Duration = Duration::from_secs(5);
const BUCKET: IndexSpec = IndexSpec {
    name: "bucket",
    path: "metadata.labels.bucket",
    value_type: IndexType::String,
};
/// Added late.
const TIER: IndexSpec = IndexSpec {
    name: "tier",
    path: "metadata.labels.tier",
    value_type: IndexType::String,
};

pub struct Subject<K> {
    pub name: &'static str,
    sort: Sort,
    informer: SharedInformer<K>,
    faults: Arc<Faults>,
    ledgers: Vec<(Arc<Ledger<K>>, HandlerRegistration)>,
    removed: Option<(Arc<Ledger<K>>, u64)>,
}

/// A [`Subject`] of whatever type.
pub trait Examined: Send {
    fn name(&self) -> &'static str;
    fn stats(&self) -> InformerStats;
    /// A handler and an index come late.
    fn join_late(&mut self, label: &str);
    /// A handler goes.
    fn remove_one(&mut self);
    /// The removed handler has returned from its last call.
    fn mark_removed(&mut self);
    /// Compares cache, indexes and handlers with what the API server has.
    fn compare(&self, served: &Served) -> Result<(), String>;
    /// Label and total of each handler; totals of additions, updates, deletions, missed deletions, other uids.
    fn told(&self) -> Vec<(String, [u64; 6])>;
    /// A task that reads until it is told to stop.
    fn reader(
        &self,
        seed: u64,
        stop: Arc<AtomicBool>,
        reads: Arc<AtomicU64>,
    ) -> futures::future::BoxFuture<'static, ()>;
}

impl<K: View + Content + Clone + Debug> Subject<K> {
    pub fn new(name: &'static str, sort: Sort, informer: SharedInformer<K>, faults: &Arc<Faults>) -> Self {
        informer.add_index(&BUCKET).expect("index of buckets");
        let mut subject = Self {
            name,
            sort,
            informer,
            faults: faults.clone(),
            ledgers: Vec::new(),
            removed: None,
        };
        // The first one is removed midway.
        subject.listen("leaving", Manner::Plain);
        subject.listen("plain", Manner::Plain);
        subject.listen("slow", Manner::Slow);
        subject.listen("decoding", Manner::Decoding);
        let (merged, resynced) = (
            HandlerOptions::default().coalesce(),
            HandlerOptions::default().resync(RESYNC),
        );
        subject.listen_with("merged", Manner::Merged, merged);
        subject.listen_with("resynced", Manner::Resynced, resynced);
        let filtered = subject.ledger("filtered", Manner::Filtered);
        let handler = Filtered::new(
            |object: &Object<K>| is_of_filter(object.metadata().label("bucket")),
            Handler(filtered.clone()),
        );
        let registration = subject.informer.add_event_handler(handler);
        subject.ledgers.push((filtered, registration));
        let sink = subject.ledger("sink", Manner::Plain);
        let teller = sink.clone();
        let registration = subject.informer.add_sink(move |change| teller.change(change));
        subject.ledgers.push((sink, registration));
        subject
    }

    fn ledger(&self, label: &str, manner: Manner) -> Arc<Ledger<K>> {
        Ledger::new(
            format!("{}, {label}", self.name),
            manner,
            &self.informer,
            &self.faults,
        )
    }

    fn listen(&mut self, label: &str, manner: Manner) {
        self.listen_with(label, manner, HandlerOptions::default());
    }

    fn listen_with(&mut self, label: &str, manner: Manner, options: HandlerOptions) {
        let ledger = self.ledger(label, manner);
        let registration = self
            .informer
            .add_event_handler_with(Handler(ledger.clone()), options);
        self.ledgers.push((ledger, registration));
    }

    /// Those of the objects that the informer is to have.
    fn wanted<'a>(&self, served: &'a [DynamicObject]) -> Vec<&'a DynamicObject> {
        let options = self.informer.options();
        let of_namespaces = |object: &&DynamicObject| {
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
        served.iter().filter(of_namespaces).filter(selected).collect()
    }
}

impl<K: View + Content + Clone + Debug> Examined for Subject<K> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn stats(&self) -> InformerStats {
        self.informer.stats()
    }

    fn join_late(&mut self, label: &str) {
        self.listen(label, Manner::Decoding);
        self.informer.add_index(&TIER).expect("index of tiers");
    }

    fn remove_one(&mut self) {
        let (ledger, registration) = self.ledgers.remove(0);
        registration.remove();
        self.removed = Some((ledger, 0));
    }

    fn mark_removed(&mut self) {
        if let Some((ledger, told)) = &mut self.removed {
            *told = ledger.told.total();
        }
    }

    fn compare(&self, served: &Served) -> Result<(), String> {
        let wanted = self.wanted(&served[&self.sort]);
        let name_of = |object: &DynamicObject| NamespacedName::of(&object.metadata).expect("a name");
        let expected: Contents = wanted
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
        same("the cache", &cached.collect(), &expected)?;
        let of_filter: Contents = wanted
            .iter()
            .filter(|object| is_of_filter(object.labels().get("bucket").map(String::as_str)))
            .map(|object| name_of(object))
            .filter_map(|name| expected.get_key_value(&name))
            .map(|(name, state)| (name.clone(), state.clone()))
            .collect();
        for (ledger, registration) in &self.ledgers {
            if !registration.has_synced() {
                return Err(format!("{} has not synced", ledger.label));
            }
            let expected = if ledger.manner == Manner::Filtered {
                &of_filter
            } else {
                &expected
            };
            same(&ledger.label, &ledger.contents(), expected)?;
        }
        for object in &wanted {
            let name = name_of(object);
            let mut json = serde_json::to_value(object).map_err(|error| error.to_string())?;
            if let Some(metadata) = json["metadata"].as_object_mut() {
                metadata.remove("managedFields");
            }
            K::as_sent(&mut json);
            let served: K = serde_json::from_value(json).map_err(|error| error.to_string())?;
            let cached = lister.get(&name).map_err(|error| error.to_string())?;
            // Not all of these types compare; all show every field.
            let (cached_as, served_as) = (format!("{cached:?}"), format!("{served:?}"));
            if cached_as != served_as {
                return Err(format!("{name} is cached as {cached_as}, but it is {served_as}"));
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
            for object in &wanted {
                if let Some(value) = object.labels().get(index) {
                    expected.entry(value).or_default().push(name_of(object));
                }
            }
            for value in &values {
                let mut expected = expected.remove(&**value).unwrap_or_default();
                expected.sort_unstable();
                let found = self.informer.lister().index_keys(index, &**value);
                let found = found.map_err(|error| error.to_string())?;
                if found != expected {
                    return Err(format!("{index}={value} finds {found:?} instead of {expected:?}"));
                }
            }
        }
        match &self.removed {
            Some((ledger, told)) if ledger.told.total() != *told => Err(format!(
                "{} was told of changes after it had been removed",
                ledger.label
            )),
            _ => Ok(()),
        }
    }

    fn told(&self) -> Vec<(String, [u64; 6])> {
        let ledgers = self.ledgers.iter().map(|(ledger, _)| ledger);
        let ledgers = ledgers.chain(self.removed.iter().map(|(ledger, _)| ledger));
        ledgers
            .map(|ledger| {
                let told = &ledger.told;
                let counters = [
                    &told.added,
                    &told.updated,
                    &told.deleted,
                    &told.missed_deletions,
                    &told.other_uids,
                ];
                let [added, updated, deleted, missed, others] =
                    counters.map(|counter| counter.load(Ordering::Relaxed));
                (
                    ledger.label.clone(),
                    [told.total(), added, updated, deleted, missed, others],
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
            sort: self.sort,
            informer: self.informer.clone(),
            faults: self.faults.clone(),
            seen: HashMap::new(),
        };
        Box::pin(reader.run(seed, stop, reads))
    }
}

fn same(who: &str, found: &Contents, expected: &Contents) -> Result<(), String> {
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
        "{who} has {} objects instead of {}: {}",
        found.len(),
        expected.len(),
        differing.join("; ")
    ))
}

struct Reader<K> {
    name: &'static str,
    sort: Sort,
    informer: SharedInformer<K>,
    faults: Arc<Faults>,
    /// The newest version that was read of each object.
    seen: HashMap<NamespacedName, u64>,
}

impl<K: View + Content> Reader<K> {
    async fn run(mut self, seed: u64, stop: Arc<AtomicBool>, reads: Arc<AtomicU64>) {
        let mut rng = StdRng::seed_from_u64(seed);
        while !stop.load(Ordering::Relaxed) {
            if let Err(problem) = self.read(&mut rng) {
                self.faults.add(format!("{}, reader: {problem}", self.name));
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
                    let number = rng.random_range(0..self.sort.names());
                    self.get(&NamespacedName::namespaced(namespace, format!("object-{number}")))?;
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
                let found = lister
                    .by_index("bucket", IndexKey::String((&*bucket).into()))
                    .map_err(|error| error.to_string())?;
                for object in found.take(10) {
                    let object = object.map_err(|error| error.to_string())?;
                    object.check()?;
                    if object.entry("bucket").as_ref() != Some(&bucket) {
                        return Err(format!("{} is not of bucket {bucket}", object.name_any()));
                    }
                }
            }
            _ => {
                let web: Selector = Expression::Equal("tier".into(), "web".into()).into();
                for object in lister.namespace(namespace).select(&web).objects() {
                    let metadata = object.metadata();
                    if metadata.label("tier") != Some("web") || metadata.name().namespace() != Some(namespace)
                    {
                        return Err(format!("{metadata:?} is not of tier web in {namespace}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Time does not run backwards for a reader, and what it reads is whole.
    fn get(&mut self, name: &NamespacedName) -> Result<(), String> {
        let object = match self.informer.lister().get(name) {
            Ok(object) => object,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        object.check()?;
        let version = number(&object.resource_version().unwrap_or_default());
        match self.seen.insert(name.clone(), version) {
            Some(before) if before > version => {
                Err(format!("{name} was read as {before}, then as {version}"))
            }
            _ => Ok(()),
        }
    }
}
