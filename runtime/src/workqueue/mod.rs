//! The work queue of a controller: deduplicated keys, delays, requeue with backoff, priorities; each key is processed by one worker at a time.
//!
//! Read [`WorkQueue`] first, for the contract. `queue_state` has the rules. It uses `key_states` (the state of each key, in a `key_table`),
//! `ready_queue` (which key is next) and `due_times` (delayed keys, in a `sorted_run` and a `due_heap`); `get_future` and `waiters` are for
//! waiting workers. A [`RateLimiter`] (`limiter`) returns the backoff of a failed key; [`QueueMetrics`] receives the queue's events.
//!
//! A buffer before the queue's lock, and prefetching of batches, gained nothing that could be measured, and were removed: see
//! benches/README.md.

mod due_heap;
mod due_times;
mod get_future;
mod key_states;
mod key_table;
mod limiter;
pub(crate) mod metrics;
mod priority;
mod queue;
mod queue_clock;
mod queue_state;
mod ready_queue;
mod sorted_run;
mod stats;
mod waiters;

#[cfg(test)]
mod tests;

pub use limiter::{
    ItemExponential, ItemFastSlow, Jittered, MaxOf, RateLimiter, TokenBucket, default_limiter,
};
pub(crate) use metrics::{NoQueueMetrics, QueueMetrics};
pub use priority::Priority;
pub use queue::WorkQueue;
pub(crate) use stats::QueueStats;

/// A key of a work queue.
pub trait Key: std::hash::Hash + Eq + Clone + Send + 'static {}

impl<K: std::hash::Hash + Eq + Clone + Send + 'static> Key for K {}
