//! Health endpoints: `/healthz`, `/livez` and `/readyz`, and each check below them.

use crate::quote::quoted;
use crate::request::Query;
use std::fmt::Write as _;

/// The health endpoints.
pub(super) const ENDPOINTS: [&str; 3] = ["healthz", "livez", "readyz"];

/// The names of the checks. An in-memory server that responds is healthy.
pub(super) const CHECKS: [&str; 1] = ["ping"];

/// Returns the response to a path below an endpoint; `None` for an unknown check.
pub(super) fn respond(endpoint: &str, subpath: &[&str], query: &Query) -> Option<String> {
    match subpath {
        [] => Some(summarize(endpoint, query)),
        [name] if CHECKS.contains(name) => Some("ok".to_owned()),
        _ => None,
    }
}

fn summarize(endpoint: &str, query: &Query) -> String {
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
        let marker = if excluded.contains(&name) {
            " excluded:"
        } else {
            ""
        };
        let _ = writeln!(text, "[+]{name}{marker} ok");
    }
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().map(|name| quoted(name)).collect();
        let names = names.join(", ");
        let _ = writeln!(
            text,
            "warn: some health checks cannot be excluded: no matches for {names}"
        );
    }
    let _ = writeln!(text, "{endpoint} check passed");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbose_lists_each_check() {
        let summary_of = |endpoint: &str, query: &str| summarize(endpoint, &Query::parse(query));
        assert_eq!(summary_of("livez", ""), "ok");
        assert_eq!(summary_of("livez", "exclude=x"), "ok");
        assert_eq!(summary_of("livez", "verbose"), "[+]ping ok\nlivez check passed\n");
        assert_eq!(
            summary_of("readyz", "verbose&exclude=ping&exclude=b&exclude=a&exclude=b"),
            "[+]ping excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"a\", \"b\"\nreadyz check passed\n"
        );
    }

    #[test]
    fn only_known_checks_have_paths() {
        let is_found = |subpath: &[&str]| respond("healthz", subpath, &Query::default()).is_some();
        assert!(is_found(&[]) && is_found(&["ping"]));
        assert!(!is_found(&["nope"]) && !is_found(&["ping", "nope"]) && !is_found(&[""]));
    }
}
