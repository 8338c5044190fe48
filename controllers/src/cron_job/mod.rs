//! Starts Jobs on a schedule.
//!
//! Read `schedule` (expressions and their times), `missed` (the time that is due), `status` (which Jobs run), `plan` (whether to start one),
//! `job` (the Job of a time), `controller`.

mod controller;
mod job;
mod missed;
mod plan;
mod schedule;
mod status;

pub(crate) use controller::register;
