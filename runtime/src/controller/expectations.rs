//! Expectations: the creations and deletions of a key that the cache does not show yet, as in client-go's controllers.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use futures::{StreamExt as _, stream::FuturesUnordered};
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::RegistrationError;
use crate::{
    NamespacedName,
    cache::Change,
    client::{ClientError, ClientErrorCause},
    workqueue::WorkQueue,
};

/// The timeout of expectations, as in client-go (`ExpectationsTimeout`): an event that did not arrive by then was missed.
const EXPECTATIONS_TIMEOUT: Duration = Duration::from_mins(5);

/// The objects that keys created and deleted in bulk and that their controller has not observed yet, as client-go's
/// `ControllerExpectations`. Cloning copies a pointer.
///
/// A key waits until the cache shows its answered writes; see [`Reconciler`](super::Reconciler). Expectations are for writes without an
/// answer: the API server may have carried them out, and creating an object with a `generateName` a second time makes a second object. So
/// reconcile checks [`are_satisfied`](Self::are_satisfied) before it counts the existing objects. While they are not satisfied it neither
/// creates nor deletes, and is called again when they are, after five minutes at the latest.
///
/// Expectations belong to one controller. Registering them for a second one is an
/// [error](crate::Error::Registration).
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// # use kubewright::{NamespacedName, controller::{Action, Expectations, ReconcileError, Reconciler, Setup, Source}, prelude::*};
/// struct Replicas { pods: Lister<Pod>, creator: TypedClient<Pod, (Create,)>, expectations: Expectations }
///
/// impl Reconciler for Replicas {
///     async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
///         # let (wanted, existing, pod) = (3, 1, Pod::default());
///         if self.expectations.are_satisfied(key) && existing < wanted {
///             self.expectations.create(key, wanted - existing, |_| self.creator.create(&pod)).await?;
///         }
///         Ok(Action::await_change())
///     }
/// }
///
/// # fn register<O: kubewright::Kind>(setup: &mut Setup, owners: &SharedInformer<O>) {
/// let (pods, expectations) = (setup.informers().of::<Pod>(), Expectations::new());
/// let replicas = Replicas { pods: pods.lister(), creator: setup.client(), expectations: expectations.clone() };
/// setup.controller("replicas", replicas).reconciles(owners).owns(Source::of(&pods).with_expectations(&expectations));
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Expectations(Arc<SharedExpectations>);

#[derive(Default)]
struct SharedExpectations {
    state: Mutex<ExpectationsState>,
    /// Notified if something expires before [`ExpectationsState::next_check`].
    earlier: Notify,
}

#[derive(Default)]
struct ExpectationsState {
    keys: HashMap<NamespacedName, KeyExpectations>,
    /// The controller that owns them, and its queue.
    controller: Option<(Box<str>, Weak<WorkQueue>)>,
    /// When expiry is checked next.
    next_check: Option<Instant>,
}

/// The expectations of one key.
struct KeyExpectations {
    creations: i64,
    /// The uids of objects that are expected to be deleted. A deletion is observed twice, with the deletion timestamp and at its end, and
    /// counts once.
    deletions: HashSet<Box<str>>,
    since: Instant,
    /// Reconcile found them unsatisfied: the key is enqueued when they are satisfied or expired.
    is_awaited: bool,
}

impl KeyExpectations {
    fn is_fulfilled(&self) -> bool {
        self.creations <= 0 && self.deletions.is_empty()
    }

    fn is_expired(&self) -> bool {
        self.expires() <= Instant::now()
    }

    fn expires(&self) -> Instant {
        self.since + EXPECTATIONS_TIMEOUT
    }
}

impl Expectations {
    /// Returns empty expectations. Connect them with a source: [`Source::with_expectations`](super::Source::with_expectations).
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the key's expectations are fulfilled or expired, or it has none. Otherwise the key is enqueued when they are.
    pub fn are_satisfied(&self, key: &NamespacedName) -> bool {
        let mut state = self.0.state.lock();
        let Some(expected) = state.keys.get_mut(key) else {
            return true;
        };
        if expected.is_fulfilled() || expected.is_expired() {
            if expected.is_expired() && !expected.is_fulfilled() {
                tracing::warn!(%key, creations = expected.creations, deletions = expected.deletions.len(), "expectations expired: not all creations and deletions were observed");
            }
            state.keys.remove(key);
            return true;
        }
        expected.is_awaited = true;
        let expires = expected.expires();
        if state.next_check.is_none_or(|next_check| expires < next_check) {
            self.0.earlier.notify_one();
        }
        false
    }

    /// Expects `count` more creations of the key.
    pub fn expect_creations(&self, key: &NamespacedName, count: usize) {
        self.raise(key, |expected| {
            expected.creations += i64::try_from(count).unwrap_or(i64::MAX);
        });
    }

    /// Expects the deletion of the objects with these uids.
    pub fn expect_deletions(
        &self,
        key: &NamespacedName,
        uids: impl IntoIterator<Item = impl Into<Box<str>>>,
    ) {
        self.raise(key, |expected| {
            expected.deletions.extend(uids.into_iter().map(Into::into));
        });
    }

    /// Lowers the expected creations by one: an object was observed, or will not be created.
    pub fn creation_observed(&self, key: &NamespacedName) {
        self.lower(key, |expected| expected.creations -= 1);
    }

    /// Removes an expected deletion: it was observed, or the object will not be deleted.
    pub fn deletion_observed(&self, key: &NamespacedName, uid: &str) {
        self.lower(key, |expected| {
            expected.deletions.remove(uid);
        });
    }

    /// Drops the expectations of the key. For the keys of deleted objects.
    pub fn forget(&self, key: &NamespacedName) {
        self.0.state.lock().keys.remove(key);
    }

    /// Creates `count` objects of the key, and expects their creation. `create` makes the request with the given number.
    ///
    /// Sends batches of 1, 2, 4 and so on, and stops after a batch with a failure (client-go's slow start): if the first request is
    /// rejected, the others would be as well. Rejected and unsent creations are no longer expected; requests without an answer still are.
    /// Returns the created objects in no particular order, or the first error.
    pub async fn create<T, F>(
        &self,
        key: &NamespacedName,
        count: usize,
        create: impl FnMut(usize) -> F,
    ) -> Result<Vec<T>, ClientError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        self.expect_creations(key, count);
        let unsent = UnsentRequests {
            count,
            skip: || self.creation_observed(key),
        };
        slow_start(count, create, unsent).await
    }

    /// Deletes the objects of the key with these uids, and expects their deletion. `delete` makes the request of a uid.
    ///
    /// Sends all requests concurrently. Rejected deletions are no longer expected. A missing object is not an error. Returns the first error.
    pub async fn delete<T, F>(
        &self,
        key: &NamespacedName,
        uids: impl IntoIterator<Item = impl Into<Box<str>>>,
        mut delete: impl FnMut(&str) -> F,
    ) -> Result<(), ClientError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        let uids: Vec<Box<str>> = uids.into_iter().map(Into::into).collect();
        self.expect_deletions(key, uids.iter().cloned());
        let mut requests: FuturesUnordered<_> = uids
            .iter()
            .map(|uid| {
                let request = delete(uid);
                async move { (uid, request.await) }
            })
            .collect();
        let mut failed = None;
        while let Some((uid, answer)) = requests.next().await {
            if let Err(error) = answer {
                if was_rejected(&error) {
                    self.deletion_observed(key, uid);
                }
                if !error.is_not_found() {
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Sets the controller and its queue, which gets the keys. Fails if they belong to another running controller.
    pub(super) fn connect(&self, controller: &str, queue: &Arc<WorkQueue>) -> Result<(), RegistrationError> {
        let mut state = self.0.state.lock();
        if let Some((first, known)) = &state.controller
            && known.upgrade().is_some_and(|known| !Arc::ptr_eq(&known, queue))
        {
            return Err(RegistrationError::SharedExpectations {
                first: first.to_string(),
                second: controller.to_owned(),
            });
        }
        state.controller = Some((controller.into(), Arc::downgrade(queue)));
        Ok(())
    }

    /// Drops the expectations of all keys, and enqueues the keys that wait for them: nothing observes their objects any more.
    pub(super) fn drop_all(&self) {
        let mut state = self.0.state.lock();
        let (queue, keys) = (state.queue(), std::mem::take(&mut state.keys));
        drop(state);
        let Some(queue) = queue else { return };
        for (key, expected) in keys {
            if expected.is_awaited {
                queue.add(key);
            }
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Enqueues keys when their awaited expectations expire, until it is dropped.
    ///
    /// The queue's delays do not fit: a key has one, which cannot be cancelled when the expectations are fulfilled.
    pub(super) async fn run_expiry(&self) {
        loop {
            let earlier = self.0.earlier.notified();
            let (expired, next) = self.take_expired();
            for (queue, key) in expired {
                queue.add(key);
            }
            match next {
                Some(next) => tokio::select! {
                    () = earlier => {}
                    () = sleep_until(next) => {}
                },
                None => earlier.await,
            }
        }
    }

    /// Returns the expired keys that are awaited, and when the next one expires.
    fn take_expired(&self) -> (Vec<(Arc<WorkQueue>, NamespacedName)>, Option<Instant>) {
        let mut state = self.0.state.lock();
        let (queue, mut expired) = (state.queue(), Vec::new());
        let mut next = None::<Instant>;
        for (key, expected) in state.keys.iter_mut().filter(|(_, one)| one.is_awaited) {
            if !expected.is_expired() {
                let end = expected.expires();
                next = Some(next.map_or(end, |next| next.min(end)));
                continue;
            }
            expected.is_awaited = false;
            expired.extend(queue.clone().map(|queue| (queue, key.clone())));
        }
        state.next_check = next;
        (expired, next)
    }

    /// Observes the creation or deletion of an object. `keys` returns the keys that the change maps to.
    pub(super) fn observe(&self, change: &Change<'_>, keys: impl Fn() -> Vec<NamespacedName>) {
        if self.0.state.lock().keys.is_empty() {
            return;
        }
        let (created, deleted) = match *change {
            // Its creation was not observed, for example after a restart.
            Change::Added { new, .. } if new.is_deleting() => (false, Some(new)),
            Change::Added { .. } => (true, None),
            // The watch missed a deletion followed by a creation.
            Change::Updated { old, new } if old.uid() != new.uid() => (true, Some(old)),
            Change::Updated { new, .. } if new.is_deleting() => (false, Some(new)),
            Change::Updated { .. } => return,
            Change::Deleted { old, .. } => (false, Some(old)),
        };
        for key in keys() {
            if let Some(deleted) = deleted {
                self.deletion_observed(&key, deleted.uid());
            }
            if created {
                self.creation_observed(&key);
            }
        }
    }

    fn raise(&self, key: &NamespacedName, raise: impl FnOnce(&mut KeyExpectations)) {
        let mut state = self.0.state.lock();
        let expected = state.keys.entry(key.clone()).or_insert_with(|| KeyExpectations {
            creations: 0,
            deletions: HashSet::new(),
            since: Instant::now(),
            is_awaited: false,
        });
        // New expectations restart the timeout.
        expected.since = Instant::now();
        expected.creations = expected.creations.max(0);
        raise(expected);
    }

    fn lower(&self, key: &NamespacedName, lower: impl FnOnce(&mut KeyExpectations)) {
        let mut state = self.0.state.lock();
        let Some(expected) = state.keys.get_mut(key) else {
            return;
        };
        lower(expected);
        if !expected.is_fulfilled() {
            return;
        }
        let is_awaited = expected.is_awaited;
        state.keys.remove(key);
        let queue = state.queue().filter(|_| is_awaited);
        drop(state);
        if let Some(queue) = queue {
            queue.add(key.clone());
        }
    }
}

impl ExpectationsState {
    fn queue(&self) -> Option<Arc<WorkQueue>> {
        self.controller.as_ref()?.1.upgrade()
    }
}

impl fmt::Debug for Expectations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.0.state.lock().keys.len();
        f.debug_struct("Expectations")
            .field("keys", &keys)
            .finish_non_exhaustive()
    }
}

/// Counts the requests that are not sent yet. Calls `skip` for each of them when it is dropped.
struct UnsentRequests<S: Fn()> {
    count: usize,
    skip: S,
}

impl<S: Fn()> Drop for UnsentRequests<S> {
    fn drop(&mut self) {
        for _ in 0..self.count {
            (self.skip)();
        }
    }
}

/// Sends batches of 1, 2, 4 and so on, until a batch has a failure.
async fn slow_start<T, F, S: Fn()>(
    count: usize,
    mut create: impl FnMut(usize) -> F,
    mut unsent: UnsentRequests<S>,
) -> Result<Vec<T>, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let (mut created, mut failed, mut size) = (Vec::new(), None, 1);
    let mut next = 0;
    while next < count && failed.is_none() {
        let batch = next..count.min(next + size);
        // From here on the API server may carry them out, even if this future is dropped.
        unsent.count -= batch.len();
        let mut requests: FuturesUnordered<_> = batch.clone().map(&mut create).collect();
        while let Some(answer) = requests.next().await {
            match answer {
                Ok(object) => created.push(object),
                Err(error) => {
                    if was_rejected(&error) {
                        (unsent.skip)();
                    }
                    failed.get_or_insert(error);
                }
            }
        }
        (next, size) = (batch.end, size * 2);
    }
    failed.map_or(Ok(created), Err)
}

/// Whether the API server certainly did not carry out the request. After a 5xx, a timeout for example, it may have.
fn was_rejected(error: &ClientError) -> bool {
    match error.cause() {
        ClientErrorCause::Refused(status) => status.code < 500,
        ClientErrorCause::Serialize(_) | ClientErrorCause::Request(_) => true,
        _ => false,
    }
}
