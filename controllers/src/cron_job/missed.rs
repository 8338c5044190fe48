//! Which scheduled time is due, and when the next one is.

use std::time::Duration;

use k8s_openapi::{
    api::batch::v1::CronJob,
    jiff::{SignedDuration, Timestamp},
};

use super::schedule::Schedule;

/// Added to the time of the next look, for clocks that differ a little.
const NEXT_SCHEDULE_DELTA: Duration = Duration::from_millis(100);
/// From so many missed times on, something is wrong.
const MANY_MISSED: i64 = 100;

/// How many scheduled times have passed without a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    None,
    Few,
    Many,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// The time from which on times count: that of the last Job, of the creation, or of the starting deadline.
    earliest: Timestamp,
    /// The latest time that has come, if any has.
    pub(super) latest: Option<Timestamp>,
    pub(super) missed: Missed,
}

/// The schedule is grammatical, but its times do not come, such as 31 February.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("time difference between two schedules is less than 1 second")]
pub(super) struct NoTimes;

/// Returns what is due now. With `deadline`, times before the starting deadline do not count.
pub(super) fn due(
    cron_job: &CronJob,
    schedule: &Schedule,
    now: Timestamp,
    deadline: bool,
) -> Result<Due, NoTimes> {
    let created = cron_job.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let last = cron_job
        .status
        .as_ref()
        .and_then(|status| status.last_schedule_time.as_ref());
    let mut earliest = last
        .map(|time| time.0)
        .or(created)
        .unwrap_or(Timestamp::UNIX_EPOCH);
    let seconds = cron_job.spec.starting_deadline_seconds;
    if let Some(seconds) = seconds.filter(|_| deadline) {
        let limit = now
            .checked_sub(SignedDuration::from_secs(seconds))
            .unwrap_or(Timestamp::MIN);
        earliest = earliest.max(limit);
    }
    let none = |missed| Due {
        earliest,
        latest: None,
        missed,
    };
    let Some(first) = schedule.next(earliest) else {
        return Err(NoTimes);
    };
    if now < first {
        return Ok(none(Missed::None));
    }
    let Some(second) = schedule.next(first) else {
        return Ok(Due {
            latest: Some(first),
            ..none(Missed::None)
        });
    };
    if now < second {
        return Ok(Due {
            latest: Some(first),
            ..none(Missed::None)
        });
    }
    let period = second.duration_since(first).as_secs();
    if period < 1 {
        return Err(NoTimes);
    }
    // An estimate: periods may differ. The search for the latest time begins two of them before it.
    let count = now.duration_since(first).as_secs() / period + 1;
    let back = SignedDuration::from_secs((count - 2).saturating_mul(period));
    let mut latest = None;
    let mut time = schedule.next(first.checked_add(back).unwrap_or(first));
    while let Some(next) = time.filter(|next| *next <= now) {
        latest = Some(next);
        time = schedule.next(next);
    }
    let missed = if count > MANY_MISSED {
        Missed::Many
    } else {
        Missed::Few
    };
    Ok(Due {
        latest,
        ..none(missed)
    })
}

/// Returns the time until the next scheduled time. None if there is none.
pub(super) fn until_next(cron_job: &CronJob, schedule: &Schedule, now: Timestamp) -> Option<Duration> {
    let from = match due(cron_job, schedule, now, false) {
        Ok(Due {
            latest: Some(latest), ..
        }) => latest,
        Ok(Due {
            earliest,
            missed: Missed::None,
            ..
        }) => earliest,
        Ok(_) | Err(NoTimes) => now,
    };
    let wait = schedule.next(from)?.duration_since(now);
    Some(Duration::try_from(wait).unwrap_or_default() + NEXT_SCHEDULE_DELTA)
}

#[cfg(test)]
#[path = "missed_tests.rs"]
mod tests;
