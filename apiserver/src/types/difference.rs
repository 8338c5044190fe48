//! What differs between two texts, shown line by line as the real server's library for it does.
//!
//! Which lines count as kept is a matter of taste where lines repeat. Here they are found as Ratcliff and Obershelp did: the longest run
//! of lines that both texts have, the earliest of several, then the same before it and after it. A line that is frequent in a long
//! text begins no run.

use std::collections::HashMap;
use std::fmt::Write as _;

/// How many lines around a difference are shown.
const AROUND: usize = 3;
/// A text of so many lines is a long one.
const LONG: usize = 200;
/// More comparisons than this are not made: then what is not yet compared differs.
const MOST: usize = 1 << 24;

/// The differences, with three lines around each.
pub(super) fn unified(old: &[&str], new: &[&str]) -> String {
    let script = script(old, new);
    let mut text = String::new();
    let (mut at, mut old_at, mut new_at) = (0, 0, 0);
    while let Some(next) = script[at..].iter().position(|line| *line != Line::Kept) {
        let before = next.min(AROUND);
        let skipped = next - before;
        (at, old_at, new_at) = (at + skipped, old_at + skipped, new_at + skipped);
        // As long as the next difference is near, it is shown with this one.
        let mut end = at + before;
        while let Some(further) = script[end..]
            .iter()
            .take(2 * AROUND + 1)
            .position(|line| *line != Line::Kept)
        {
            end += further + 1;
        }
        end = script.len().min(end + script[end..].iter().take(AROUND).count());
        let hunk = &script[at..end];
        let count = |side: Line| hunk.iter().filter(|line| **line != side).count();
        let (old_count, new_count) = (count(Line::New), count(Line::Old));
        let _ = writeln!(
            text,
            "@@ -{} +{} @@",
            range(old_at, old_count),
            range(new_at, new_count)
        );
        for line in hunk {
            let (mark, shown) = match line {
                Line::Kept => (' ', old[old_at]),
                Line::Old => ('-', old[old_at]),
                Line::New => ('+', new[new_at]),
            };
            let _ = writeln!(text, "{mark}{shown}");
            old_at += usize::from(*line != Line::New);
            new_at += usize::from(*line != Line::Old);
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

/// A line that is kept, taken away or added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Kept,
    Old,
    New,
}

/// A run of lines that both texts have.
struct Run {
    old: usize,
    new: usize,
    length: usize,
}

fn script(old: &[&str], new: &[&str]) -> Vec<Line> {
    let mut script = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    let end = Run {
        old: old.len(),
        new: new.len(),
        length: 0,
    };
    for run in runs(old, new).into_iter().chain([end]) {
        script.resize(script.len() + run.old - old_at, Line::Old);
        script.resize(script.len() + run.new - new_at, Line::New);
        script.resize(script.len() + run.length, Line::Kept);
        (old_at, new_at) = (run.old + run.length, run.new + run.length);
    }
    script
}

/// The runs in order. Between two of them, all lines differ.
fn runs(old: &[&str], new: &[&str]) -> Vec<Run> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    if new.len() >= LONG {
        places.retain(|_, at| at.len() <= new.len() / 100 + 1);
    }
    let (mut found, mut left) = (Vec::new(), MOST);
    let mut open = vec![(0..old.len(), 0..new.len())];
    while let Some((of_old, of_new)) = open.pop() {
        let mut run = Run {
            old: of_old.start,
            new: of_new.start,
            length: 0,
        };
        // By where it ends in the new text: how long the run is that ends with the last line of the old one.
        let mut ending: HashMap<usize, usize> = HashMap::new();
        for at in of_old.clone() {
            let mut next = HashMap::new();
            for place in places.get(old[at]).into_iter().flatten() {
                if !of_new.contains(place) || left == 0 {
                    continue;
                }
                left -= 1;
                let length = place
                    .checked_sub(1)
                    .and_then(|before| ending.get(&before))
                    .unwrap_or(&0)
                    + 1;
                next.insert(*place, length);
                if length > run.length {
                    run = Run {
                        old: at + 1 - length,
                        new: place + 1 - length,
                        length,
                    };
                }
            }
            ending = next;
        }
        // By the lines that begin none.
        while run.old > of_old.start && run.new > of_new.start && old[run.old - 1] == new[run.new - 1] {
            (run.old, run.new, run.length) = (run.old - 1, run.new - 1, run.length + 1);
        }
        while run.old + run.length < of_old.end
            && run.new + run.length < of_new.end
            && old[run.old + run.length] == new[run.new + run.length]
        {
            run.length += 1;
        }
        if run.length == 0 {
            continue;
        }
        open.push((of_old.start..run.old, of_new.start..run.new));
        open.push((run.old + run.length..of_old.end, run.new + run.length..of_new.end));
        found.push(run);
    }
    found.sort_unstable_by_key(|run| run.old);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(old: &str, new: &str) -> String {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split(' ').collect(), new.split(' ').collect());
        unified(&old, &new).replace('\n', " ")
    }

    /// What Go's difflib says of these, three lines around.
    #[test]
    fn the_longest_run_is_kept_and_of_several_the_first() {
        assert_eq!(of("a b", "a c a b"), "@@ -1,2 +1,4 @@ +a +c  a  b ");
        assert_eq!(of("x b", "x b y x b"), "@@ -1,2 +1,5 @@  x  b +y +x +b ");
        assert_eq!(
            of("a b c d e f g h", "a b c d X f g h"),
            "@@ -2,7 +2,7 @@  b  c  d -e +X  f  g  h "
        );
        assert_eq!(of("a a a", "a a a"), "");
        assert_eq!(of("a", "b"), "@@ -1 +1 @@ -a +b ");
    }

    #[test]
    fn near_differences_share_a_hunk_and_far_ones_do_not() {
        let hunks = |between: usize| {
            let middle: Vec<String> = (0..between).map(|at| at.to_string()).collect();
            let middle = middle.join(" ");
            of(&format!("a {middle} b"), &format!("c {middle} d"))
                .matches("@@")
                .count()
                / 2
        };
        assert_eq!(hunks(6), 1);
        assert_eq!(hunks(7), 2);
    }

    #[test]
    fn frequent_lines_of_a_long_text_begin_no_run() {
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
        let told = unified(&old, &new);
        assert_eq!(
            told,
            "@@ -149,6 +149,8 @@\n {\n 149\n {\n+X\n+{\n 151\n {\n 153\n"
        );
        // Of nothing but frequent lines, only what both begin or end with is found.
        let same = vec!["{"; 100_000];
        let other = vec!["{"; 99_999];
        assert!(unified(&same, &other).starts_with("@@ -"));
    }
}
