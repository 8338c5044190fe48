//! kubebuilder's CronJob tutorial on kubewright: a CronJob creates a Job at each time of a schedule.
//!
//! [`api`] has the kind; [`schedule`] reads cron's syntax; [`plan`] decides, without I/O, what a CronJob needs; [`controller`] does it;
//! [`webhook`] checks and completes it before it is stored. The book in `docs/` explains each step.

// ANCHOR: modules
pub mod api;
pub mod controller;
pub mod plan;
pub mod schedule;
pub mod webhook;
// ANCHOR_END: modules
