//! What is read when somebody asks: informers, queues, dropped events.

use std::{collections::HashMap, fmt};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};

use super::controller::QueueLabels;
use crate::{
    ApiResource,
    cache::{InformerOptions, InformerStats, SharedInformerFactory},
    events::Recorder,
    workqueue::{Priority, QueueStats},
};

/// Reads the figures of one queue.
pub(in crate::manager) type Queue = Box<dyn Fn() -> QueueStats + Send + Sync>;

pub(super) struct Informers(pub(super) SharedInformerFactory);
pub(super) struct Queues(pub(super) Vec<(String, Queue)>);
pub(super) struct Events(pub(super) Recorder);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InformerLabels {
    group: String,
    version: String,
    kind: String,
    namespaces: String,
    selector: String,
    keep: String,
}

impl InformerLabels {
    fn new(info: ApiResource, options: InformerOptions) -> Self {
        let selectors = [options.label_selector, options.field_selector];
        Self {
            group: info.group.into_owned(),
            version: info.version.into_owned(),
            kind: info.kind.into_owned(),
            namespaces: match options.namespaces {
                None => String::new(),
                Some(names) if names.is_empty() => "*".to_owned(),
                Some(names) => names.join(","),
            },
            selector: selectors.into_iter().flatten().collect::<Vec<_>>().join(";"),
            keep: options.storage.name().to_owned(),
        }
    }
}

/// The labels of each informer and its figures. Informers that differ in something else, as two projections do, are numbered: a scrape
/// with the same series twice is refused as a whole.
fn labelled(
    all: impl IntoIterator<Item = (ApiResource, InformerOptions, InformerStats)>,
) -> Vec<(InformerLabels, InformerStats)> {
    let mut seen: HashMap<InformerLabels, usize> = HashMap::new();
    let all = all.into_iter().map(|(info, options, stats)| {
        let mut labels = InformerLabels::new(info, options);
        let number = seen.entry(labels.clone()).or_default();
        *number += 1;
        if *number > 1 {
            labels.keep = format!("{} {number}", labels.keep);
        }
        (labels, stats)
    });
    all.collect()
}

impl Collector for Informers {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let informers = labelled(self.0.stats());
        for (name, help, value) in GAUGES {
            let values = informers
                .iter()
                .map(|(labels, stats)| (labels, ConstGauge::new(int(value(stats)))));
            family(&mut encoder, name, help, values)?;
        }
        for (name, help, value) in COUNTERS {
            let values = informers
                .iter()
                .map(|(labels, stats)| (labels, ConstCounter::new(value(stats))));
            family(&mut encoder, name, help, values)?;
        }
        let processing = informers
            .iter()
            .map(|(labels, stats)| (labels, ConstCounter::new(stats.processing.as_secs_f64())));
        let help = "How long batches took until they were in the store and the sinks told";
        family(
            &mut encoder,
            "kubewright_informer_processing_seconds",
            help,
            processing,
        )
    }
}

type Figure<T> = (&'static str, &'static str, fn(&InformerStats) -> T);

const GAUGES: [Figure<usize>; 5] = [
    ("kubewright_informer_objects", "Objects in the store", |stats| {
        stats.objects
    }),
    ("kubewright_informer_bytes", "Bytes of their JSON", |stats| {
        stats.bytes
    }),
    (
        "kubewright_informer_kept_bytes",
        "Bytes that are kept of it",
        |stats| stats.kept_bytes,
    ),
    (
        "kubewright_informer_queued",
        "Entries of the queue before the store",
        |stats| stats.queued,
    ),
    (
        "kubewright_informer_pending",
        "Changes that handlers were not yet told of",
        |stats| stats.pending,
    ),
];

const COUNTERS: [Figure<u64>; 10] = [
    (
        "kubewright_informer_batches",
        "Batches that went into the store",
        |stats| stats.batches,
    ),
    (
        "kubewright_informer_decodes",
        "How often an object was decoded",
        |stats| stats.decodes,
    ),
    ("kubewright_informer_lists", "Lists that ended well", |stats| {
        stats.lists
    }),
    (
        "kubewright_informer_watches",
        "Watches that the API server accepted",
        |stats| stats.watches,
    ),
    (
        "kubewright_informer_watch_events",
        "Lines that watches brought",
        |stats| stats.watch_events,
    ),
    (
        "kubewright_informer_failures",
        "Lists and watches that failed",
        |stats| stats.failures,
    ),
    (
        "kubewright_informer_decode_errors",
        "Objects that did not decode",
        |stats| stats.decode_errors,
    ),
    (
        "kubewright_informer_version_errors",
        "Resource versions that went backwards or were no number",
        |stats| stats.version_errors,
    ),
    (
        "kubewright_informer_inconsistencies",
        "Objects that differed in a check of consistency",
        |stats| stats.inconsistencies,
    ),
    (
        "kubewright_informer_index_errors",
        "Values of another type than their index",
        |stats| stats.index_errors,
    ),
];

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let queues: Vec<_> = self
            .0
            .iter()
            .map(|(name, queue)| (QueueLabels::of(name), queue()))
            .collect();
        let depths: Vec<_> = queues
            .iter()
            .flat_map(|(labels, stats)| {
                // Those that were never used, too: a dashboard should find them.
                let known = stats
                    .depths
                    .iter()
                    .chain([(Priority::NORMAL, 0), (Priority::LOW, 0)]);
                let mut depths: Vec<_> = known.collect();
                depths.sort_by_key(|&(priority, _)| priority);
                depths.dedup_by_key(|&mut (priority, _)| priority);
                depths
                    .into_iter()
                    .map(|(priority, depth)| (labels.depth(priority), depth))
            })
            .collect();
        let depths = depths
            .iter()
            .map(|(labels, depth)| (labels, ConstGauge::new(int(*depth))));
        family(&mut encoder, "workqueue_depth", "Keys that wait", depths)?;
        let unfinished = queues
            .iter()
            .map(|(labels, stats)| (labels, ConstGauge::new(stats.unfinished.as_secs_f64())));
        let help = "How long workers have been at the keys that they hold, summed up";
        family(
            &mut encoder,
            "workqueue_unfinished_work_seconds",
            help,
            unfinished,
        )?;
        let longest = queues
            .iter()
            .map(|(labels, stats)| (labels, ConstGauge::new(stats.longest_running.as_secs_f64())));
        let help = "How long the slowest worker has been at its key";
        family(
            &mut encoder,
            "workqueue_longest_running_processor_seconds",
            help,
            longest,
        )
    }
}

impl Collector for Events {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, count) in [
            (
                "kubewright_events_dropped",
                "Events that the queue did not take.",
                self.0.dropped(),
            ),
            (
                "kubewright_events_suppressed",
                "Events left out because there were too many about their objects.",
                self.0.suppressed(),
            ),
        ] {
            let count = ConstCounter::new(count);
            count.encode(encoder.encode_descriptor(name, help, None, count.metric_type())?)?;
        }
        Ok(())
    }
}

fn family<'a, L: EncodeLabelSet + 'a, M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = (&'a L, M)>,
) -> fmt::Result {
    let mut values = values.peekable();
    let Some((_, first)) = values.peek() else {
        return Ok(());
    };
    let mut encoder = encoder.encode_descriptor(name, &format!("{help}."), None, first.metric_type())?;
    for (labels, value) in values {
        value.encode(encoder.encode_family(labels)?)?;
    }
    Ok(())
}

fn int(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

macro_rules! opaque {
    ($($collector:ident),*) => {$(
        impl fmt::Debug for $collector {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($collector))
            }
        }
    )*};
}
opaque!(Informers, Queues, Events);
