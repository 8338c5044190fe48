//! What goes wrong with requests: the same few words for the embedded API server and, by a proxy, for a real one.
//!
//! | what | how |
//! |---|---|
//! | which requests | [`Matching`]: by user, verb, resource, API group, namespace and name |
//! | an answer instead of the server's | [`Fault::Answer`] with a [`Failure`]: 409, 410, 429 with Retry-After, 500, 503 |
//! | a wait | [`Fault::Delay`] |
//! | a lost request, a lost answer | [`Fault::BreakBefore`], [`Fault::BreakAfter`] it took effect |
//! | how often | [`Faults::once`], [`times`](Faults::times), [`always`](Faults::always), [`sometimes`](Faults::sometimes) by a seed |
//! | what open watches say | [`Faults::hold`], [`lose`](Faults::lose), [`release`](Faults::release) |
//! | the end of open watches | [`Faults::close`] in good order, [`cut`](Faults::cut) in the middle |
//! | a history that has expired | [`Cluster::expire`](crate::Cluster::expire) |
//!
//! ```
//! # use kubewright_testkit::{Failure, Fault, Faults, Matching};
//! # let faults = Faults::default();
//! let conflict = faults.once(Matching::verb("update").on("foos/status"), Fault::Answer(Failure::conflict()));
//! // … the operator does its work …
//! # assert_eq!(conflict.hits(), 0);
//! ```
//!
//! Read matching, then failure, then this file; watches says what becomes of those.

mod failure;
mod matching;
mod watches;

pub use failure::Failure;
pub use matching::Matching;

use kubewright_apiserver::http::{ConnectionAborted, Layer, LayerRequest, ResponseFuture};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use watches::Watches;

/// What goes wrong with a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It is answered so, and never reaches the server.
    Answer(Failure),
    /// It reaches the server later.
    Delay(Duration),
    /// The connection ends, and the request never reaches the server.
    BreakBefore,
    /// The connection ends when the server has done what was asked: the answer is lost.
    BreakAfter,
}

/// The faults of one cluster. Copies are the same.
///
/// A request meets the faults in the order in which they were added: delays add up, the first other one counts. What never reaches the
/// server is not in its audit log. Without faults, a request costs one look at an empty list.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    rules: Arc<Mutex<Vec<Rule>>>,
    watches: Arc<Watches>,
    /// The oldest version that has not expired.
    oldest: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Rule {
    matching: Matching,
    fault: Fault,
    left: u64,
    dice: Option<(StdRng, f64)>,
    hits: Arc<AtomicU64>,
}

/// A fault that was added; it stays when this is dropped.
#[derive(Debug)]
pub struct Added {
    rules: Arc<Mutex<Vec<Rule>>>,
    hits: Arc<AtomicU64>,
}

impl Added {
    /// How many requests it has met.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Takes it away.
    pub fn remove(self) {
        lock(&self.rules).retain(|rule| !Arc::ptr_eq(&rule.hits, &self.hits));
    }
}

impl Faults {
    /// Meets the next request that matches.
    pub fn once(&self, matching: Matching, fault: Fault) -> Added {
        self.times(1, matching, fault)
    }

    /// Meets the next so many requests that match.
    pub fn times(&self, times: u64, matching: Matching, fault: Fault) -> Added {
        self.add(matching, fault, times, None)
    }

    /// Meets every request that matches.
    pub fn always(&self, matching: Matching, fault: Fault) -> Added {
        self.times(u64::MAX, matching, fault)
    }

    /// Meets a share of the requests that match, from 0 to 1. Which ones follows from the seed: the same seed chooses the same of the
    /// requests that match, in the order in which they come.
    pub fn sometimes(&self, share: f64, seed: u64, matching: Matching, fault: Fault) -> Added {
        let dice = (StdRng::seed_from_u64(seed), share.clamp(0.0, 1.0));
        self.add(matching, fault, u64::MAX, Some(dice))
    }

    /// Holds back what the watches that match would say, those to come included, until [`Faults::release`]. Nothing is lost.
    pub fn hold(&self, matching: Matching) {
        self.watches.hold(matching);
    }

    /// Loses what the watches that match would say, those to come included, until [`Faults::release`]. No API server does this:
    /// it shows whether a client that missed something ever finds out.
    pub fn lose(&self, matching: Matching) {
        self.watches.lose(matching);
    }

    /// Ends what [`Faults::hold`] and [`Faults::lose`] began with the same [`Matching`].
    pub fn release(&self, matching: &Matching) {
        self.watches.release(matching);
    }

    /// Ends the open watches that match, in good order, as the server does every half hour, and says how many there were.
    pub fn close(&self, matching: &Matching) -> usize {
        self.watches.close(matching)
    }

    /// Breaks the open watches that match: the connection ends in the middle of an answer, so that the client sees an error and no end. Says
    /// how many there were.
    pub fn cut(&self, matching: &Matching) -> usize {
        self.watches.cut(matching)
    }

    /// From now on older versions have expired, whatever the server would say.
    pub(crate) fn forget_before(&self, version: u64) {
        self.oldest.fetch_max(version, Ordering::Relaxed);
    }

    fn is_expired(&self, asked: &LayerRequest) -> bool {
        let oldest = self.oldest.load(Ordering::Relaxed);
        oldest > 0 && asked.past_revision().is_some_and(|version| version < oldest)
    }

    /// Takes all faults away, and releases all watches. What has expired stays so.
    pub fn clear(&self) {
        lock(&self.rules).clear();
        self.watches.release_all();
    }

    fn add(&self, matching: Matching, fault: Fault, left: u64, dice: Option<(StdRng, f64)>) -> Added {
        let hits = Arc::new(AtomicU64::new(0));
        lock(&self.rules).push(Rule {
            matching,
            fault,
            left,
            dice,
            hits: hits.clone(),
        });
        Added {
            rules: self.rules.clone(),
            hits,
        }
    }

    /// The delay of a request, and what else becomes of it.
    fn meet(&self, asked: &LayerRequest) -> (Duration, Option<Fault>) {
        let mut delay = Duration::ZERO;
        let mut rules = lock(&self.rules);
        for rule in rules.iter_mut().filter(|rule| rule.left > 0) {
            if !rule.matching.matches(asked) {
                continue;
            }
            if let Some((dice, share)) = &mut rule.dice
                && dice.random::<f64>() >= *share
            {
                continue;
            }
            rule.left -= 1;
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
    fn call(&self, asked: LayerRequest, next: ResponseFuture) -> ResponseFuture {
        let (delay, fault) = self.meet(&asked);
        let watches = self.watches.clone();
        let next = if self.is_expired(&asked) {
            let answer = Failure::expired().answer(&asked);
            Box::pin(async move { Ok(answer) })
        } else {
            next
        };
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            match fault {
                Some(Fault::Answer(failure)) => return Ok(failure.answer(&asked)),
                Some(Fault::BreakBefore) => return Err(ConnectionAborted),
                Some(Fault::BreakAfter) => {
                    next.await?;
                    return Err(ConnectionAborted);
                }
                Some(Fault::Delay(_)) | None => {}
            }
            let answer = next.await?;
            if asked.info.verb == "watch" && answer.status().is_success() {
                return Ok(answer.map(|body| watches.wrap(asked, body)));
            }
            Ok(answer)
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
