//! Record of one key: its pending writes, its own events during a reconcile, and its extra call.

use std::sync::Arc;

use tokio::time::Instant;

use super::{InformerSlot, find_informer, follow_up::FollowUpState};
use crate::{
    NamespacedName,
    cache::{InformerHandle, Metadata},
    client::{WriteKind, WriteRecord},
};

/// So many changes that arrive during a reconcile are kept to be classified when it ends; further ones enqueue at once.
const MAX_DEFERRED_CHANGES: usize = 64;

/// The state of one key in the consistency store. Keys without any state have no record.
#[derive(Debug, Default)]
pub(super) struct KeyRecord {
    pub(super) is_running: bool,
    /// Watch events that arrived during the running reconcile. One of its own writes can be among them: the event can overtake the answer.
    deferred: Vec<ObjectVersion>,
    pub(super) writes: Vec<PendingWrite>,
    /// The key is parked, at most until this deadline.
    pub(super) parked_until: Option<Instant>,
    /// How often in a row the wait for the cache timed out.
    pub(super) timed_out_waits: u32,
    pub(super) follow_up: FollowUpState,
}

/// One version of one object.
#[derive(Debug, PartialEq, Eq)]
struct ObjectVersion {
    uid: Box<str>,
    version: Box<str>,
}

/// A write that some informers do not show yet.
#[derive(Debug)]
pub(super) struct PendingWrite {
    pub(super) name: NamespacedName,
    pub(super) kind: Box<str>,
    written: ObjectVersion,
    effect: WriteKind,
    /// The slot ids of the informers that have not delivered it.
    pub(super) undelivered: Vec<usize>,
    /// The key does not wait for it any more.
    pub(super) is_given_up: bool,
}

/// The changes that arrived during a reconcile, after its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DeferredChanges {
    /// How many were own events.
    pub(super) own: usize,
    /// Whether one of the others enqueues the key.
    pub(super) is_enqueued: bool,
}

impl PendingWrite {
    /// `uid` replaces that of the answer, which can be empty.
    pub(super) fn new(write: WriteRecord, uid: Box<str>, undelivered: Vec<usize>) -> Self {
        Self {
            name: write.name,
            kind: write.kind.kind.into_owned().into(),
            written: ObjectVersion {
                uid,
                version: write.version,
            },
            effect: write.effect,
            undelivered,
            is_given_up: false,
        }
    }

    pub(super) fn version(&self) -> Option<&str> {
        (self.effect == WriteKind::Written).then_some(&*self.written.version)
    }

    /// Whether the informer's store shows it, or versions have no order.
    fn is_shown(&self, informer: &InformerHandle) -> bool {
        match self.effect {
            WriteKind::Written => informer.has_reached(&self.name, &self.written.version) != Some(false),
            WriteKind::Deleted => !informer.holds_alive(&self.name, &self.written.uid),
            WriteKind::Removed => !informer.holds(&self.name, &self.written.uid),
        }
    }

    /// Whether the store does not hold the written object (any more).
    fn is_missing(&self, informer: &InformerHandle) -> bool {
        let written = &self.written.uid;
        self.effect == WriteKind::Written && !written.is_empty() && !informer.holds(&self.name, written)
    }

    /// Whether a watch event is the event of this write. Events of a deletion are not: the reconcile that deletes waits for its end.
    fn is_event(&self, change: &ObjectVersion) -> bool {
        self.effect == WriteKind::Written && self.written == *change && !change.uid.is_empty()
    }

    /// Whether it deletes the object with this uid.
    fn deletes(&self, uid: &str) -> bool {
        self.effect != WriteKind::Written && *self.written.uid == *uid
    }
}

impl KeyRecord {
    /// Whether the key waits for the cache.
    pub(super) fn is_waiting(&self, slots: &[Arc<InformerSlot>]) -> bool {
        self.unshown(slots).next().is_some()
    }

    /// The writes that the cache does not show. Removed informers do not count.
    pub(super) fn unshown<'a>(
        &'a self,
        slots: &'a [Arc<InformerSlot>],
    ) -> impl Iterator<Item = &'a PendingWrite> {
        self.writes.iter().filter(|write| {
            let undelivered = write.undelivered.iter();
            let mut informers = undelivered.filter_map(|&id| find_informer(slots, id));
            !write.is_given_up && informers.any(|informer| !write.is_shown(informer))
        })
    }

    /// Gives up the wait for all pending writes.
    pub(super) fn give_up(&mut self) {
        for write in &mut self.writes {
            write.is_given_up = true;
        }
    }

    /// The informer has delivered what its store shows. Returns whether a written object is missing there: it was deleted while no watch
    /// delivered its events, so that no event will ever report it.
    pub(super) fn mark_delivered(&mut self, slot_id: usize, informer: &InformerHandle) -> bool {
        let mut is_missing = false;
        for write in &mut self.writes {
            if write.undelivered.contains(&slot_id) && write.is_shown(informer) {
                write.undelivered.retain(|&id| id != slot_id);
                is_missing |= write.is_missing(informer);
            }
        }
        self.drop_delivered();
        is_missing
    }

    /// Drops the writes that one informer has not delivered: its versions were rewound.
    pub(super) fn forget_undelivered(&mut self, slot_id: usize) {
        self.writes.retain(|write| !write.undelivered.contains(&slot_id));
    }

    /// Ends the wait for an informer that was removed: it delivers nothing more. Returns whether that leaves a write that was given up
    /// without an informer to deliver its event, which was to enqueue the key.
    pub(super) fn forget_informer(&mut self, slot_id: usize) -> bool {
        let mut lacks_event = false;
        for write in &mut self.writes {
            let before = write.undelivered.len();
            write.undelivered.retain(|&id| id != slot_id);
            let is_last = write.undelivered.is_empty() && before > 0;
            lacks_event |= is_last && write.is_given_up;
        }
        self.drop_delivered();
        lacks_event
    }

    /// Drops the writes that all informers have delivered. Not during a reconcile: its deferred changes are not classified yet.
    fn drop_delivered(&mut self) {
        if !self.is_running {
            self.writes.retain(|write| !write.undelivered.is_empty());
        }
    }

    /// Whether a watch event enqueues the key now. During a reconcile it is deferred, because the answer to the write may be on its way.
    /// Events of writes that were given up enqueue if `enqueues_given_up`.
    pub(super) fn enqueues(&mut self, new: &Metadata, enqueues_given_up: bool) -> bool {
        let change = ObjectVersion {
            uid: new.uid().into(),
            version: new.resource_version().into(),
        };
        if self.is_running {
            if self.deferred.len() == MAX_DEFERRED_CHANGES {
                return true;
            }
            self.deferred.push(change);
            return false;
        }
        !self.is_own_event(&change, enqueues_given_up)
    }

    /// Ends the reconcile and classifies the changes that arrived during it.
    pub(super) fn classify(&mut self, enqueues_given_up: bool) -> DeferredChanges {
        self.is_running = false;
        let mut changes = DeferredChanges::default();
        for change in std::mem::take(&mut self.deferred) {
            if self.is_own_event(&change, enqueues_given_up) {
                changes.own += 1;
                continue;
            }
            changes.is_enqueued = true;
            self.record_enqueued(&change.uid);
        }
        self.drop_delivered();
        changes
    }

    /// A change of the object with this uid enqueues the key. It is a foreign change, unless it is the end of an own deletion.
    pub(super) fn record_enqueued(&mut self, uid: &str) {
        if !self.is_own_deletion(uid) {
            self.follow_up.record_foreign_change();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.is_running
            && self.writes.is_empty()
            && self.parked_until.is_none()
            && self.timed_out_waits == 0
            && self.follow_up.is_idle()
    }

    fn is_own_event(&self, change: &ObjectVersion, enqueues_given_up: bool) -> bool {
        let mut writes = self.writes.iter();
        writes.any(|write| write.is_event(change) && !(enqueues_given_up && write.is_given_up))
    }

    fn is_own_deletion(&self, uid: &str) -> bool {
        self.writes.iter().any(|write| write.deletes(uid))
    }
}
