//! A unified diff of two texts by lines, as Go's difflib, which kube-apiserver uses, computes it.
//!
//! Several diffs are possible where lines repeat. Like difflib, this uses the Ratcliff-Obershelp algorithm: it finds the longest block of
//! matching lines (the earliest of several), then does the same before and after it. A line that is frequent in a long text starts no
//! block.

use std::collections::HashMap;
use std::fmt::Write as _;

/// Number of context lines around a change.
const CONTEXT_LINES: usize = 3;
/// Number of lines from which frequent lines are ignored.
const LONG_TEXT_LINES: usize = 200;
/// Limit of comparisons; after that, lines not yet compared count as changed.
const MAX_COMPARISONS: usize = 1 << 24;

/// Returns the changes as hunks, with three lines of context around each.
pub(super) fn unified_diff(old: &[&str], new: &[&str]) -> String {
    let edit_script = edit_script(old, new);
    let mut text = String::new();
    let (mut at, mut old_at, mut new_at) = (0, 0, 0);
    while let Some(next) = edit_script[at..].iter().position(|line| *line != Edit::Kept) {
        let before = next.min(CONTEXT_LINES);
        let skipped = next - before;
        (at, old_at, new_at) = (at + skipped, old_at + skipped, new_at + skipped);
        // Changes that are close together share a hunk.
        let mut end = at + before;
        while let Some(further) = edit_script[end..]
            .iter()
            .take(2 * CONTEXT_LINES + 1)
            .position(|line| *line != Edit::Kept)
        {
            end += further + 1;
        }
        end = edit_script
            .len()
            .min(end + edit_script[end..].iter().take(CONTEXT_LINES).count());
        let hunk = &edit_script[at..end];
        let count = |side: Edit| hunk.iter().filter(|line| **line != side).count();
        let (old_count, new_count) = (count(Edit::New), count(Edit::Old));
        let _ = writeln!(
            text,
            "@@ -{} +{} @@",
            range(old_at, old_count),
            range(new_at, new_count)
        );
        for line in hunk {
            let (mark, shown) = match line {
                Edit::Kept => (' ', old[old_at]),
                Edit::Old => ('-', old[old_at]),
                Edit::New => ('+', new[new_at]),
            };
            let _ = writeln!(text, "{mark}{shown}");
            old_at += usize::from(*line != Edit::New);
            new_at += usize::from(*line != Edit::Old);
        }
        at = end;
    }
    text
}

fn range(start: usize, count: usize) -> String {
    match count {
        1 => format!("{}", start + 1),
        0 => format!("{start},0"),
        count => format!("{},{count}", start + 1),
    }
}

/// The edit of a line: kept, removed or added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edit {
    Kept,
    Old,
    New,
}

/// A block of lines that both texts have.
struct MatchingBlock {
    old: usize,
    new: usize,
    length: usize,
}

fn edit_script(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let mut edit_script = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    let end = MatchingBlock {
        old: old.len(),
        new: new.len(),
        length: 0,
    };
    for block in matching_blocks(old, new).into_iter().chain([end]) {
        edit_script.resize(edit_script.len() + block.old - old_at, Edit::Old);
        edit_script.resize(edit_script.len() + block.new - new_at, Edit::New);
        edit_script.resize(edit_script.len() + block.length, Edit::Kept);
        (old_at, new_at) = (block.old + block.length, block.new + block.length);
    }
    edit_script
}

/// Returns the matching blocks in order. All lines between two blocks differ.
fn matching_blocks(old: &[&str], new: &[&str]) -> Vec<MatchingBlock> {
    let mut positions: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in new.iter().enumerate() {
        positions.entry(line).or_default().push(at);
    }
    if new.len() >= LONG_TEXT_LINES {
        positions.retain(|_, at| at.len() <= new.len() / 100 + 1);
    }
    let (mut blocks, mut comparisons_left) = (Vec::new(), MAX_COMPARISONS);
    let mut pending = vec![(0..old.len(), 0..new.len())];
    while let Some((of_old, of_new)) = pending.pop() {
        let mut block = MatchingBlock {
            old: of_old.start,
            new: of_new.start,
            length: 0,
        };
        // For each index in the new text: the length of the block that ends there and with the current line of the old text.
        let mut ending: HashMap<usize, usize> = HashMap::new();
        for at in of_old.clone() {
            let mut next = HashMap::new();
            for position in positions.get(old[at]).into_iter().flatten() {
                if !of_new.contains(position) || comparisons_left == 0 {
                    continue;
                }
                comparisons_left -= 1;
                let length = position
                    .checked_sub(1)
                    .and_then(|before| ending.get(&before))
                    .unwrap_or(&0)
                    + 1;
                next.insert(*position, length);
                if length > block.length {
                    block = MatchingBlock {
                        old: at + 1 - length,
                        new: position + 1 - length,
                        length,
                    };
                }
            }
            ending = next;
        }
        // Extend the block by adjacent lines that may not start one.
        while block.old > of_old.start && block.new > of_new.start && old[block.old - 1] == new[block.new - 1]
        {
            (block.old, block.new, block.length) = (block.old - 1, block.new - 1, block.length + 1);
        }
        while block.old + block.length < of_old.end
            && block.new + block.length < of_new.end
            && old[block.old + block.length] == new[block.new + block.length]
        {
            block.length += 1;
        }
        if block.length == 0 {
            continue;
        }
        pending.push((of_old.start..block.old, of_new.start..block.new));
        pending.push((
            block.old + block.length..of_old.end,
            block.new + block.length..of_new.end,
        ));
        blocks.push(block);
    }
    blocks.sort_unstable_by_key(|block| block.old);
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> String {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split(' ').collect(), new.split(' ').collect());
        unified_diff(&old, &new).replace('\n', " ")
    }

    /// The expected diffs are those of Go's difflib, with three lines of context.
    #[test]
    fn longest_block_matches_and_the_first_of_equal_ones() {
        assert_eq!(diff("a b", "a c a b"), "@@ -1,2 +1,4 @@ +a +c  a  b ");
        assert_eq!(diff("x b", "x b y x b"), "@@ -1,2 +1,5 @@  x  b +y +x +b ");
        assert_eq!(
            diff("a b c d e f g h", "a b c d X f g h"),
            "@@ -2,7 +2,7 @@  b  c  d -e +X  f  g  h "
        );
        assert_eq!(diff("a a a", "a a a"), "");
        assert_eq!(diff("a", "b"), "@@ -1 +1 @@ -a +b ");
    }

    #[test]
    fn close_changes_share_a_hunk_and_distant_ones_do_not() {
        let hunks = |between: usize| {
            let middle: Vec<String> = (0..between).map(|at| at.to_string()).collect();
            let middle = middle.join(" ");
            diff(&format!("a {middle} b"), &format!("c {middle} d"))
                .matches("@@")
                .count()
                / 2
        };
        assert_eq!(hunks(6), 1);
        assert_eq!(hunks(7), 2);
    }

    #[test]
    fn frequent_lines_of_a_long_text_start_no_block() {
        let long: Vec<String> = (0..300)
            .map(|at| {
                if at % 2 == 0 {
                    "{".to_owned()
                } else {
                    at.to_string()
                }
            })
            .collect();
        let mut new: Vec<&str> = long.iter().map(String::as_str).collect();
        let old = new.clone();
        new.splice(150..150, ["{", "X"]);
        let text = unified_diff(&old, &new);
        assert_eq!(
            text,
            "@@ -149,6 +149,8 @@\n {\n 149\n {\n+X\n+{\n 151\n {\n 153\n"
        );
        // If all lines are frequent, only a common beginning or end matches.
        let same = vec!["{"; 100_000];
        let other = vec!["{"; 99_999];
        assert!(unified_diff(&same, &other).starts_with("@@ -"));
    }
}
