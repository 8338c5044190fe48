//! Who leads, decided from what was seen of the lease.

use jiff::Timestamp;
use k8s_openapi::{api::coordination::v1::LeaseSpec, apimachinery::pkg::apis::meta::v1::MicroTime};
use tokio::time::{Duration, Instant};

use super::Timing;

/// The lease as this candidate knows it.
pub(super) struct Election {
    identity: String,
    pub(super) lease_seconds: i32,
    /// A second of this candidate's clock, which tests make run faster or slower than others'.
    pub(super) second: Duration,
    observed: Option<Observed>,
}

struct Observed {
    spec: LeaseSpec,
    /// When the last change was seen here; what the record itself says of times is never compared with a clock.
    changed: Instant,
}

impl Election {
    pub(super) fn new(identity: String, timing: &Timing) -> Self {
        Self {
            identity,
            lease_seconds: i32::try_from(timing.lease_duration.as_secs()).unwrap_or(i32::MAX),
            second: Duration::from_secs(1),
            observed: None,
        }
    }

    /// Notes what the server holds. Only a change moves the observation time.
    pub(super) fn observe(&mut self, spec: LeaseSpec, now: Instant) {
        if self
            .observed
            .as_ref()
            .is_none_or(|observed| observed.spec != spec)
        {
            self.observed = Some(Observed { spec, changed: now });
        }
    }

    /// Notes what this candidate wrote, as of the moment at which the request was sent.
    pub(super) fn wrote(&mut self, spec: LeaseSpec, sent: Instant) {
        self.observed = Some(Observed { spec, changed: sent });
    }

    /// Who held the lease when it was last seen.
    pub(super) fn holder(&self) -> Option<&str> {
        let spec = &self.observed.as_ref()?.spec;
        spec.holder_identity
            .as_deref()
            .filter(|holder| !holder.is_empty())
    }

    pub(super) fn leads(&self) -> bool {
        self.holder() == Some(&self.identity)
    }

    /// Whether the lease's duration has not passed since its record changed.
    fn is_valid(&self, now: Instant) -> bool {
        self.observed.as_ref().is_some_and(|observed| {
            let seconds = observed.spec.lease_duration_seconds.unwrap_or(0);
            now < observed.changed + self.second * u32::try_from(seconds).unwrap_or(0)
        })
    }

    /// What to write to renew a lease that is held and valid, without asking first; none when one must ask.
    pub(super) fn renewal(&self, now: Instant, wall: Timestamp) -> Option<LeaseSpec> {
        (self.leads() && self.is_valid(now)).then(|| self.claimed(wall))
    }

    /// What to write over the lease that was just observed (or create where there is none); none while another holds it.
    pub(super) fn claim(&self, now: Instant, wall: Timestamp) -> Option<LeaseSpec> {
        let blocked = self.holder().is_some() && self.is_valid(now) && !self.leads();
        (!blocked).then(|| self.claimed(wall))
    }

    /// The lease in this candidate's hands. Taking it from somebody else is a transition, renewing is not.
    fn claimed(&self, wall: Timestamp) -> LeaseSpec {
        let now = microseconds(wall);
        let old = self.observed.as_ref().map(|observed| observed.spec.clone());
        let transitions = old.as_ref().map_or(0, |old| old.lease_transitions.unwrap_or(0));
        let (acquire_time, lease_transitions) = match &old {
            Some(old) if self.leads() => (old.acquire_time.clone(), transitions),
            Some(_) => (Some(now.clone()), transitions.saturating_add(1)),
            None => (Some(now.clone()), transitions),
        };
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(self.lease_seconds),
            acquire_time,
            renew_time: Some(now),
            lease_transitions: Some(lease_transitions),
            ..old.unwrap_or_default()
        }
    }

    /// The lease in nobody's hands, for one second: the next candidate need not wait.
    pub(super) fn released(&self, wall: Timestamp) -> LeaseSpec {
        let now = microseconds(wall);
        LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            ..self
                .observed
                .as_ref()
                .map(|observed| observed.spec.clone())
                .unwrap_or_default()
        }
    }
}

/// The API server keeps microseconds; what it gives back must equal what was sent.
fn microseconds(wall: Timestamp) -> MicroTime {
    MicroTime(Timestamp::from_microsecond(wall.as_microsecond()).unwrap_or(wall))
}
