//! The work queue: which keys want attention, each once, when, and by one worker at a time.
//!
//! Read [`WorkQueue`] first, for the contract; `state` has the rules without the waiting, [`RateLimiter`] says how long
//! a key waits after a failure, [`QueueMetrics`] is told of what happens.

mod limiter;
mod metrics;
mod queue;
mod state;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub use limiter::{ItemExponential, MaxOf, RateLimiter, TokenBucket, default_limiter};
pub use metrics::{NoQueueMetrics, QueueMetrics};
pub use queue::WorkQueue;
pub use state::QueueStats;

/// What a queue can hold.
pub trait Key: std::hash::Hash + Eq + Clone + Send + 'static {}

impl<K: std::hash::Hash + Eq + Clone + Send + 'static> Key for K {}
