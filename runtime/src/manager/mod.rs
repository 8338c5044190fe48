//! The manager: one process, many controllers.
//!
//! Read [`Manager`] first: it registers and then prints manifests or runs. `operator` is the life of a running one, `work`,
//! `stages` and `group` the tasks that it owns, `servers` what it answers. Beside them stand the parts that know nothing of each
//! other: `command_line` (whose flags are whose), `connect` (finding the API server), `leader` (the lease), `metrics`,
//! `health`, `manifests`.
//!
//! # Metrics
//!
//! `/metrics` speaks OpenMetrics, with the names of controller-runtime and client-go where they have one, so that dashboards
//! and alerts for them work.
//!
//! | name | labels | what |
//! |---|---|---|
//! | `controller_runtime_reconcile_total` | controller, result | reconciles; result: success, error, requeue, requeue_after |
//! | `controller_runtime_reconcile_errors_total` | controller | failed ones, terminal ones and panics among them |
//! | `controller_runtime_terminal_reconcile_errors_total` | controller | failed ones that are not retried |
//! | `controller_runtime_reconcile_panics_total` | controller | panics |
//! | `controller_runtime_reconcile_timeouts_total` | controller | reconciles that took longer than `reconcile_timeout` |
//! | `controller_runtime_reconcile_time_seconds` | controller | histogram |
//! | `controller_runtime_max_concurrent_reconciles` | controller | workers |
//! | `controller_runtime_active_workers` | controller | workers that reconcile now |
//! | `workqueue_depth` | name, controller, priority | keys that wait; those of the initial list and of resyncs have -100 |
//! | `kubewright_controller_write_waits_total`, `…_write_waits_overdue_total` | controller | keys that waited until the cache showed what they wrote, and in vain |
//! | `kubewright_controller_own_events_total` | controller | changes that did not wake the key that made them |
//! | `workqueue_adds_total`, `workqueue_retries_total` | name, controller | keys added, and added again after a failure or a time |
//! | `workqueue_queue_duration_seconds`, `workqueue_work_duration_seconds` | name, controller | histograms |
//! | `workqueue_unfinished_work_seconds`, `workqueue_longest_running_processor_seconds` | name, controller | keys in work now |
//! | `rest_client_requests_total` | code, method, host | requests by the code of their answer, `<error>` where there was none |
//! | `kubewright_client_applies_skipped_total` | | applies that were not sent, because the cache showed that they would change nothing |
//! | `leader_election_master_status` | name | 1 while this replica leads |
//! | `kubewright_informer_objects`, `…_bytes`, `…_kept_bytes` | informer | what the store holds, as JSON and as it is kept |
//! | `kubewright_informer_queued`, `…_pending` | informer | entries of the queue before the store, changes that handlers were not yet told of |
//! | `kubewright_informer_lists_total`, `…_watches_total`, `…_watch_events_total`, `…_failures_total` | informer | list and watch |
//! | `kubewright_informer_decode_errors_total`, `…_index_errors_total` | informer | objects and values of another shape |
//! | `kubewright_informer_version_errors_total` | informer | resource versions that went backwards or were no number |
//! | `kubewright_informer_batches_total`, `…_processing_seconds_total`, `…_decodes_total` | informer | what went into the store and how long that took, what was decoded |
//! | `kubewright_informer_inconsistencies_total` | informer | objects that differed in a check of consistency |
//! | `kubewright_events_dropped_total` | | events that the queue did not take |
//! | `kubewright_events_suppressed_total` | | events left out because there were too many about their objects |
//!
//! The labels of an informer are group, version, kind, namespaces (empty: those of the factory, `*`: all), selector and keep (what is kept
//! of each object), so that no two informers have the same ones.

mod address;
mod args;
mod command_line;
mod connect;
mod debug_page;
mod error;
mod health;
mod identity;
mod leader;
mod lifecycle;
mod logging;
#[expect(
    clippy::module_inception,
    reason = "the manager's main type has the folder's name, as in the other parts"
)]
mod manager;
mod manifests;
mod metrics;
mod operator;
mod runnable_group;
mod server;
mod servers;
mod signals;
mod suggest;
mod task_group;

pub use error::{ConfigError, DefinitionError, Error, IndexError, LostLease, ManifestError, Result};
pub use manager::Manager;
