//! Whether a Job is to be started now.

use std::time::Duration;

use k8s_openapi::{
    api::{batch::v1::CronJob, core::v1::ObjectReference},
    jiff::{SignedDuration, Timestamp, tz::TimeZone},
};
use kubewright::events::EventType;

use super::{
    job::job_name,
    missed::{Missed, due, until_next},
    schedule::Schedule,
    status::active,
};

/// An event about the CronJob.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Note {
    pub(super) kind: EventType,
    pub(super) reason: &'static str,
    pub(super) text: String,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub(super) enum Decision {
    /// Nothing, until the CronJob changes.
    AwaitChange,
    /// Nothing, until the next scheduled time.
    Wait(Duration),
    /// Delete these Jobs, and start one, whose annotation has the time in the zone.
    Start {
        time: Timestamp,
        replaced: Vec<ObjectReference>,
        zone: TimeZone,
        schedule: Schedule,
    },
}

impl Note {
    pub(super) fn normal(reason: &'static str, text: impl Into<String>) -> Self {
        Self {
            kind: EventType::Normal,
            reason,
            text: text.into(),
        }
    }

    pub(super) fn warning(reason: &'static str, text: impl Into<String>) -> Self {
        Self {
            kind: EventType::Warning,
            reason,
            text: text.into(),
        }
    }
}

/// Decides. The status names the Jobs that run. A schedule without a time zone is in the local one.
pub(super) fn decide(
    cron_job: &CronJob,
    now: Timestamp,
    local: &TimeZone,
    notes: &mut Vec<Note>,
) -> Decision {
    let spec = &cron_job.spec;
    if cron_job.metadata.deletion_timestamp.is_some() {
        return Decision::AwaitChange;
    }
    let zone = match spec.time_zone.as_deref().map(TimeZone::get).transpose() {
        Ok(zone) => zone,
        Err(error) => {
            let name = spec.time_zone.as_deref().unwrap_or_default();
            notes.push(Note::warning(
                "UnknownTimeZone",
                format!("invalid timeZone: {name:?}: {error}"),
            ));
            return Decision::AwaitChange;
        }
    };
    if spec.suspend == Some(true) {
        return Decision::AwaitChange;
    }
    if spec.schedule.contains("TZ") {
        let text = format!(
            "CRON_TZ or TZ used in schedule {:?} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
            spec.schedule
        );
        notes.push(Note::warning("UnsupportedSchedule", text));
    }
    let schedule = match Schedule::parse(&spec.schedule, zone.as_ref().unwrap_or(local)) {
        Ok(schedule) => schedule,
        Err(error) => {
            let text = format!("unparseable schedule: {:?} : {error}", spec.schedule);
            notes.push(Note::warning("UnparseableSchedule", text));
            return Decision::AwaitChange;
        }
    };
    let found = match due(cron_job, &schedule, now, true) {
        Ok(found) => found,
        Err(error) => {
            let text = format!("invalid schedule: {} : {error}", spec.schedule);
            notes.push(Note::warning("InvalidSchedule", text));
            return Decision::AwaitChange;
        }
    };
    let wait = until_next(cron_job, &schedule, now).map_or(Decision::AwaitChange, Decision::Wait);
    let Some(time) = found.latest else {
        return wait;
    };
    if found.missed == Missed::Many {
        let text =
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
        notes.push(Note::warning("TooManyMissedTimes", text));
    }
    let deadline = spec.starting_deadline_seconds.map(SignedDuration::from_secs);
    if deadline.is_some_and(|deadline| time.checked_add(deadline).is_ok_and(|latest| latest < now)) {
        let text = format!(
            "Missed scheduled time to start a job: {}",
            time.strftime("%a, %d %b %Y %H:%M:%S +0000")
        );
        notes.push(Note::warning("MissSchedule", text));
        return wait;
    }
    let last = cron_job
        .status
        .as_ref()
        .and_then(|status| status.last_schedule_time.as_ref());
    let name = job_name(cron_job, time);
    let is_started = active(cron_job)
        .iter()
        .any(|job| job.name.as_deref() == Some(&name));
    if is_started || last.is_some_and(|last| last.0 == time) {
        return wait;
    }
    let mut replaced = Vec::new();
    match spec.concurrency_policy.as_deref() {
        Some("Forbid") if !active(cron_job).is_empty() => {
            let text = "Not starting job because prior execution is running and concurrency policy is Forbid";
            notes.push(Note::normal("JobAlreadyActive", text));
            return wait;
        }
        Some("Replace") => replaced = active(cron_job).to_vec(),
        _ => {}
    }
    Decision::Start {
        time,
        replaced,
        zone: zone.unwrap_or(TimeZone::UTC),
        schedule,
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
