//! Starts Jobs on a schedule.
//!
//! Read `schedule` (expressions and their times), `missed` (the time that is due), `status` (which Jobs run), `plan` (whether to start one),
//! `job` (the Job of a time), `seen_schedules` (a change of the schedule starts no Job), `controller`.

mod controller;
mod job;
mod missed;
mod plan;
mod schedule;
mod seen_schedules;
mod status;

pub(crate) use controller::register;
