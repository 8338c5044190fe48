//! Fault injection, with one vocabulary for the embedded API server and, through a proxy, for a real one.
//!
//! | fault | API |
//! |---|---|
//! | affected requests | [`RequestMatcher`]: by user, verb, resource, API group, namespace and name |
//! | an error response | [`Fault::Respond`] with a [`Failure`]: 409, 410, 429 with Retry-After, 500, 503 |
//! | a delay | [`Fault::Delay`] |
//! | a lost request, a lost response | [`Fault::DropRequest`], [`Fault::DropResponse`] |
//! | how often | [`Faults::once`], [`times`](Faults::times), [`always`](Faults::always), [`with_probability`](Faults::with_probability), seeded |
//! | delayed or lost watch events | [`Faults::hold_events`], [`drop_events`](Faults::drop_events), [`release_events`](Faults::release_events) |
//! | closed watches | [`Faults::close_watches`] gracefully, [`break_watches`](Faults::break_watches) with an error |
//! | an expired history | [`Cluster::expire_watches`](crate::Cluster::expire_watches) |
//!
//! ```
//! # use kubewright_testkit::{Failure, Fault, Faults, RequestMatcher};
//! # let faults = Faults::default();
//! let conflict = faults.once(RequestMatcher::verb("update").resource("foos/status"), Fault::Respond(Failure::conflict()));
//! // … the operator runs …
//! # assert_eq!(conflict.hits(), 0);
//! ```
//!
//! Read matcher, then failure, then this file, then watches.

mod failure;
mod matcher;
mod watches;

pub use failure::Failure;
pub use matcher::RequestMatcher;

use kubewright_apiserver::http::{ConnectionAborted, Layer, LayerRequest, ResponseFuture};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use watches::Watches;

/// The fault of a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Sends this error response; the request does not reach the server.
    Respond(Failure),
    /// Delays the request.
    Delay(Duration),
    /// Closes the connection before the request reaches the server.
    DropRequest,
    /// Closes the connection after the server has processed the request: the response is lost.
    DropResponse,
}

/// The faults of one cluster. Clones share their state.
///
/// Faults apply in the order in which they were added: delays add up, and the first fault of another type wins. Requests that do not reach
/// the server are not in its audit log. Without faults, the overhead per request is one look at an empty list.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    rules: Arc<Mutex<Vec<Rule>>>,
    watches: Arc<Watches>,
    /// The oldest version that has not expired.
    oldest_version: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Rule {
    matcher: RequestMatcher,
    fault: Fault,
    remaining: u64,
    dice: Option<(StdRng, f64)>,
    hits: Arc<AtomicU64>,
}

/// Handle to an added fault. Dropping the handle does not remove the fault.
#[derive(Debug)]
pub struct ActiveFault {
    rules: Arc<Mutex<Vec<Rule>>>,
    hits: Arc<AtomicU64>,
}

impl ActiveFault {
    /// The number of requests that the fault has affected.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Removes the fault.
    pub fn remove(self) {
        lock(&self.rules).retain(|rule| !Arc::ptr_eq(&rule.hits, &self.hits));
    }
}

impl Faults {
    /// Applies the fault to the next matching request.
    pub fn once(&self, matcher: RequestMatcher, fault: Fault) -> ActiveFault {
        self.times(1, matcher, fault)
    }

    /// Applies the fault to the next `times` matching requests.
    pub fn times(&self, times: u64, matcher: RequestMatcher, fault: Fault) -> ActiveFault {
        self.add(matcher, fault, times, None)
    }

    /// Applies the fault to every matching request.
    pub fn always(&self, matcher: RequestMatcher, fault: Fault) -> ActiveFault {
        self.times(u64::MAX, matcher, fault)
    }

    /// Applies the fault to each matching request with a probability between 0 and 1. The same seed selects the same requests, counted in
    /// order of arrival.
    pub fn with_probability(
        &self,
        probability: f64,
        seed: u64,
        matcher: RequestMatcher,
        fault: Fault,
    ) -> ActiveFault {
        let dice = (StdRng::seed_from_u64(seed), probability.clamp(0.0, 1.0));
        self.add(matcher, fault, u64::MAX, Some(dice))
    }

    /// Holds back the events of matching watches, current and future ones, until [`Faults::release_events`]. No event is lost.
    pub fn hold_events(&self, matcher: RequestMatcher) {
        self.watches.hold_events(matcher);
    }

    /// Drops the events of matching watches, current and future ones, until [`Faults::release_events`]. No API server does this: it tests
    /// whether a client ever detects a missed event.
    pub fn drop_events(&self, matcher: RequestMatcher) {
        self.watches.drop_events(matcher);
    }

    /// Undoes [`Faults::hold_events`] and [`Faults::drop_events`] with the same [`RequestMatcher`].
    pub fn release_events(&self, matcher: &RequestMatcher) {
        self.watches.release_events(matcher);
    }

    /// Gracefully closes the open watches that match, as the server does every half hour. Returns their number.
    pub fn close_watches(&self, matcher: &RequestMatcher) -> usize {
        self.watches.close_watches(matcher)
    }

    /// Breaks the connections of the open watches that match: the client gets an error in the middle of the response. Returns their number.
    pub fn break_watches(&self, matcher: &RequestMatcher) -> usize {
        self.watches.break_watches(matcher)
    }

    /// Expires versions before this one, even if the server still has them.
    pub(crate) fn expire_before(&self, version: u64) {
        self.oldest_version.fetch_max(version, Ordering::Relaxed);
    }

    fn is_expired(&self, request: &LayerRequest) -> bool {
        let oldest_version = self.oldest_version.load(Ordering::Relaxed);
        oldest_version > 0
            && request
                .past_revision()
                .is_some_and(|version| version < oldest_version)
    }

    /// Removes all faults and releases all watches. Expired versions stay expired.
    pub fn clear(&self) {
        lock(&self.rules).clear();
        self.watches.release_all();
    }

    fn add(
        &self,
        matcher: RequestMatcher,
        fault: Fault,
        remaining: u64,
        dice: Option<(StdRng, f64)>,
    ) -> ActiveFault {
        let hits = Arc::new(AtomicU64::new(0));
        lock(&self.rules).push(Rule {
            matcher,
            fault,
            remaining,
            dice,
            hits: hits.clone(),
        });
        ActiveFault {
            rules: self.rules.clone(),
            hits,
        }
    }

    /// Returns the delay of a request, and the fault that applies after it.
    fn apply_rules(&self, request: &LayerRequest) -> (Duration, Option<Fault>) {
        let mut delay = Duration::ZERO;
        let mut rules = lock(&self.rules);
        for rule in rules.iter_mut().filter(|rule| rule.remaining > 0) {
            if !rule.matcher.matches(request) {
                continue;
            }
            if let Some((dice, probability)) = &mut rule.dice
                && dice.random::<f64>() >= *probability
            {
                continue;
            }
            rule.remaining -= 1;
            rule.hits.fetch_add(1, Ordering::Relaxed);
            match &rule.fault {
                Fault::Delay(more) => delay += *more,
                other => return (delay, Some(other.clone())),
            }
        }
        (delay, None)
    }
}

impl Layer for Faults {
    fn call(&self, request: LayerRequest, next: ResponseFuture) -> ResponseFuture {
        let (delay, fault) = self.apply_rules(&request);
        let watches = self.watches.clone();
        let next = if self.is_expired(&request) {
            let response = Failure::expired().response(&request);
            Box::pin(async move { Ok(response) })
        } else {
            next
        };
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            match fault {
                Some(Fault::Respond(failure)) => return Ok(failure.response(&request)),
                Some(Fault::DropRequest) => return Err(ConnectionAborted),
                Some(Fault::DropResponse) => {
                    next.await?;
                    return Err(ConnectionAborted);
                }
                Some(Fault::Delay(_)) | None => {}
            }
            let response = next.await?;
            if request.info.verb == "watch" && response.status().is_success() {
                return Ok(response.map(|body| watches.wrap(request, body)));
            }
            Ok(response)
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
