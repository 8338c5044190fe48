//! The work queue: which keys want attention, each once, when, and by one worker at a time.

mod limiter;
mod metrics;

pub use limiter::{ItemExponential, MaxOf, RateLimiter, TokenBucket, default_limiter};
pub use metrics::QueueMetrics;
