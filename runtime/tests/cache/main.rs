//! client-go's guarantees of the cache, tested through the public interface. One module for each group of client-go's tests; each test
//! names the one that covers the same behaviour there.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared by two test programs")]
mod support;

mod backoff;
mod bad_responses;
mod convergence;
mod event_checker;
mod filtered;
mod freshness;
mod handlers;
mod informer;
mod lifecycle;
mod pending_notifications;
mod relist;
mod removal;
mod replace_events;
mod resource_version;
mod resync;
mod truncated_responses;
mod warnings;
mod watch_disruption;
mod watch_list;
