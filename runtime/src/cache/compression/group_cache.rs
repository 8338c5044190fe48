//! To which family an object belongs, by what its owner references look like.

use super::delta_group::Base;

/// Pairs of shortcuts at first, and at most.
const FEWEST: usize = 16;
const MOST: usize = 2048;

/// The families of the owner references that came lately, by a digest of those. To find a family by its controller's uid is to wait for
/// memory four times, one after another, before the first byte of its exemplar is known.
///
/// Some are forgotten. Where two digests are the same by chance, an object is compared with the exemplar of another family, which then
/// does not fit.
#[derive(Debug, Default)]
pub(super) struct GroupCache {
    /// The newer one of each pair first.
    pairs: Vec<[Option<Shortcut>; 2]>,
    /// So many were displaced since all were forgotten.
    displaced: usize,
}

#[derive(Debug)]
pub(super) struct Shortcut {
    owners: u64,
    pub(super) family: u64,
    pub(super) exemplar: Base,
}

impl GroupCache {
    pub(super) fn get(&self, owners: u64) -> Option<&Shortcut> {
        let pair = self.pairs.get(self.place(owners))?;
        pair.iter().flatten().find(|known| known.owners == owners)
    }

    pub(super) fn set(&mut self, owners: u64, family: u64, exemplar: &Base) {
        if self.get(owners).is_some() {
            return;
        }
        if self.displaced >= self.pairs.len() && self.pairs.len() < MOST {
            let pairs = (2 * self.pairs.len()).max(FEWEST);
            self.pairs.resize_with(pairs, Default::default);
            self.forget();
        }
        let place = self.place(owners);
        if let Some([newer, older]) = self.pairs.get_mut(place) {
            let new = Shortcut {
                owners,
                family,
                exemplar: exemplar.clone(),
            };
            let displaced = std::mem::replace(older, newer.replace(new));
            self.displaced += usize::from(displaced.is_some());
        }
    }

    /// Lets go of all exemplars.
    pub(super) fn forget(&mut self) {
        self.pairs.fill_with(Default::default);
        self.displaced = 0;
    }

    fn place(&self, owners: u64) -> usize {
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
    fn most_of_those_that_come_again_are_known_and_none_is_another() {
        let exemplar: Base = b"{}".as_slice().into();
        let mut shortcuts = GroupCache::default();
        let mut known = 0;
        for round in 0..20 {
            for family in 0..400 {
                let found = shortcuts.get(digest(family)).map(|shortcut| shortcut.family);
                assert!(found.is_none_or(|found| found == family));
                known += usize::from(round >= 10 && found.is_some());
                shortcuts.set(digest(family), family, &exemplar);
            }
        }
        assert!(known > 4000 * 9 / 10, "{known} of 4000");
        assert!(shortcuts.pairs.len() < MOST);
        shortcuts.forget();
        assert_eq!(Base::strong_count(&exemplar), 1);
        assert!(shortcuts.get(digest(1)).is_none());
    }

    #[test]
    fn they_take_a_bounded_room() {
        let exemplar: Base = b"{}".as_slice().into();
        let mut shortcuts = GroupCache::default();
        for family in 0..100_000 {
            shortcuts.set(digest(family), family, &exemplar);
        }
        assert_eq!(shortcuts.pairs.len(), MOST);
    }
}
