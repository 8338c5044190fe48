//! Three-way merge of lines, as in diff3.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// A region that both sides changed differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The lines of the base.
    pub base: String,
    /// The user's lines.
    pub ours: String,
    /// kubewright's lines.
    pub theirs: String,
}

/// Applies the changes of both sides to `base`. Returns the conflicts if both changed the same or adjacent lines
/// differently.
///
/// Line endings are part of lines. Equal changes of both sides are one change.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, Vec<Conflict>> {
    let [base, ours, theirs] =
        [base, ours, theirs].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let (our_edits, their_edits) = (edits(&base, &ours), edits(&base, &theirs));
    let mut merged = String::new();
    let mut conflicts = Vec::new();
    let (mut a, mut b) = (our_edits.as_slice(), their_edits.as_slice());
    // The position in each text.
    let (mut in_base, mut in_ours, mut in_theirs) = (0, 0, 0);
    while let Some(start) = a
        .first()
        .into_iter()
        .chain(b.first())
        .map(|edit| edit.start)
        .min()
    {
        let same = start - in_base;
        merged.extend(base[in_base..start].iter().copied());
        (in_ours, in_theirs) = (in_ours + same, in_theirs + same);

        // The region grows until neither side has an edit that touches it.
        let (mut end, mut our_growth, mut their_growth) = (start, 0, 0);
        loop {
            let before = (a.len(), b.len());
            take_adjacent(&mut a, &mut end, &mut our_growth);
            take_adjacent(&mut b, &mut end, &mut their_growth);
            if before == (a.len(), b.len()) {
                break;
            }
        }
        let length = end - start;
        let from_base = base[start..end].concat();
        let ours_end = (in_ours + length).saturating_add_signed(our_growth);
        let theirs_end = (in_theirs + length).saturating_add_signed(their_growth);
        let from_ours = ours[in_ours..ours_end].concat();
        let from_theirs = theirs[in_theirs..theirs_end].concat();
        (in_base, in_ours, in_theirs) = (end, ours_end, theirs_end);

        if from_ours == from_theirs || from_theirs == from_base {
            merged.push_str(&from_ours);
        } else if from_ours == from_base {
            merged.push_str(&from_theirs);
        } else {
            conflicts.push(Conflict {
                base: from_base,
                ours: from_ours,
                theirs: from_theirs,
            });
        }
    }
    merged.extend(base[in_base..].iter().copied());
    if conflicts.is_empty() {
        Ok(merged)
    } else {
        Err(conflicts)
    }
}

/// Replacement of the base's lines `start..end` by `end - start + growth` lines.
struct LineEdit {
    start: usize,
    end: usize,
    growth: isize,
}

fn edits(base: &[&str], side: &[&str]) -> Vec<LineEdit> {
    capture_diff_slices(Algorithm::Myers, base, side)
        .iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| {
            let (old, new) = (op.old_range(), op.new_range());
            LineEdit {
                start: old.start,
                end: old.end,
                growth: new.len().cast_signed() - old.len().cast_signed(),
            }
        })
        .collect()
}

fn take_adjacent(edits: &mut &[LineEdit], end: &mut usize, growth: &mut isize) {
    while let Some((first, rest)) = edits.split_first() {
        if first.start > *end {
            return;
        }
        *end = (*end).max(first.end);
        *growth += first.growth;
        *edits = rest;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn applies_the_changes_of_both_sides() {
        let base = "1\n2\n3\n4\n5\n";
        assert_eq!(
            merge(base, "0\n1\n2\n3\n4\n5\n", "1\n2\n3\n4\n").unwrap(),
            "0\n1\n2\n3\n4\n"
        );
        assert_eq!(
            merge(base, "1\nX\n3\n4\n5\n", "1\n2\n3\nY\n5\n").unwrap(),
            "1\nX\n3\nY\n5\n"
        );
        assert_eq!(
            merge(base, "1\nX\n3\n4\n5\n", "1\nX\n3\n4\n5\n").unwrap(),
            "1\nX\n3\n4\n5\n"
        );
    }

    #[test]
    fn overlapping_changes_conflict() {
        let conflicts = merge("1\n2\n3\n", "1\nX\n3\n", "1\nY\n3\n").unwrap_err();
        let expected = Conflict {
            base: "2\n".into(),
            ours: "X\n".into(),
            theirs: "Y\n".into(),
        };
        assert_eq!(conflicts, [expected]);
        assert!(
            merge("1\n2\n", "1\nX\n2\n", "1\nY\n2\n").is_err(),
            "inserted at one place"
        );
        assert!(merge("1\n", "", "2\n").is_err(), "deleted and changed");
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop_oneof![Just("a\n"), Just("b\n"), Just("c\n"), Just("\n"), Just("d\r\n")];
        (prop::collection::vec(line, 0..12), prop::option::of("[ab]"))
            .prop_map(|(lines, last)| lines.concat() + last.as_deref().unwrap_or_default())
    }

    proptest! {
        #[test]
        fn changes_of_one_side_are_applied(base in text(), side in text()) {
            prop_assert_eq!(merge(&base, &side, &base).unwrap(), side.clone());
            prop_assert_eq!(merge(&base, &base, &side).unwrap(), side.clone());
            prop_assert_eq!(merge(&base, &side, &side).unwrap(), side);
        }

        #[test]
        fn merge_is_symmetric(base in text(), ours in text(), theirs in text()) {
            match (merge(&base, &ours, &theirs), merge(&base, &theirs, &ours)) {
                (Ok(one), Ok(other)) => prop_assert_eq!(one, other),
                (Err(one), Err(other)) => prop_assert_eq!(one.len(), other.len()),
                (one, other) => prop_assert!(false, "{one:?} {other:?}"),
            }
        }

        #[test]
        fn edits_of_separate_regions_both_apply(
            before in 0usize..5, between in 1usize..5, after in 0usize..5,
            ours in prop::collection::vec("o[0-9]\n", 0..4), theirs in prop::collection::vec("t[0-9]\n", 0..4),
        ) {
            // Unique lines, so that the diff is unambiguous.
            let same = |name: &str, n: usize| (0..n).map(|i| format!("{name}{i}\n")).collect::<Vec<_>>().concat();
            let (before, between, after) = (same("x", before), same("y", between), same("z", after));
            let (ours, theirs) = (ours.concat(), theirs.concat());
            let base = format!("{before}A\n{between}B\n{after}");
            let merged = merge(
                &base,
                &format!("{before}{ours}{between}B\n{after}"),
                &format!("{before}A\n{between}{theirs}{after}"),
            );
            prop_assert_eq!(merged.unwrap(), format!("{before}{ours}{between}{theirs}{after}"));
        }
    }
}
