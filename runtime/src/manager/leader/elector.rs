//! The elector's loop: acquire the lease, renew it, release it.

use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use rand::{RngExt as _, rngs::StdRng};
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout};
use tracing::{debug, info, warn};

use super::{ElectionTiming, LeaseLock, election::Election, timing::JITTER_FACTOR};
use crate::client::Fence;

/// The pause before a release that had a conflict is retried.
const RELEASE_CONFLICT_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// A candidate for one lease.
pub(crate) struct Elector {
    lock: LeaseLock,
    election: Election,
    timing: ElectionTiming,
    /// Open while this candidate may write.
    fence: Fence,
    jitter: StdRng,
    /// Whether the Lease may name this candidate as its holder.
    may_be_holder: bool,
    wait_reason: Option<String>,
}

/// Why the leader lost the lease.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LostLease {
    /// Another candidate holds the lease.
    #[error("lost lease {lease}: {holder} holds it")]
    Taken {
        /// `namespace/name` of the lease.
        lease: String,
        /// The identity of the holder.
        holder: String,
    },
    /// The lease was not renewed within the renew deadline.
    #[error("lost lease {lease}: not renewed for {deadline:?}: {reason}")]
    NotRenewed {
        /// `namespace/name` of the lease.
        lease: String,
        /// The renew deadline.
        deadline: Duration,
        /// The error of the last attempt.
        reason: String,
    },
}

/// The outcome of an attempt to acquire or renew.
#[derive(Debug, PartialEq, Eq)]
enum AttemptOutcome {
    /// This candidate holds the lease, since it sent its write.
    Held(Instant),
    HeldBy(String),
}

#[derive(Debug)]
enum AttemptError {
    Request(kube::Error),
    TimedOut(Duration),
}

impl fmt::Display for AttemptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(kube::Error::Api(status)) if status.is_forbidden() => write!(
                f,
                "{} (the operator has no permission for leases: run `kubewright generate`, then apply manifests/rbac)",
                status.message
            ),
            Self::Request(kube::Error::Api(status)) if status.code == 401 => write!(
                f,
                "{} (the API server rejected the operator's credentials: renew the token or the certificate)",
                status.message
            ),
            Self::Request(kube::Error::Api(status)) => {
                write!(f, "{} ({})", status.message.trim(), status.code)
            }
            Self::Request(kube::Error::SerdeError(error)) => write!(
                f,
                "the response is not a Lease: {error}; check that the address is an API server's"
            ),
            Self::Request(error) => error.fmt(f),
            Self::TimedOut(after) => write!(f, "no response of the API server for {after:?}"),
        }
    }
}

impl Elector {
    /// Returns an elector, and closes the fence until it leads.
    pub(crate) fn new(lock: LeaseLock, identity: String, timing: ElectionTiming, fence: Fence) -> Self {
        fence.close();
        Self {
            fence,
            jitter: rand::make_rng(),
            election: Election::new(identity, &timing),
            lock,
            timing,
            may_be_holder: false,
            wait_reason: None,
        }
    }

    /// Waits until the lease is held; returns since when. Errors are logged, and the attempt is repeated.
    pub(crate) async fn acquire(&mut self) -> Instant {
        info!(lease = self.lock.name(), "waiting for the leader lease");
        loop {
            match self.attempt().await {
                Ok(AttemptOutcome::Held(since)) => {
                    info!(lease = self.lock.name(), "acquired the leader lease");
                    return since;
                }
                Ok(AttemptOutcome::HeldBy(holder)) => {
                    self.log_wait_reason(format!("the lease is held by {holder}"), false);
                }
                Err(error) => self.log_wait_reason(error.to_string(), true),
            }
            let jitter = 1.0 + JITTER_FACTOR * self.jitter.random::<f64>();
            sleep(self.timing.retry_period.mul_f64(jitter)).await;
        }
    }

    /// Renews the lease that was last renewed at `renewed`; returns when it is lost.
    ///
    /// client-go counts the renew deadline from the response to the last renewal plus a retry period. This elector counts from the time
    /// when the request was sent, which keeps the margin to the end of the lease when responses are slow.
    pub(crate) async fn hold(&mut self, mut renewed: Instant) -> LostLease {
        let mut next = renewed + self.timing.retry_period;
        let mut reason = "no attempt completed".to_owned();
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
                Ok(Ok(AttemptOutcome::Held(since))) => {
                    renewed = since;
                    next = since + self.timing.retry_period;
                    continue;
                }
                Ok(Ok(AttemptOutcome::HeldBy(holder))) => {
                    return LostLease::Taken {
                        lease: self.lock.name(),
                        holder,
                    };
                }
                Ok(Err(error)) => reason = error.to_string(),
                Err(_) => reason = AttemptError::TimedOut(left).to_string(),
            }
            warn!(
                lease = self.lock.name(),
                reason, "renewing the leader lease failed, retrying"
            );
            next = Instant::now() + self.timing.retry_period;
        }
    }

    /// Releases the lease, if this candidate may hold it, so that the next leader need not wait until it expires.
    ///
    /// If a write was cancelled, releases it only after the margin, when the write can no longer arrive.
    pub(crate) async fn release(&mut self) {
        self.fence.close();
        if !self.may_be_holder {
            return;
        }
        if let Some(abandoned) = self.fence.last_abandoned() {
            sleep_until(abandoned + self.timing.margin()).await;
        }
        match timeout(self.timing.renew_deadline, self.release_once()).await {
            Ok(Ok(())) => info!(lease = self.lock.name(), "released the leader lease"),
            Ok(Err(error)) => {
                let error = AttemptError::Request(error);
                warn!(lease = self.lock.name(), %error, "releasing the leader lease failed: other replicas wait until it expires");
            }
            Err(_) => warn!(
                lease = self.lock.name(),
                "releasing the leader lease timed out: other replicas wait until it expires"
            ),
        }
    }

    async fn release_once(&mut self) -> Result<(), kube::Error> {
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
                    sleep(RELEASE_CONFLICT_RETRY_INTERVAL).await;
                }
                Err(error) => return Err(error),
                Ok(spec) => {
                    self.election.wrote(spec, Instant::now());
                    self.may_be_holder = false;
                    return Ok(());
                }
            }
        }
    }

    /// Attempts to acquire or renew, within half of the renew deadline, so that a hanging connection leaves time for another attempt.
    async fn attempt(&mut self) -> Result<AttemptOutcome, AttemptError> {
        let limit = self.timing.renew_deadline / 2;
        match timeout(limit, self.try_acquire_or_renew()).await {
            Ok(result) => result.map_err(AttemptError::Request),
            Err(_) => Err(AttemptError::TimedOut(limit)),
        }
    }

    async fn try_acquire_or_renew(&mut self) -> Result<AttemptOutcome, kube::Error> {
        if self.lock.is_known()
            && let Some(spec) = self.election.renewal(Instant::now(), Timestamp::now())
        {
            match self.write(spec).await {
                Ok(held) => return Ok(held),
                Err(error) => debug!(%error, "renewing without a read failed, reading the lease"),
            }
        }
        if let Some(spec) = self.lock.read().await? {
            self.election.observe(spec, Instant::now());
        }
        if let Some(spec) = self.election.claim(Instant::now(), Timestamp::now()) {
            return self.write(spec).await;
        }
        self.may_be_holder = false;
        self.fence.close();
        Ok(AttemptOutcome::HeldBy(
            self.election.holder().unwrap_or_default().to_owned(),
        ))
    }

    async fn write(&mut self, spec: LeaseSpec) -> Result<AttemptOutcome, kube::Error> {
        let sent = Instant::now();
        self.may_be_holder = true;
        let spec = self.lock.write(spec).await?;
        self.election.wrote(spec, sent);
        let deadline = self.timing.renew_deadline;
        self.fence
            .renewed(sent, deadline, deadline + self.timing.margin());
        Ok(AttemptOutcome::Held(sent))
    }

    /// Logs why this candidate waits, when the reason changes.
    fn log_wait_reason(&mut self, wait_reason: String, is_error: bool) {
        if self.wait_reason.as_ref() == Some(&wait_reason) {
            return;
        }
        if is_error {
            warn!(
                lease = self.lock.name(),
                reason = wait_reason,
                "acquiring the leader lease failed, retrying"
            );
        } else {
            info!(lease = self.lock.name(), reason = wait_reason, "standing by");
        }
        self.wait_reason = Some(wait_reason);
    }
}

#[cfg(test)]
#[path = "elector_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "split_brain_tests.rs"]
mod split_brain_tests;
