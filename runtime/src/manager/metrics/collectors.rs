//! Metrics that are read at each scrape: informers, queues, dropped events.

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

/// Reads the statistics of one queue.
pub(in crate::manager) type QueueStatsReader = Box<dyn Fn() -> QueueStats + Send + Sync>;

pub(super) struct InformerCollector(pub(super) SharedInformerFactory);
pub(super) struct QueueCollector(pub(super) Vec<(String, QueueStatsReader)>);
pub(super) struct EventCollector(pub(super) Recorder);

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

/// Returns the labels and statistics of each informer. Informers with the same labels, such as two projections, are numbered, because
/// Prometheus rejects a scrape with a duplicate series.
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

impl Collector for InformerCollector {
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
        let help = "Time from the start of a batch until it was stored and distributed to the sinks";
        family(
            &mut encoder,
            "kubewright_informer_processing_seconds",
            help,
            processing,
        )
    }
}

type InformerMetric<T> = (&'static str, &'static str, fn(&InformerStats) -> T);

const GAUGES: [InformerMetric<usize>; 5] = [
    ("kubewright_informer_objects", "Objects in the store", |stats| {
        stats.objects
    }),
    (
        "kubewright_informer_bytes",
        "JSON bytes of the objects in the store",
        |stats| stats.bytes,
    ),
    (
        "kubewright_informer_kept_bytes",
        "Bytes of the objects as stored",
        |stats| stats.kept_bytes,
    ),
    (
        "kubewright_informer_queued",
        "Entries of the delta queue",
        |stats| stats.queued,
    ),
    (
        "kubewright_informer_pending",
        "Notifications that handlers have not processed",
        |stats| stats.pending,
    ),
];

const COUNTERS: [InformerMetric<u64>; 10] = [
    (
        "kubewright_informer_batches",
        "Batches written to the store",
        |stats| stats.batches,
    ),
    ("kubewright_informer_decodes", "Decoded objects", |stats| {
        stats.decodes
    }),
    ("kubewright_informer_lists", "Successful lists", |stats| {
        stats.lists
    }),
    (
        "kubewright_informer_watches",
        "Watches that the API server accepted",
        |stats| stats.watches,
    ),
    (
        "kubewright_informer_watch_events",
        "Watch events received",
        |stats| stats.watch_events,
    ),
    (
        "kubewright_informer_failures",
        "Lists and watches that failed",
        |stats| stats.failures,
    ),
    (
        "kubewright_informer_decode_errors",
        "Objects that failed to decode",
        |stats| stats.decode_errors,
    ),
    (
        "kubewright_informer_version_errors",
        "Resource versions that decreased or were not numbers",
        |stats| stats.version_errors,
    ),
    (
        "kubewright_informer_inconsistencies",
        "Objects that differed in a consistency check",
        |stats| stats.inconsistencies,
    ),
    (
        "kubewright_informer_index_errors",
        "Index values of the wrong type",
        |stats| stats.index_errors,
    ),
];

impl Collector for QueueCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let queues: Vec<_> = self
            .0
            .iter()
            .map(|(name, queue)| (QueueLabels::of(name), queue()))
            .collect();
        let depths: Vec<_> = queues
            .iter()
            .flat_map(|(labels, stats)| {
                // Includes unused priorities, so that dashboards find the series.
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
        family(&mut encoder, "workqueue_depth", "Queued keys", depths)?;
        let unfinished = queues
            .iter()
            .map(|(labels, stats)| (labels, ConstGauge::new(stats.unfinished.as_secs_f64())));
        let help = "Sum of the time in processing of the current keys";
        family(
            &mut encoder,
            "workqueue_unfinished_work_seconds",
            help,
            unfinished,
        )?;
        let longest = queues
            .iter()
            .map(|(labels, stats)| (labels, ConstGauge::new(stats.longest_running.as_secs_f64())));
        let help = "Longest time in processing of a current key";
        family(
            &mut encoder,
            "workqueue_longest_running_processor_seconds",
            help,
            longest,
        )
    }
}

impl Collector for EventCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, count) in [
            (
                "kubewright_events_dropped",
                "Events dropped because the queue was full.",
                self.0.dropped(),
            ),
            (
                "kubewright_events_suppressed",
                "Events suppressed by the rate limit of their object.",
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
opaque!(InformerCollector, QueueCollector, EventCollector);
