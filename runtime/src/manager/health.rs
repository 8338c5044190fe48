//! `/healthz` and `/readyz`: named checks, all of which must pass.

use std::{fmt::Write as _, sync::Arc};

use http::{StatusCode, Uri};

use super::server::{Answer, Handler};

type Check = dyn Fn() -> Result<(), String> + Send + Sync;

/// The checks of one endpoint, in the order in which they are listed.
#[derive(Default)]
pub(super) struct Checks(Vec<(&'static str, Box<Check>)>);

impl Checks {
    /// Adds a check, which says what is missing. It is called for every probe and must return at once.
    pub(super) fn with(
        mut self,
        name: &'static str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.0.push((name, Box::new(check)));
        self
    }

    /// 200 when all pass, else 500 with a line for each check; the same lines on success when `verbose`.
    fn report(&self, verbose: bool) -> Answer {
        let (mut lines, mut passed) = (String::new(), true);
        for (name, check) in &self.0 {
            // Writing to a String cannot fail.
            let _ = match check() {
                Ok(()) => writeln!(lines, "[+] {name} ok"),
                Err(reason) => {
                    passed = false;
                    writeln!(lines, "[-] {name} failed: {reason}")
                }
            };
        }
        match (passed, verbose) {
            (true, false) => Answer::text(StatusCode::OK, "ok\n"),
            (true, true) => Answer::text(StatusCode::OK, lines),
            (false, _) => Answer::text(StatusCode::INTERNAL_SERVER_ERROR, lines),
        }
    }
}

/// Serves `/healthz` and `/readyz`; `?verbose` lists the checks.
pub(super) fn handler(healthz: Checks, readyz: Checks) -> Handler {
    Arc::new(move |uri: &Uri| {
        let verbose = uri.query().is_some_and(|query| {
            query
                .split('&')
                .any(|pair| pair == "verbose" || pair.starts_with("verbose="))
        });
        match uri.path().trim_end_matches('/') {
            "/healthz" => healthz.report(verbose),
            "/readyz" => readyz.report(verbose),
            _ => Answer::not_found(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(path: &'static str) -> (u16, String) {
        let healthz = Checks::default().with("ping", || Ok(()));
        let readyz = Checks::default()
            .with("connected", || Ok(()))
            .with("caches", || Err("waiting for foos.demo.dev".into()));
        let answer = handler(healthz, readyz)(&Uri::from_static(path));
        (answer.status.as_u16(), answer.body)
    }

    #[test]
    fn passes_in_one_word_and_lists_the_checks_on_request() {
        assert_eq!(ask("/healthz"), (200, "ok\n".into()));
        assert_eq!(ask("/healthz?verbose"), (200, "[+] ping ok\n".into()));
        assert_eq!(ask("/"), (404, "not found\n".into()));
    }

    #[test]
    fn one_failing_check_fails_the_probe_and_says_why() {
        let lines = "[+] connected ok\n[-] caches failed: waiting for foos.demo.dev\n";
        assert_eq!(ask("/readyz"), (500, lines.into()));
    }
}
