//! client-go's guarantees of the cache, through the public interface: one module per group of upstream's tests, each test naming the one
//! that pins the same behaviour there.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared by two test programs")]
mod support;

mod filtered;

mod handlers;
mod informer;
mod lifecycle;
mod mirror;
mod model;
mod replace_events;
mod resync;
mod slow_handlers;
mod watch_disruption;
