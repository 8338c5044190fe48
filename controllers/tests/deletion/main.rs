//! The namespace controller and the garbage collector, with exactly their permissions, where the API server's own housekeeping is off.
#![cfg(all(feature = "core", feature = "gc"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod namespaces;
mod owners;
mod pods;
mod real;
mod scenario;
