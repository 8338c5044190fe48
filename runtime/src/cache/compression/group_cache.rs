//! Finds the delta group of an object by a digest of its owner references.

use super::delta_group::Base;

const MIN_PAIRS: usize = 16;
const MAX_PAIRS: usize = 2048;

/// The groups of recent owner references, by their digest. To find a group by its controller's uid takes four dependent reads of memory
/// before the first byte of its base is known.
///
/// A cache: entries are displaced. Where two digests are equal by chance, an object is compared with the base of another group, and is not
/// like it.
#[derive(Debug, Default)]
pub(super) struct GroupCache {
    /// The newer one of each pair first.
    pairs: Vec<[Option<CachedGroup>; 2]>,
    /// Entries that were displaced since the cache was cleared.
    displaced: usize,
}

#[derive(Debug)]
pub(super) struct CachedGroup {
    owners: u64,
    pub(super) group: u64,
    pub(super) base: Base,
}

impl GroupCache {
    pub(super) fn get(&self, owners: u64) -> Option<&CachedGroup> {
        let pair = self.pairs.get(self.position(owners))?;
        pair.iter().flatten().find(|known| known.owners == owners)
    }

    pub(super) fn set(&mut self, owners: u64, group: u64, base: &Base) {
        if self.get(owners).is_some() {
            return;
        }
        if self.displaced >= self.pairs.len() && self.pairs.len() < MAX_PAIRS {
            let pairs = (2 * self.pairs.len()).max(MIN_PAIRS);
            self.pairs.resize_with(pairs, Default::default);
            self.clear();
        }
        let position = self.position(owners);
        if let Some([newer, older]) = self.pairs.get_mut(position) {
            let new = CachedGroup {
                owners,
                group,
                base: base.clone(),
            };
            let displaced = std::mem::replace(older, newer.replace(new));
            self.displaced += usize::from(displaced.is_some());
        }
    }

    /// Drops all entries and the references to bases that they hold.
    pub(super) fn clear(&mut self) {
        self.pairs.fill_with(Default::default);
        self.displaced = 0;
    }

    fn position(&self, owners: u64) -> usize {
        usize::try_from(owners % self.pairs.len().max(1) as u64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: u64) -> u64 {
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32)
    }

    #[test]
    fn most_recent_groups_are_found_and_never_another() {
        let base: Base = b"{}".as_slice().into();
        let mut cache = GroupCache::default();
        let mut known = 0;
        for round in 0..20 {
            for group in 0..400 {
                let found = cache.get(digest(group)).map(|cached| cached.group);
                assert!(found.is_none_or(|found| found == group));
                known += usize::from(round >= 10 && found.is_some());
                cache.set(digest(group), group, &base);
            }
        }
        assert!(known > 4000 * 9 / 10, "{known} of 4000");
        assert!(cache.pairs.len() < MAX_PAIRS);
        cache.clear();
        assert_eq!(Base::strong_count(&base), 1);
        assert!(cache.get(digest(1)).is_none());
    }

    #[test]
    fn cache_takes_bounded_memory() {
        let base: Base = b"{}".as_slice().into();
        let mut cache = GroupCache::default();
        for group in 0..100_000 {
            cache.set(digest(group), group, &base);
        }
        assert_eq!(cache.pairs.len(), MAX_PAIRS);
    }
}
