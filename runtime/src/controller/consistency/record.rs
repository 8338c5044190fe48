//! What is known of one key.

use tokio::time::Instant;

use crate::{
    NamespacedName,
    cache::{InformerHandle, Metadata},
    client::{WriteKind, WriteRecord},
};

/// More changes than this that come while a key is reconciled are not kept: it is woken.
const MOST_TOLD: usize = 64;

/// What a key wrote, and what it was told of meanwhile. A key of which nothing is known has none.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) is_running: bool,
    /// Changes by a watch that came while it ran: perhaps its own, whose answer has not come yet.
    told: Vec<Version>,
    pub(super) writes: Vec<PendingWrite>,
    /// It waits, at most until then.
    pub(super) until: Option<Instant>,
    /// How often it waited in vain, in a row.
    pub(super) overdue: u32,
}

/// One version of one object.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    uid: Box<str>,
    version: Box<str>,
}

/// A write that some informers have not told of yet.
#[derive(Debug)]
pub(super) struct PendingWrite {
    pub(super) name: NamespacedName,
    pub(super) kind: Box<str>,
    written: Version,
    effect: WriteKind,
    /// The informers, by their positions, that have not told of it.
    pub(super) untold: Vec<usize>,
    /// It is not waited for any more.
    is_given_up: bool,
}

impl PendingWrite {
    /// `uid` where the answer did not say one.
    pub(super) fn new(write: WriteRecord, uid: Box<str>, untold: Vec<usize>) -> Self {
        Self {
            name: write.name,
            kind: write.kind.kind.into_owned().into(),
            written: Version {
                uid,
                version: write.version,
            },
            effect: write.effect,
            untold,
            is_given_up: false,
        }
    }

    pub(super) fn version(&self) -> Option<&str> {
        (self.effect == WriteKind::Written).then_some(&*self.written.version)
    }

    /// Whether the informer's store shows it, or it cannot be told.
    fn is_seen(&self, informer: &InformerHandle) -> bool {
        match self.effect {
            WriteKind::Written => informer.has_reached(&self.name, &self.written.version) != Some(false),
            WriteKind::Deleted => !informer.holds_alive(&self.name, &self.written.uid),
            WriteKind::Removed => !informer.holds(&self.name, &self.written.uid),
        }
    }

    /// Whether the object that was written is not, or no longer, in the store.
    fn is_missing(&self, informer: &InformerHandle) -> bool {
        let written = &self.written.uid;
        self.effect == WriteKind::Written && !written.is_empty() && !informer.holds(&self.name, written)
    }

    /// Whether the change is this write. Deletions are not: whoever deletes wants to know when it is done.
    fn is(&self, change: &Version) -> bool {
        self.effect == WriteKind::Written && self.written == *change && !change.uid.is_empty()
    }
}

impl Record {
    pub(super) fn is_waiting(&self, informers: &[InformerHandle]) -> bool {
        self.unseen(informers).next().is_some()
    }

    /// What the cache does not show.
    pub(super) fn unseen<'a>(
        &'a self,
        informers: &'a [InformerHandle],
    ) -> impl Iterator<Item = &'a PendingWrite> {
        self.writes.iter().filter(|write| {
            !write.is_given_up
                && write
                    .untold
                    .iter()
                    .any(|&place| !write.is_seen(&informers[place]))
        })
    }

    /// Nothing of what it wrote is waited for any more.
    pub(super) fn give_up(&mut self) {
        for write in &mut self.writes {
            write.is_given_up = true;
        }
    }

    /// The informer told of what its store shows. Says whether something that was written is not there: it went while no watch told of it,
    /// and nobody will ever tell that it came, or went.
    pub(super) fn was_told(&mut self, place: usize, informer: &InformerHandle) -> bool {
        let mut is_missing = false;
        for write in &mut self.writes {
            if write.untold.contains(&place) && write.is_seen(informer) {
                write.untold.retain(|&untold| untold != place);
                is_missing |= write.is_missing(informer);
            }
        }
        self.forget_told();
        is_missing
    }

    /// What one informer has to tell is not known any more.
    pub(super) fn forget(&mut self, place: usize) {
        self.writes.retain(|write| !write.untold.contains(&place));
    }

    /// Forgets what everybody told of, once the key's changes were judged.
    fn forget_told(&mut self) {
        if !self.is_running {
            self.writes.retain(|write| !write.untold.is_empty());
        }
    }

    /// Whether the change, one step of a watch, wakes the key now. While the key is reconciled that is not known yet.
    pub(super) fn wakes(&mut self, new: &Metadata) -> bool {
        let change = Version {
            uid: new.uid().into(),
            version: new.resource_version().into(),
        };
        if self.is_running {
            if self.told.len() == MOST_TOLD {
                return true;
            }
            self.told.push(change);
            return false;
        }
        !self.writes.iter().any(|write| write.is(&change))
    }

    /// The reconcile ended: how many changes that came meanwhile were its own, and how many were not.
    pub(super) fn classify(&mut self) -> (usize, usize) {
        self.is_running = false;
        let told = std::mem::take(&mut self.told);
        let is_own = |change: &&Version| self.writes.iter().any(|write| write.is(change));
        let own = told.iter().filter(is_own).count();
        self.forget_told();
        (own, told.len() - own)
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.is_running && self.writes.is_empty() && self.until.is_none() && self.overdue == 0
    }
}
