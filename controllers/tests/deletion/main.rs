//! The namespace controller and the garbage collector, with exactly their permissions, where the API server's own housekeeping is off. What does
//! not name a controller is one case for both: the embedded API server's housekeeping must do the same.
#![cfg(all(feature = "core", feature = "gc"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

/// Generates two tests for each function that takes a [`Collector`](scenario::Collector).
macro_rules! for_both_collectors {
    ($($test:ident),+ $(,)?) => {
        mod controllers {
            $(#[tokio::test] async fn $test() { super::$test($crate::scenario::Collector::Controllers).await })+
        }
        mod api_server {
            $(#[tokio::test] async fn $test() { super::$test($crate::scenario::Collector::ApiServer).await })+
        }
    };
}

mod bad_input;
mod namespaces;
mod owners;
mod pods;
mod real;
mod scenario;
