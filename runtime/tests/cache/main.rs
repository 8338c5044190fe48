//! client-go's guarantees of the cache, through the public interface: one module per group of upstream's tests, each test naming the one
//! that pins the same behaviour there.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared by two test programs")]
mod support;

mod bad_responses;
mod filtered;
mod handlers;
mod hints;
mod informer;
mod lifecycle;
mod mirror;
mod model;
mod quorum;
mod relist;
mod replace_events;
mod resync;
mod retries;
mod slow_handlers;
mod torn;
mod versions;
mod watch_disruption;
mod watch_list;
