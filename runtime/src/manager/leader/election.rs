//! The decision of a leader election, from the observed lease, without I/O.

use jiff::Timestamp;
use k8s_openapi::{api::coordination::v1::LeaseSpec, apimachinery::pkg::apis::meta::v1::MicroTime};
use tokio::time::{Duration, Instant};

use super::ElectionTiming;

/// The election as one candidate observes it.
pub(super) struct Election {
    identity: String,
    pub(super) lease_seconds: i32,
    /// A second on this candidate's clock; tests change it to simulate clock skew.
    pub(super) second: Duration,
    observed: Option<ObservedLease>,
}

struct ObservedLease {
    spec: LeaseSpec,
    /// When the last change was observed. The record's own timestamps are never compared with a clock.
    changed_at: Instant,
}

impl Election {
    pub(super) fn new(identity: String, timing: &ElectionTiming) -> Self {
        Self {
            identity,
            lease_seconds: i32::try_from(timing.lease_duration.as_secs()).unwrap_or(i32::MAX),
            second: Duration::from_secs(1),
            observed: None,
        }
    }

    /// Records the lease as read from the API server. The observation time changes only if the record did.
    pub(super) fn observe(&mut self, spec: LeaseSpec, now: Instant) {
        if self
            .observed
            .as_ref()
            .is_none_or(|observed| observed.spec != spec)
        {
            self.observed = Some(ObservedLease {
                spec,
                changed_at: now,
            });
        }
    }

    /// Records the lease that this candidate wrote, observed at the time when the request was sent.
    pub(super) fn wrote(&mut self, spec: LeaseSpec, sent: Instant) {
        self.observed = Some(ObservedLease {
            spec,
            changed_at: sent,
        });
    }

    /// Returns the last observed holder.
    pub(super) fn holder(&self) -> Option<&str> {
        let spec = &self.observed.as_ref()?.spec;
        spec.holder_identity
            .as_deref()
            .filter(|holder| !holder.is_empty())
    }

    pub(super) fn leads(&self) -> bool {
        self.holder() == Some(&self.identity)
    }

    /// Returns whether the observed lease has not expired.
    fn is_valid(&self, now: Instant) -> bool {
        self.observed.as_ref().is_some_and(|observed| {
            let seconds = observed.spec.lease_duration_seconds.unwrap_or(0);
            now < observed.changed_at + self.second * u32::try_from(seconds).unwrap_or(0)
        })
    }

    /// Returns the renewed lease if this candidate holds it and it is valid, so that it can be written without a read.
    pub(super) fn renewal(&self, now: Instant, wall: Timestamp) -> Option<LeaseSpec> {
        (self.leads() && self.is_valid(now)).then(|| self.held(wall))
    }

    /// Returns the lease to write over the one just observed, or to create; none while another candidate holds it.
    pub(super) fn claim(&self, now: Instant, wall: Timestamp) -> Option<LeaseSpec> {
        let blocked = self.holder().is_some() && self.is_valid(now) && !self.leads();
        (!blocked).then(|| self.held(wall))
    }

    /// Returns the lease held by this candidate. A change of the holder counts as a transition, a renewal does not.
    fn held(&self, wall: Timestamp) -> LeaseSpec {
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

    /// Returns the lease without a holder and with a duration of one second, so that the next candidate need not wait.
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

/// Truncates to microseconds, as the API server does, so that its response equals the request.
fn microseconds(wall: Timestamp) -> MicroTime {
    MicroTime(Timestamp::from_microsecond(wall.as_microsecond()).unwrap_or(wall))
}
