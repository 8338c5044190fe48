//! The recording of kube-controller-manager.

use std::fs;

pub(crate) const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/recorded.txt");

/// Compares with the recording, line by line, as `normalize` makes them. An object that is missing or surplus is a difference even if others
/// have the same line; of events, each line counts once. Empty lines do not count.
pub(crate) fn compare(found: &[String], normalize: impl Fn(&str) -> String) {
    let recorded = fs::read_to_string(RECORDED).unwrap();
    let mut missing: Vec<String> = recorded.lines().map(&normalize).collect();
    let mut report = Vec::new();
    for line in found.iter().map(|line| normalize(line)) {
        match missing.iter().position(|recorded| *recorded == line) {
            Some(position) => drop(missing.swap_remove(position)),
            None => report.push(format!("found:    {line}")),
        }
    }
    report.extend(missing.iter().map(|line| format!("recorded: {line}")));
    report.retain(|line| line.len() > 10);
    // The two lines about one object, one below the other.
    report.sort_by_key(|line| line[10..].chars().take(40).collect::<String>());
    assert!(report.is_empty(), "{}", report.join("\n"));
}
