//! The controllers of Jobs, of CronJobs and of finished Jobs, with exactly their permissions.
#![cfg(feature = "workloads")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod cron_jobs;
mod running;
mod scenario;
mod ttl;
