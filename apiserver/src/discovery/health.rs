//! Whether the server is well: each check has a path of its own, and so have all of them together, in three places.

use crate::http::Query;
use crate::quote::quoted;
use std::fmt::Write as _;

/// Where it is asked.
pub(super) const ROOTS: [&str; 3] = ["healthz", "livez", "readyz"];

/// What is checked. A server in memory that answers is well.
pub(super) const CHECKS: [&str; 1] = ["ping"];

/// The answer to a path below a root; none where nothing is checked.
pub(super) fn answer(root: &str, below: &[&str], query: &Query) -> Option<String> {
    match below {
        [] => Some(summary(root, query)),
        [name] if CHECKS.contains(name) => Some("ok".to_owned()),
        _ => None,
    }
}

fn summary(root: &str, query: &Query) -> String {
    if !query.has("verbose") {
        return "ok".to_owned();
    }
    let mut excluded: Vec<&str> = query.values("exclude").collect();
    excluded.sort_unstable();
    excluded.dedup();
    let (excluded, unknown): (Vec<&str>, Vec<&str>) =
        excluded.into_iter().partition(|name| CHECKS.contains(name));
    let mut text = String::new();
    // Writing to a string cannot fail.
    for name in CHECKS {
        let how = if excluded.contains(&name) {
            " excluded:"
        } else {
            ""
        };
        let _ = writeln!(text, "[+]{name}{how} ok");
    }
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().map(|name| quoted(name)).collect();
        let names = names.join(", ");
        let _ = writeln!(
            text,
            "warn: some health checks cannot be excluded: no matches for {names}"
        );
    }
    let _ = writeln!(text, "{root} check passed");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_told_one_by_one() {
        let of = |root: &str, query: &str| summary(root, &Query::parse(query));
        assert_eq!(of("livez", ""), "ok");
        assert_eq!(of("livez", "exclude=x"), "ok");
        assert_eq!(of("livez", "verbose"), "[+]ping ok\nlivez check passed\n");
        assert_eq!(
            of("readyz", "verbose&exclude=ping&exclude=b&exclude=a&exclude=b"),
            "[+]ping excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"a\", \"b\"\nreadyz check passed\n"
        );
    }

    #[test]
    fn only_checks_have_paths() {
        let of = |below: &[&str]| answer("healthz", below, &Query::default()).is_some();
        assert!(of(&[]) && of(&["ping"]));
        assert!(!of(&["nope"]) && !of(&["ping", "nope"]) && !of(&[""]));
    }
}
