//! The work queue: which keys want attention, each once, when, and by one worker at a time.
//!
//! Read [`WorkQueue`] first, for the contract. `state` has the rules, on what `slots` (what is known of a key, in the
//! places of `keys`), `ready` (who comes next) and `due` (when, on a `run` and a `heap`) keep; `inbox` has what nobody looked at yet;
//! `waiting` and `waiters` let workers wait. [`RateLimiter`] says how long a key waits after a
//! failure, [`QueueMetrics`] is told of what happens.

mod clock;
mod due;
mod heap;
mod inbox;
mod keys;
mod limiter;
mod limits;
mod metrics;
mod priority;
mod queue;
mod ready;
mod run;
mod slots;
mod state;
mod stats;
mod waiters;
mod waiting;

#[cfg(test)]
mod tests;

pub use limiter::{
    ItemExponential, ItemFastSlow, Jittered, MaxOf, MaxWait, RateLimiter, TokenBucket, default_limiter,
};
pub use metrics::{NoQueueMetrics, QueueMetrics};
pub use priority::Priority;
pub use queue::WorkQueue;
pub use stats::{Depths, QueueStats};

/// What a queue can hold.
pub trait Key: std::hash::Hash + Eq + Clone + Send + 'static {}

impl<K: std::hash::Hash + Eq + Clone + Send + 'static> Key for K {}
