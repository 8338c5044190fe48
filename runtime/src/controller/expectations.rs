//! Expectations: what a key created and deleted in bulk and was not yet told of.

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

use crate::{
    NamespacedName,
    cache::Change,
    client::{ClientError, ClientErrorCause},
    workqueue::WorkQueue,
};

/// client-go's: by then an event that was to come was missed.
const TIMEOUT: Duration = Duration::from_mins(5);

/// What keys created and deleted in bulk, and how much of it their controller was told of. Cloning copies a pointer.
///
/// A key waits for what it wrote by itself; see [`Reconciler`](super::Reconciler). Expectations are for what that cannot know: a request
/// without an answer may have been carried out, and an object with a `generateName` cannot be created twice without becoming two. So
/// reconcile asks [`are_satisfied`](Self::are_satisfied) before it counts the objects that there are; while they are not, it
/// neither creates nor deletes, and is called again when they are, at the latest after five minutes.
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// # use kubewright::{NamespacedName, controller::{Action, Expectations, ReconcileError, Reconciler, Setup}, prelude::*};
/// struct Replicas { pods: Lister<Pod>, creator: TypedClient<Pod, (Create,)>, expected: Expectations }
///
/// impl Reconciler for Replicas {
///     async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
///         # let (wanted, there, pod) = (3, 1, Pod::default());
///         if self.expected.are_satisfied(key) && there < wanted {
///             self.expected.create(key, wanted - there, |_| self.creator.create(&pod)).await?;
///         }
///         Ok(Action::await_change())
///     }
/// }
///
/// # fn register<O: kubewright::Kind>(setup: &mut Setup, owners: &SharedInformer<O>) {
/// let (pods, expected) = (setup.informers().of::<Pod>(), Expectations::new());
/// let replicas = Replicas { pods: pods.lister(), creator: setup.client(), expected: expected.clone() };
/// setup.controller("replicas", replicas).reconciles(owners).owns(&pods).expects(&expected);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Expectations(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Something expires earlier than [`State::looked_at`].
    earlier: Notify,
}

#[derive(Default)]
struct State {
    keys: HashMap<NamespacedName, Expected>,
    /// Whom to wake.
    queue: Option<Weak<WorkQueue>>,
    /// When it is looked next whether anything has expired.
    looked_at: Option<Instant>,
}

/// What one key expects.
struct Expected {
    creations: i64,
    /// The uids that are to go. A deletion is told twice, with the deletion timestamp and when it is done, and counts once.
    deletions: HashSet<Box<str>>,
    since: Instant,
    /// Reconcile wants to know when it is satisfied.
    is_asked_for: bool,
}

impl Expected {
    fn is_fulfilled(&self) -> bool {
        self.creations <= 0 && self.deletions.is_empty()
    }

    fn is_expired(&self) -> bool {
        self.expires() <= Instant::now()
    }

    fn expires(&self) -> Instant {
        self.since + TIMEOUT
    }
}

impl Expectations {
    /// None yet. Connect them with [`expects`](super::ControllerBuilder::expects).
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether all that the key expects was told, or was expected for too long, or nothing is expected. If not, the key is queued when it
    /// is so.
    pub fn are_satisfied(&self, key: &NamespacedName) -> bool {
        let mut state = self.0.state.lock();
        let Some(expected) = state.keys.get_mut(key) else {
            return true;
        };
        if expected.is_fulfilled() || expected.is_expired() {
            if expected.is_expired() && !expected.is_fulfilled() {
                tracing::warn!(%key, creations = expected.creations, deletions = expected.deletions.len(), "what was expected did not come");
            }
            state.keys.remove(key);
            return true;
        }
        expected.is_asked_for = true;
        let expires = expected.expires();
        if state.looked_at.is_none_or(|looked_at| expires < looked_at) {
            self.0.earlier.notify_one();
        }
        false
    }

    /// Expects `count` more objects of the key to appear.
    pub fn expect_creations(&self, key: &NamespacedName, count: usize) {
        self.raise(key, |expected| {
            expected.creations += i64::try_from(count).unwrap_or(i64::MAX);
        });
    }

    /// Expects the objects with these uids to go.
    pub fn expect_deletions(
        &self,
        key: &NamespacedName,
        uids: impl IntoIterator<Item = impl Into<Box<str>>>,
    ) {
        self.raise(key, |expected| {
            expected.deletions.extend(uids.into_iter().map(Into::into));
        });
    }

    /// An object of the key appeared, or will not.
    pub fn creation_observed(&self, key: &NamespacedName) {
        self.lower(key, |expected| expected.creations -= 1);
    }

    /// The object of the key is going, or will not.
    pub fn deletion_observed(&self, key: &NamespacedName, uid: &str) {
        self.lower(key, |expected| {
            expected.deletions.remove(uid);
        });
    }

    /// Expects nothing more of the key: its object is gone.
    pub fn forget(&self, key: &NamespacedName) {
        self.0.state.lock().keys.remove(key);
    }

    /// Creates `count` objects of the key, whose appearance is expected. `create` makes the request of each, by its number.
    ///
    /// One first, then twice as many at once each time, as long as all succeed: where the first is refused, the others would be,
    /// too. What was refused, and what was not tried, is no longer expected; a request without an answer is. The objects that were created are
    /// returned in no order, or the first error.
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
        let skipped = Skipped {
            left: count,
            skip: || self.creation_observed(key),
        };
        slow_start(count, create, skipped).await
    }

    /// Deletes the objects of the key with these uids, whose end is expected. `delete` makes the request of each.
    ///
    /// All at once. What was refused is no longer expected. An object that is gone already is no error. Returns the first error.
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
                if was_refused(&error) {
                    self.deletion_observed(key, uid);
                }
                if !error.is_not_found() {
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// The queue whose keys are woken.
    pub(super) fn connect(&self, queue: &Arc<WorkQueue>) {
        self.0.state.lock().queue = Some(Arc::downgrade(queue));
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Queues, until it is dropped, the keys that asked for what was expected for too long.
    ///
    /// The queue's own delays would not do: a key has one, which nobody could take back when what was expected comes.
    pub(super) async fn expire(&self) {
        loop {
            let earlier = self.0.earlier.notified();
            let (expired, next) = self.look();
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

    /// The keys whose time has come, and when the next one's will.
    fn look(&self) -> (Vec<(Arc<WorkQueue>, NamespacedName)>, Option<Instant>) {
        let mut state = self.0.state.lock();
        let (queue, mut expired) = (state.queue(), Vec::new());
        let mut next = None::<Instant>;
        for (key, expected) in state.keys.iter_mut().filter(|(_, one)| one.is_asked_for) {
            if !expected.is_expired() {
                let end = expected.expires();
                next = Some(next.map_or(end, |next| next.min(end)));
                continue;
            }
            expected.is_asked_for = false;
            expired.extend(queue.clone().map(|queue| (queue, key.clone())));
        }
        state.looked_at = next;
        (expired, next)
    }

    /// An object changed whose keys, before and after, are these.
    pub(super) fn observe(&self, change: &Change<'_>, keys: impl Fn() -> Vec<NamespacedName>) {
        if self.0.state.lock().keys.is_empty() {
            return;
        }
        let (created, deleted) = match *change {
            // It was deleted before we were told that it is there: after a restart.
            Change::Added { new, .. } if new.is_deleting() => (false, Some(new)),
            Change::Added { .. } => (true, None),
            // The deletion and the creation that came after it were missed.
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

    fn raise(&self, key: &NamespacedName, raise: impl FnOnce(&mut Expected)) {
        let mut state = self.0.state.lock();
        let expected = state.keys.entry(key.clone()).or_insert_with(|| Expected {
            creations: 0,
            deletions: HashSet::new(),
            since: Instant::now(),
            is_asked_for: false,
        });
        // What is expected anew is expected from now on.
        expected.since = Instant::now();
        expected.creations = expected.creations.max(0);
        raise(expected);
    }

    fn lower(&self, key: &NamespacedName, lower: impl FnOnce(&mut Expected)) {
        let mut state = self.0.state.lock();
        let Some(expected) = state.keys.get_mut(key) else {
            return;
        };
        lower(expected);
        if !expected.is_fulfilled() {
            return;
        }
        let is_asked_for = expected.is_asked_for;
        state.keys.remove(key);
        let queue = state.queue().filter(|_| is_asked_for);
        drop(state);
        if let Some(queue) = queue {
            queue.add(key.clone());
        }
    }
}

impl State {
    fn queue(&self) -> Option<Arc<WorkQueue>> {
        self.queue.as_ref()?.upgrade()
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

/// Calls `skip` for each of those that are left, when it is dropped.
struct Skipped<S: Fn()> {
    left: usize,
    skip: S,
}

impl<S: Fn()> Drop for Skipped<S> {
    fn drop(&mut self) {
        for _ in 0..self.left {
            (self.skip)();
        }
    }
}

/// Batches of 1, 2, 4 and so on, until one has a failure.
async fn slow_start<T, F, S: Fn()>(
    count: usize,
    mut create: impl FnMut(usize) -> F,
    mut skipped: Skipped<S>,
) -> Result<Vec<T>, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let (mut created, mut failed, mut size) = (Vec::new(), None, 1);
    let mut next = 0;
    while next < count && failed.is_none() {
        let batch = next..count.min(next + size);
        // From here on they may be carried out, whatever becomes of us.
        skipped.left -= batch.len();
        let mut requests: FuturesUnordered<_> = batch.clone().map(&mut create).collect();
        while let Some(answer) = requests.next().await {
            match answer {
                Ok(object) => created.push(object),
                Err(error) => {
                    if was_refused(&error) {
                        (skipped.skip)();
                    }
                    failed.get_or_insert(error);
                }
            }
        }
        (next, size) = (batch.end, size * 2);
    }
    failed.map_or(Ok(created), Err)
}

/// Whether the request was certainly not carried out. An API server that gives up after a time may have carried it out.
fn was_refused(error: &ClientError) -> bool {
    match error.cause() {
        ClientErrorCause::Refused(status) => status.code < 500,
        ClientErrorCause::Serialize(_) | ClientErrorCause::Request(_) => true,
        _ => false,
    }
}
