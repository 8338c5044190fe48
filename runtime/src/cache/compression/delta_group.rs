//! Delta groups: objects that are kept as their difference to one of their group.
//!
//! A group are the objects of one controller, or all of the kind that have none. When several of a group have arrived, one becomes its
//! base. The others are kept as their difference to it where they are alike: later ones when they arrive, earlier ones when they are
//! no longer recent.
//!
//! Without groups, a listed Pod costs twice the CPU and an event 65 % more, and 100,000 Pods take 23 % more memory; objects that are like no
//! other gain nothing and pay nothing. See "Mechanisms" in benches/README.md.

use std::{hash::BuildHasher as _, sync::Arc};

use hashbrown::{DefaultHashBuilder, HashMap};

use crate::cache::{Metadata, OwnerRef, prefetch};

use super::{
    delta_encoding::difference,
    group_cache::GroupCache,
    policy::{
        GROUP_CLEANUP_ARRIVALS, GROUP_MEMBERS_BEFORE_BASE, MAX_BASES_PART, MAX_DIFFERENCE_PART,
        MAX_MEMBERS_BEFORE_BASE, MIN_BASES_BYTES, POOR_BASE_FACTOR, is_poor_base,
    },
};

/// The JSON of the object that others of its group are kept as differences to.
pub(super) type Base = Arc<[u8]>;

/// An encoded difference, and the base that it refers to.
type Difference = (Box<[u8]>, Base);

/// The delta groups of an informer.
#[derive(Debug, Default)]
pub(super) struct DeltaGroups {
    hasher: DefaultHashBuilder,
    /// By a digest of the controller's uid.
    groups: HashMap<u64, DeltaGroup>,
    cache: GroupCache,
    /// Bytes of all bases.
    base_bytes: usize,
    buffer: Vec<u8>,
    arrivals_since_cleanup: usize,
    /// Bytes of all objects that ever arrived.
    arrived_bytes: usize,
    /// Bytes of all objects in the store.
    stored_bytes: usize,
}

#[derive(Debug)]
struct DeltaGroup {
    base: Option<Base>,
    /// Objects that must arrive before one becomes the base.
    members_missing: u32,
    /// What that was at first.
    members_before_base: u32,
    /// Objects that are like the base.
    matched: u32,
    differed: u32,
    /// A digest of the name that arrived last: one object that changes over and over does not make a group.
    last_name: u64,
}

impl DeltaGroup {
    const fn without_base(members_before_base: u32) -> Self {
        Self {
            base: None,
            members_missing: members_before_base,
            members_before_base,
            matched: 0,
            differed: 0,
            last_name: 0,
        }
    }

    /// The difference to the base, if it is short.
    fn difference(&mut self, json: &[u8], buffer: &mut Vec<u8>) -> Option<Difference> {
        let base = self.base.as_ref()?;
        buffer.clear();
        if !difference(base, json, json.len() / MAX_DIFFERENCE_PART, buffer) {
            return None;
        }
        self.matched = self.matched.saturating_add(1);
        Some((buffer.as_slice().into(), base.clone()))
    }
}

impl DeltaGroups {
    /// Sets the bytes of all objects in the store: bases may take a part of it.
    pub(super) fn set_stored_bytes(&mut self, bytes: usize) {
        self.stored_bytes = bytes;
    }

    /// Encodes an object that arrives as its difference to its group's base, if that is short. It may become the base.
    ///
    /// `owners` is a digest of its owner references.
    pub(super) fn encode_arriving(
        &mut self,
        owners: u64,
        metadata: &Metadata,
        json: &[u8],
    ) -> Option<Difference> {
        self.arrivals_since_cleanup += 1;
        self.arrived_bytes = self.arrived_bytes.saturating_add(json.len());
        if self.arrivals_since_cleanup >= GROUP_CLEANUP_ARRIVALS.max(self.groups.len()) {
            self.drop_unused();
        }
        let cached = self.cache.get(owners).map(|cached| cached.group);
        let number = cached.unwrap_or_else(|| self.group_of(metadata.controller()));
        let group = self
            .groups
            .entry(number)
            .or_insert_with(|| DeltaGroup::without_base(GROUP_MEMBERS_BEFORE_BASE));
        if group.base.is_none() {
            let name = self.hasher.hash_one(metadata.name());
            group.members_missing -= u32::from(group.last_name != name && group.members_missing > 0);
            group.last_name = name;
            if group.members_missing > 0 {
                return None;
            }
            // During the first list the store is empty.
            let all_bytes = match self.stored_bytes {
                0 => self.arrived_bytes,
                stored => stored,
            };
            if self.base_bytes + json.len() > MIN_BASES_BYTES.max(all_bytes / MAX_BASES_PART) {
                return None;
            }
            self.base_bytes += json.len();
            group.base = Some(json.into());
        }
        let difference = group.difference(json, &mut self.buffer);
        if let Some((_, base)) = &difference {
            self.cache.set(owners, number, base);
        } else {
            group.differed += 1;
            if is_poor_base(group.matched, group.differed) {
                self.base_bytes -= group.base.as_ref().map_or(0, |base| base.len());
                let members = group.members_before_base * POOR_BASE_FACTOR;
                *group = DeltaGroup::without_base(members.min(MAX_MEMBERS_BEFORE_BASE));
                self.cache.clear();
            }
        }
        difference
    }

    /// Encodes an object that arrived earlier: its group may have a base by now.
    pub(super) fn encode_stored(&mut self, metadata: &Metadata, json: &[u8]) -> Option<Difference> {
        let group = self.groups.get_mut(&self.group_of(metadata.controller()))?;
        group.difference(json, &mut self.buffer)
    }

    /// Drops groups with an unused base, and small ones that never had a base.
    fn drop_unused(&mut self) {
        self.arrivals_since_cleanup = 0;
        // It refers to bases, too.
        self.cache.clear();
        let base_bytes = &mut self.base_bytes;
        self.groups.retain(|_, group| match &group.base {
            Some(base) if Arc::strong_count(base) == 1 => {
                *base_bytes -= base.len();
                false
            }
            Some(_) => true,
            // A group that had a poor base goes on waiting for the next.
            None => group.members_before_base > GROUP_MEMBERS_BEFORE_BASE,
        });
    }

    /// Bytes of all bases.
    pub(super) fn bytes(&self) -> usize {
        self.base_bytes
    }

    /// Prefetches the base of the objects with these owner references.
    pub(super) fn prefetch(&self, owners: u64) {
        if let Some(cached) = self.cache.get(owners) {
            prefetch::text(&cached.base);
        }
    }

    fn group_of(&self, controller: Option<&OwnerRef>) -> u64 {
        self.hasher.hash_one(controller.map(|owner| &owner.uid))
    }
}

#[cfg(test)]
#[path = "delta_group_tests.rs"]
mod tests;
