//! The manager: one process, many controllers.
//!
//! Read [`Manager`](crate::Manager) first: it registers, then prints the manifests or runs. `operator` starts and stops a running operator, `lifecycle`,
//! `runnable_group` and `task_group` own its tasks, `servers` serves health checks and metrics. The other parts are independent of each
//! other: `args` and `command_line` (flags), `kubeconfig` (client configuration), `leader` (leader election), `metrics`, `health`,
//! `debug_page`, `manifests`.
//!
//! # Metrics
//!
//! `/metrics` is in OpenMetrics format. Names are those of controller-runtime and client-go where they have one, so that dashboards and alerts
//! work.
//!
//! | name | labels | meaning |
//! |---|---|---|
//! | `controller_runtime_reconcile_total` | controller, result | reconciles; result: success, error, requeue, requeue_after |
//! | `controller_runtime_reconcile_errors_total` | controller | failed reconciles, including terminal errors, panics and timeouts |
//! | `controller_runtime_terminal_reconcile_errors_total` | controller | failed reconciles that are not retried |
//! | `controller_runtime_reconcile_panics_total` | controller | reconciles that panicked |
//! | `controller_runtime_reconcile_timeouts_total` | controller | reconciles that exceeded `reconcile_timeout` |
//! | `controller_runtime_reconcile_time_seconds` | controller | histogram of the duration of reconciles |
//! | `controller_runtime_max_concurrent_reconciles` | controller | workers |
//! | `controller_runtime_active_workers` | controller | workers that are reconciling |
//! | `workqueue_depth` | name, controller, priority | queued keys; keys of the initial list and of resyncs have priority -100 |
//! | `kubewright_controller_write_waits_total`, `…_write_waits_overdue_total` | controller | keys that waited until the cache showed their own writes, and waits that timed out |
//! | `kubewright_controller_own_events_total` | controller | events of own writes that did not enqueue the key |
//! | `kubewright_controller_follow_ups_total`, `…_follow_ups_delayed_total` | controller | extra calls after reconciles that changed something ([`OwnEvents`](crate::controller::OwnEvents)), and those that were delayed after 20 in a row |
//! | `workqueue_adds_total`, `workqueue_retries_total` | name, controller | keys added to the queue, and added again after an error or a delay |
//! | `workqueue_queue_duration_seconds`, `workqueue_work_duration_seconds` | name, controller | histograms of the time in the queue, and of the time in processing |
//! | `workqueue_unfinished_work_seconds`, `workqueue_longest_running_processor_seconds` | name, controller | time in processing of the current keys: their sum, and the longest |
//! | `rest_client_requests_total` | code, method, host | requests by status code; `<error>` without a response |
//! | `kubewright_client_applies_skipped_total` | | applies that were not sent, because the cache showed that they would change nothing |
//! | `leader_election_master_status` | name | 1 while this replica leads |
//! | `kubewright_informer_objects`, `…_bytes`, `…_kept_bytes` | informer | objects in the store, bytes of their JSON, bytes as stored |
//! | `kubewright_informer_queued`, `…_pending` | informer | entries of the delta queue, notifications that handlers have not processed |
//! | `kubewright_informer_lists_total`, `…_watches_total`, `…_watch_events_total`, `…_failures_total` | informer | successful lists, accepted watches, watch events, failed lists and watches |
//! | `kubewright_informer_decode_errors_total`, `…_index_errors_total` | informer | objects that failed to decode, index values of the wrong type |
//! | `kubewright_informer_version_errors_total` | informer | resource versions that decreased or were not numbers |
//! | `kubewright_informer_batches_total`, `…_processing_seconds_total`, `…_decodes_total` | informer | batches written to the store, the time that took, decoded objects |
//! | `kubewright_informer_inconsistencies_total` | informer | objects that differed in a consistency check |
//! | `kubewright_events_dropped_total` | | events dropped because the queue was full |
//! | `kubewright_events_suppressed_total` | | events suppressed by the rate limit of their object |
//!
//! The labels of an informer are group, version, kind, namespaces (empty: those of the factory, `*`: all), selector and keep (the storage
//! mode), so that no two informers share a series.

mod address;
mod args;
mod command_line;

mod debug_page;
mod did_you_mean;
pub(crate) mod error;
mod health;
mod identity;
mod kubeconfig;
mod leader;
mod lifecycle;
mod logging;
#[expect(
    clippy::module_inception,
    reason = "the manager's main type has the folder's name, as in the other parts"
)]
pub(crate) mod manager;
mod manifests;
mod metrics;
mod operator;
mod runnable_group;
mod server;
mod servers;
mod signals;
mod task_group;

pub(crate) use error::{Error, Result};
