//! A set of completion indexes, and its text in the status: `1,3-5,7`.

use std::fmt;

/// Indexes as inclusive ranges: in order, with a gap between two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct IndexSet(Vec<(u32, u32)>);

impl IndexSet {
    /// Parses a text. Leaves out what is not a range, and indexes that are not below `completions`.
    pub(super) fn parse(text: &str, completions: u32) -> Self {
        let mut ranges = Vec::new();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let Some((first, last)) = parse_range(item) else {
                tracing::debug!("{item:?} is no range of completion indexes");
                continue;
            };
            if let Some(end) = completions.checked_sub(1)
                && first <= end
            {
                ranges.push((first, last.min(end)));
            }
        }
        Self::of_ranges(ranges)
    }

    /// Returns the union of two sets.
    #[must_use]
    pub(super) fn union(&self, other: &Self) -> Self {
        let mut ranges = self.0.clone();
        ranges.extend(&other.0);
        Self::of_ranges(ranges)
    }

    /// Returns the set with more indexes.
    #[must_use]
    pub(super) fn with(&self, indexes: impl IntoIterator<Item = u32>) -> Self {
        let more = indexes.into_iter().map(|index| (index, index));
        Self::of_ranges(self.0.iter().copied().chain(more).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of indexes.
    pub(super) fn len(&self) -> usize {
        let lengths = self.0.iter().map(|&(first, last)| to_usize(last - first) + 1);
        lengths.sum()
    }

    pub(super) fn contains(&self, index: u32) -> bool {
        let position = self.0.partition_point(|&(_, last)| last < index);
        self.0.get(position).is_some_and(|&(first, _)| first <= index)
    }

    /// Returns how many indexes two sets have in common.
    pub(super) fn common(&self, other: &Self) -> usize {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut count = 0;
        while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
            let (first, last) = (one.0.max(two.0), one.1.min(two.1));
            if first <= last {
                count += to_usize(last - first) + 1;
            }
            if one.1 < two.1 {
                left.next()
            } else {
                right.next()
            };
        }
        count
    }

    /// Returns the indexes below `completions` that are not in the set, in order.
    pub(super) fn missing(&self, completions: u32) -> impl Iterator<Item = u32> {
        let starts = std::iter::once(0).chain(self.0.iter().map(|&(_, last)| last.saturating_add(1)));
        let ends = self.0.iter().map(|&(first, _)| first).chain([completions]);
        starts
            .zip(ends)
            .flat_map(move |(start, end)| start..end.min(completions))
    }

    fn of_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }
}

impl fmt::Display for IndexSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, &(first, last)) in self.0.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

fn parse_range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = (first.parse().ok()?, last.parse().ok()?);
    (range.0 <= range.1).then_some(range)
}

fn to_usize(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[path = "index_set_tests.rs"]
mod tests;
