//! Serves `/livez` (alias `/healthz`), `/readyz` and `/syncz`: named checks that must all pass.

use std::{
    fmt::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use http::{StatusCode, Uri};

use super::server::{HttpHandler, TextResponse};
use crate::panics;

type Check = dyn Fn() -> Result<(), String> + Send + Sync;

/// The checks of one endpoint, in display order.
#[derive(Default)]
pub(super) struct Checks(Vec<(String, Box<Check>)>);

impl Checks {
    /// Adds a check. Its error is shown as the reason of the failure. It is called for every probe and must not block.
    pub(super) fn with(
        mut self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.0.push((name.into(), Box::new(check)));
        self
    }

    /// Runs all checks, or `only` one: 200 if they pass, else 500 with a line per check. `verbose` lists them on success too.
    fn report(&self, only: Option<&str>, query: &ProbeQuery<'_>) -> TextResponse {
        let (mut lines, mut passed, mut found) = (String::new(), true, only.is_none());
        for (name, check) in &self.0 {
            if only.is_some_and(|only| only != name) || query.excluded.contains(&name.as_str()) {
                continue;
            }
            found = true;
            let result = catch_unwind(AssertUnwindSafe(check))
                .unwrap_or_else(|panic| Err(format!("the check panicked: {}", panics::message(&*panic))));
            // Writing to a `String` cannot fail.
            let _ = match result {
                Ok(()) => writeln!(lines, "[+] {name} ok"),
                Err(reason) => {
                    passed = false;
                    writeln!(lines, "[-] {name} failed: {reason}")
                }
            };
        }
        match (found, passed, query.is_verbose) {
            (false, ..) => TextResponse::not_found(),
            (true, true, false) => TextResponse::text(StatusCode::OK, "ok\n"),
            (true, true, true) => TextResponse::text(StatusCode::OK, lines),
            (true, false, _) => TextResponse::text(StatusCode::INTERNAL_SERVER_ERROR, lines),
        }
    }
}

/// The query parameters of a probe: the same as of the API server's probes.
#[derive(Default)]
struct ProbeQuery<'a> {
    is_verbose: bool,
    excluded: Vec<&'a str>,
}

impl<'a> ProbeQuery<'a> {
    fn parse(text: &'a str) -> Self {
        let mut query = Self::default();
        for pair in text.split('&') {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("verbose", _) => query.is_verbose = true,
                ("exclude", name) => query.excluded.push(name),
                _ => {}
            }
        }
        query
    }
}

/// Returns the handler of `/livez`, `/healthz`, `/readyz` and `/syncz`, with each check by name below them. `?verbose` lists the checks,
/// `?exclude=name` leaves one out.
pub(super) fn handler(livez: Checks, readyz: Checks, syncz: Checks) -> HttpHandler {
    Arc::new(move |uri: &Uri| {
        let query = ProbeQuery::parse(uri.query().unwrap_or_default());
        let path = uri.path().trim_matches('/');
        let (probe, only) = match path.split_once('/') {
            Some((probe, name)) => (probe, Some(name)),
            None => (path, None),
        };
        match probe {
            "livez" | "healthz" => livez.report(only, &query),
            "readyz" => readyz.report(only, &query),
            "syncz" => syncz.report(only, &query),
            _ => TextResponse::not_found(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &'static str) -> (u16, String) {
        let healthz = Checks::default().with("ping", || Ok(()));
        let readyz = Checks::default()
            .with("connected", || Ok(()))
            .with("caches", || Err("waiting for foos.demo.dev".into()));
        let response = handler(healthz, readyz, Checks::default())(&Uri::from_static(path));
        (response.status.as_u16(), response.body)
    }

    #[test]
    fn passing_probe_returns_ok_and_verbose_lists_the_checks() {
        assert_eq!(get("/healthz"), (200, "ok\n".into()));
        assert_eq!(get("/healthz?verbose"), (200, "[+] ping ok\n".into()));
        assert_eq!(get("/livez/"), (200, "ok\n".into()));
        assert_eq!(get("/"), (404, "not found\n".into()));
    }

    #[test]
    fn one_check_can_be_selected_or_excluded() {
        assert_eq!(get("/readyz/connected"), (200, "ok\n".into()));
        assert_eq!(get("/readyz/caches").0, 500);
        assert_eq!(get("/readyz/nothing").0, 404);
        assert_eq!(
            get("/readyz?exclude=caches&verbose"),
            (200, "[+] connected ok\n".into())
        );
    }

    #[test]
    fn panicking_check_fails_only_its_own_probe() {
        let readyz = Checks::default().with("torn", || panic!("oh"));
        let handler = handler(
            Checks::default().with("ping", || Ok(())),
            readyz,
            Checks::default(),
        );
        let response = handler(&Uri::from_static("/readyz"));
        assert_eq!(
            (response.status.as_u16(), &*response.body),
            (500, "[-] torn failed: the check panicked: oh\n")
        );
        assert_eq!(handler(&Uri::from_static("/livez")).status, 200);
    }

    #[test]
    fn failing_check_fails_the_probe_with_its_reason() {
        let lines = "[+] connected ok\n[-] caches failed: waiting for foos.demo.dev\n";
        assert_eq!(get("/readyz"), (500, lines.into()));
    }
}
