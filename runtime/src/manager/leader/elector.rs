//! The loop of a candidate: acquire, hold, release.

use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use rand::{RngExt as _, rngs::StdRng};
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout};
use tracing::{debug, info, warn};

use super::{LeaseLock, Timing, election::Election, timing::JITTER_FACTOR};
use crate::client::Fence;

/// A candidate for one lease.
pub(crate) struct Elector {
    lock: LeaseLock,
    election: Election,
    timing: Timing,
    /// Open while this candidate leads.
    fence: Fence,
    jitter: StdRng,
    /// Whether a write of this candidate may stand in the lease.
    may_hold: bool,
    complaint: Option<String>,
}

/// Why a leader leads no longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LostLease {
    /// Another candidate holds the lease.
    #[error("lease {lease} was taken by {holder}")]
    Taken {
        /// `namespace/name` of the lease.
        lease: String,
        /// Who holds it.
        holder: String,
    },
    /// The lease could not be renewed in time.
    #[error("lease {lease} could not be renewed for {deadline:?}: {reason}")]
    NotRenewed {
        /// `namespace/name` of the lease.
        lease: String,
        /// The renew deadline.
        deadline: Duration,
        /// What the last try said.
        reason: String,
    },
}

/// What one try came to.
#[derive(Debug, PartialEq, Eq)]
enum Try {
    /// This candidate holds the lease, as of the moment at which its write was sent.
    Held(Instant),
    HeldBy(String),
}

#[derive(Debug)]
enum TryError {
    Request(kube::Error),
    TimedOut(Duration),
}

impl fmt::Display for TryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(kube::Error::Api(status)) if status.is_forbidden() => write!(
                f,
                "{} (the operator may not use leases here: `kubewright generate`, then apply manifests/rbac)",
                status.message
            ),
            Self::Request(kube::Error::Api(status)) if status.code == 401 => write!(
                f,
                "{} (the API server does not accept the operator's credentials: renew the token or the certificate)",
                status.message
            ),
            Self::Request(kube::Error::Api(status)) => {
                write!(f, "{} ({})", status.message.trim(), status.code)
            }
            Self::Request(kube::Error::SerdeError(error)) => write!(
                f,
                "the answer is no Lease, as if something else than an API server had answered: {error}"
            ),
            Self::Request(error) => error.fmt(f),
            Self::TimedOut(after) => write!(f, "no answer of the API server for {after:?}"),
        }
    }
}

impl Elector {
    /// Closes the fence, until it leads.
    pub(crate) fn new(lock: LeaseLock, identity: String, timing: Timing, fence: Fence) -> Self {
        fence.close();
        Self {
            fence,
            jitter: rand::make_rng(),
            election: Election::new(identity, &timing),
            lock,
            timing,
            may_hold: false,
            complaint: None,
        }
    }

    /// Returns when the lease is held, with the moment as of which it is. Errors are logged and tried again.
    pub(crate) async fn acquire(&mut self) -> Instant {
        info!(lease = self.lock.name(), "waiting for the leader lease");
        loop {
            match self.attempt().await {
                Ok(Try::Held(since)) => {
                    info!(lease = self.lock.name(), "leading");
                    return since;
                }
                Ok(Try::HeldBy(holder)) => {
                    self.complain(format!("the lease is held by {holder}"), false);
                }
                Err(error) => self.complain(error.to_string(), true),
            }
            let jitter = 1.0 + JITTER_FACTOR * self.jitter.random::<f64>();
            sleep(self.timing.retry_period.mul_f64(jitter)).await;
        }
    }

    /// Renews the lease that is held as of `renewed`; returns when it is lost.
    ///
    /// client-go counts the renew deadline from the answer of the last renewal plus a retry period; this one counts from
    /// the moment at which the request was sent, which keeps the distance to the lease's end when answers are slow.
    pub(crate) async fn hold(&mut self, mut renewed: Instant) -> LostLease {
        let mut next = renewed + self.timing.retry_period;
        let mut reason = "no try came to an end".to_owned();
        loop {
            let deadline = renewed + self.timing.renew_deadline;
            if next >= deadline {
                sleep_until(deadline).await;
                let (lease, deadline) = (self.lock.name(), self.timing.renew_deadline);
                return LostLease::NotRenewed {
                    lease,
                    deadline,
                    reason,
                };
            }
            sleep_until(next).await;
            let left = deadline.saturating_duration_since(Instant::now());
            match timeout(left, self.attempt()).await {
                Ok(Ok(Try::Held(since))) => {
                    renewed = since;
                    next = since + self.timing.retry_period;
                    continue;
                }
                Ok(Ok(Try::HeldBy(holder))) => {
                    return LostLease::Taken {
                        lease: self.lock.name(),
                        holder,
                    };
                }
                Ok(Err(error)) => reason = error.to_string(),
                Err(_) => reason = TryError::TimedOut(left).to_string(),
            }
            warn!(
                lease = self.lock.name(),
                reason, "the leader lease was not renewed, trying again"
            );
            next = Instant::now() + self.timing.retry_period;
        }
    }

    /// Gives the lease back, if it may be this candidate's, so that the next one need not wait for its end.
    ///
    /// If a write was given up, the next leader is kept waiting until it can have arrived.
    pub(crate) async fn release(&mut self) {
        self.fence.close();
        if !self.may_hold {
            return;
        }
        if let Some(abandoned) = self.fence.last_abandoned() {
            sleep_until(abandoned + self.timing.margin()).await;
        }
        match timeout(self.timing.renew_deadline, self.try_release()).await {
            Ok(Ok(())) => info!(lease = self.lock.name(), "released the leader lease"),
            Ok(Err(error)) => {
                let error = TryError::Request(error);
                warn!(lease = self.lock.name(), %error, "the leader lease was not released and must expire");
            }
            Err(_) => warn!(
                lease = self.lock.name(),
                "the leader lease was not released in time and must expire"
            ),
        }
    }

    async fn try_release(&mut self) -> Result<(), kube::Error> {
        loop {
            let Some(spec) = self.lock.read().await? else {
                return Ok(());
            };
            self.election.observe(spec, Instant::now());
            if !self.election.leads() {
                return Ok(());
            }
            match self.lock.write(self.election.released(Timestamp::now())).await {
                Err(kube::Error::Api(status)) if status.is_conflict() => {
                    sleep(Duration::from_millis(10)).await;
                }
                Err(error) => return Err(error),
                Ok(spec) => {
                    self.election.wrote(spec, Instant::now());
                    self.may_hold = false;
                    return Ok(());
                }
            }
        }
    }

    /// One try, given half of the renew deadline, so that a connection that hangs leaves time for another.
    async fn attempt(&mut self) -> Result<Try, TryError> {
        let limit = self.timing.renew_deadline / 2;
        match timeout(limit, self.try_acquire_or_renew()).await {
            Ok(result) => result.map_err(TryError::Request),
            Err(_) => Err(TryError::TimedOut(limit)),
        }
    }

    async fn try_acquire_or_renew(&mut self) -> Result<Try, kube::Error> {
        if self.lock.is_known()
            && let Some(spec) = self.election.renewal(Instant::now(), Timestamp::now())
        {
            match self.write(spec).await {
                Ok(held) => return Ok(held),
                Err(error) => debug!(%error, "renewing without reading first failed, reading the lease"),
            }
        }
        if let Some(spec) = self.lock.read().await? {
            self.election.observe(spec, Instant::now());
        }
        if let Some(spec) = self.election.claim(Instant::now(), Timestamp::now()) {
            return self.write(spec).await;
        }
        self.may_hold = false;
        self.fence.close();
        Ok(Try::HeldBy(self.election.holder().unwrap_or_default().to_owned()))
    }

    async fn write(&mut self, spec: LeaseSpec) -> Result<Try, kube::Error> {
        let sent = Instant::now();
        self.may_hold = true;
        let spec = self.lock.write(spec).await?;
        self.election.wrote(spec, sent);
        let deadline = self.timing.renew_deadline;
        self.fence
            .renewed(sent, deadline, deadline + self.timing.margin());
        Ok(Try::Held(sent))
    }

    /// Says what keeps this candidate waiting when that changes, not at every try.
    fn complain(&mut self, complaint: String, is_error: bool) {
        if self.complaint.as_ref() == Some(&complaint) {
            return;
        }
        if is_error {
            warn!(
                lease = self.lock.name(),
                reason = complaint,
                "cannot acquire the leader lease yet"
            );
        } else {
            info!(lease = self.lock.name(), reason = complaint, "standing by");
        }
        self.complaint = Some(complaint);
    }
}

#[cfg(test)]
#[path = "elector_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "turmoil_tests.rs"]
mod turmoil_tests;
