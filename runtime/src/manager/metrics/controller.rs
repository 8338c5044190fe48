//! Metrics of controllers and their queues, counted as events happen.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use crate::{
    controller::{ControllerMetrics, Outcome},
    workqueue::{Priority, QueueMetrics},
};

/// controller-runtime's histogram buckets, in seconds.
const RECONCILE_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

const RESULTS: [&str; 4] = ["success", "error", "requeue", "requeue_after"];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerResult {
    controller: String,
    result: &'static str,
}

/// Labels of a queue: client-go's `name`, and controller-runtime's `controller`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct QueueLabels {
    pub(super) name: String,
    pub(super) controller: String,
}

/// Labels of a queue's depth, as in controller-runtime.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct DepthLabels {
    name: String,
    controller: String,
    priority: i8,
}

impl QueueLabels {
    pub(super) fn depth(&self, priority: Priority) -> DepthLabels {
        DepthLabels {
            name: self.name.clone(),
            controller: self.controller.clone(),
            priority: priority.0,
        }
    }

    pub(super) fn of(controller: &str) -> Self {
        Self {
            name: controller.to_owned(),
            controller: controller.to_owned(),
        }
    }
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of all controllers.
pub(in crate::manager) struct ControllerFamilies {
    results: Family<ControllerResult, Counter>,
    errors: Family<ControllerLabels, Counter>,
    terminal_errors: Family<ControllerLabels, Counter>,
    panics: Family<ControllerLabels, Counter>,
    timeouts: Family<ControllerLabels, Counter>,
    waits: Family<ControllerLabels, Counter>,
    overdue: Family<ControllerLabels, Counter>,
    own_events: Family<ControllerLabels, Counter>,
    follow_ups: Family<ControllerLabels, Counter>,
    follow_ups_delayed: Family<ControllerLabels, Counter>,
    time: Histograms<ControllerLabels>,
    workers: Family<ControllerLabels, Gauge>,
    active: Family<ControllerLabels, Gauge>,
    adds: Family<QueueLabels, Counter>,
    retries: Family<QueueLabels, Counter>,
    queued: Histograms<QueueLabels>,
    worked: Histograms<QueueLabels>,
}

impl ControllerFamilies {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let reconcile_time: fn() -> Histogram = || Histogram::new(RECONCILE_BUCKETS);
        let queue_time: fn() -> Histogram = || Histogram::new(exponential_buckets(10e-9, 10.0, 12));
        let families = Self {
            results: Family::default(),
            errors: Family::default(),
            terminal_errors: Family::default(),
            panics: Family::default(),
            timeouts: Family::default(),
            waits: Family::default(),
            overdue: Family::default(),
            own_events: Family::default(),
            follow_ups: Family::default(),
            follow_ups_delayed: Family::default(),
            time: Family::new_with_constructor(reconcile_time),
            workers: Family::default(),
            active: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            queued: Family::new_with_constructor(queue_time),
            worked: Family::new_with_constructor(queue_time),
        };
        let reconcile = registry.sub_registry_with_prefix("controller_runtime");
        reconcile.register("reconcile", "Reconciles by result", families.results.clone());
        reconcile.register("reconcile_errors", "Failed reconciles", families.errors.clone());
        reconcile.register(
            "terminal_reconcile_errors",
            "Failed reconciles that are not retried",
            families.terminal_errors.clone(),
        );
        reconcile.register(
            "reconcile_panics",
            "Reconciles that panicked",
            families.panics.clone(),
        );
        reconcile.register(
            "reconcile_timeouts",
            "Reconciles that exceeded the timeout",
            families.timeouts.clone(),
        );
        reconcile.register(
            "reconcile_time_seconds",
            "Duration of reconciles",
            families.time.clone(),
        );
        reconcile.register("max_concurrent_reconciles", "Workers", families.workers.clone());
        reconcile.register(
            "active_workers",
            "Workers that are reconciling",
            families.active.clone(),
        );
        let ours = registry.sub_registry_with_prefix("kubewright_controller");
        ours.register(
            "write_waits",
            "Keys that waited until the cache showed their own writes",
            families.waits.clone(),
        );
        ours.register(
            "write_waits_overdue",
            "Waits for own writes that timed out",
            families.overdue.clone(),
        );
        ours.register(
            "own_events",
            "Events of own writes that did not enqueue the key",
            families.own_events.clone(),
        );
        ours.register(
            "follow_ups",
            "Extra calls after reconciles that changed something",
            families.follow_ups.clone(),
        );
        ours.register(
            "follow_ups_delayed",
            "Those of them that were delayed, because there were many in a row",
            families.follow_ups_delayed.clone(),
        );
        let queue = registry.sub_registry_with_prefix("workqueue");
        queue.register("adds", "Keys added to the queue", families.adds.clone());
        queue.register(
            "retries",
            "Keys added again after an error or a delay",
            families.retries.clone(),
        );
        queue.register(
            "queue_duration_seconds",
            "Time that keys spent in the queue",
            families.queued.clone(),
        );
        queue.register(
            "work_duration_seconds",
            "Time that keys spent in processing",
            families.worked.clone(),
        );
        families
    }

    /// Returns the metrics of one controller. All series exist from the start, at zero.
    pub(super) fn of(&self, name: &str, workers: usize) -> MeteredController {
        let controller = ControllerLabels {
            controller: name.to_owned(),
        };
        let queue = QueueLabels::of(name);
        self.workers
            .get_or_create(&controller)
            .set(i64::try_from(workers).unwrap_or(i64::MAX));
        MeteredController {
            results: RESULTS.map(|result| {
                let labels = ControllerResult {
                    controller: name.to_owned(),
                    result,
                };
                (result, self.results.get_or_create_owned(&labels))
            }),
            errors: self.errors.get_or_create_owned(&controller),
            terminal_errors: self.terminal_errors.get_or_create_owned(&controller),
            panics: self.panics.get_or_create_owned(&controller),
            timeouts: self.timeouts.get_or_create_owned(&controller),
            waits: self.waits.get_or_create_owned(&controller),
            overdue: self.overdue.get_or_create_owned(&controller),
            own_events: self.own_events.get_or_create_owned(&controller),
            follow_ups: self.follow_ups.get_or_create_owned(&controller),
            follow_ups_delayed: self.follow_ups_delayed.get_or_create_owned(&controller),
            time: self.time.get_or_create_owned(&controller),
            active: self.active.get_or_create_owned(&controller),
            adds: self.adds.get_or_create_owned(&queue),
            retries: self.retries.get_or_create_owned(&queue),
            queued: self.queued.get_or_create_owned(&queue),
            worked: self.worked.get_or_create_owned(&queue),
        }
    }
}

/// The metrics of one controller. Counting takes no lock.
pub(in crate::manager) struct MeteredController {
    results: [(&'static str, Counter); 4],
    errors: Counter,
    terminal_errors: Counter,
    panics: Counter,
    timeouts: Counter,
    waits: Counter,
    overdue: Counter,
    own_events: Counter,
    follow_ups: Counter,
    follow_ups_delayed: Counter,
    time: Histogram,
    active: Gauge,
    adds: Counter,
    retries: Counter,
    queued: Histogram,
    worked: Histogram,
}

impl QueueMetrics for MeteredController {
    fn added(&self) {
        self.adds.inc();
    }

    fn waited(&self, duration: Duration) {
        self.queued.observe(duration.as_secs_f64());
    }

    fn worked(&self, duration: Duration) {
        self.worked.observe(duration.as_secs_f64());
    }

    fn retried(&self) {
        self.retries.inc();
    }
}

impl ControllerMetrics for MeteredController {
    fn started(&self) {
        self.active.inc();
    }

    fn finished(&self, outcome: Option<Outcome>, took: Duration) {
        self.active.dec();
        let Some(outcome) = outcome else { return };
        self.time.observe(took.as_secs_f64());
        let label = outcome.label();
        if let Some((_, counter)) = self.results.iter().find(|(result, _)| *result == label) {
            counter.inc();
        }
        match outcome {
            Outcome::Success | Outcome::Requeue | Outcome::RequeueAfter => return,
            Outcome::Error => {}
            Outcome::TerminalError => {
                self.terminal_errors.inc();
            }
            Outcome::Panic => {
                self.panics.inc();
            }
            Outcome::Timeout => {
                self.timeouts.inc();
            }
        }
        self.errors.inc();
    }

    fn write_wait_started(&self) {
        self.waits.inc();
    }

    fn write_wait_timed_out(&self) {
        self.overdue.inc();
    }

    fn own_event_ignored(&self) {
        self.own_events.inc();
    }

    fn follow_up_scheduled(&self) {
        self.follow_ups.inc();
    }

    fn follow_up_delayed(&self) {
        self.follow_ups_delayed.inc();
    }
}
