//! `/livez` (also called `/healthz`) and `/readyz`: named checks, all of which must pass.

use std::{
    fmt::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use http::{StatusCode, Uri};

use super::server::{Answer, Handler};
use crate::panics;

type Check = dyn Fn() -> Result<(), String> + Send + Sync;

/// The checks of one endpoint, in the order in which they are listed.
#[derive(Default)]
pub(super) struct Checks(Vec<(String, Box<Check>)>);

impl Checks {
    /// Adds a check, which says what is missing. It is called for every probe and must return at once.
    pub(super) fn with(
        mut self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.0.push((name.into(), Box::new(check)));
        self
    }

    /// 200 when all pass, else 500 with a line for each check; the same lines on success when `verbose`.
    fn report(&self, only: Option<&str>, question: &Question<'_>) -> Answer {
        let (mut lines, mut passed, mut asked) = (String::new(), true, only.is_none());
        for (name, check) in &self.0 {
            if only.is_some_and(|only| only != name) || question.excluded.contains(&name.as_str()) {
                continue;
            }
            asked = true;
            let result = catch_unwind(AssertUnwindSafe(check))
                .unwrap_or_else(|panic| Err(format!("the check panicked: {}", panics::message(&*panic))));
            // Writing to a String cannot fail.
            let _ = match result {
                Ok(()) => writeln!(lines, "[+] {name} ok"),
                Err(reason) => {
                    passed = false;
                    writeln!(lines, "[-] {name} failed: {reason}")
                }
            };
        }
        match (asked, passed, question.is_verbose) {
            (false, ..) => Answer::not_found(),
            (true, true, false) => Answer::text(StatusCode::OK, "ok\n"),
            (true, true, true) => Answer::text(StatusCode::OK, lines),
            (true, false, _) => Answer::text(StatusCode::INTERNAL_SERVER_ERROR, lines),
        }
    }
}

/// What the query asks for, as of the API server's own probes.
#[derive(Default)]
struct Question<'a> {
    is_verbose: bool,
    excluded: Vec<&'a str>,
}

impl<'a> Question<'a> {
    fn of(query: &'a str) -> Self {
        let mut question = Self::default();
        for pair in query.split('&') {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("verbose", _) => question.is_verbose = true,
                ("exclude", name) => question.excluded.push(name),
                _ => {}
            }
        }
        question
    }
}

/// Serves `/livez`, `/healthz` and `/readyz`, and each check by its name below them; `?verbose` lists the checks, `?exclude=name`
/// leaves one out.
pub(super) fn handler(livez: Checks, readyz: Checks) -> Handler {
    Arc::new(move |uri: &Uri| {
        let question = Question::of(uri.query().unwrap_or_default());
        let path = uri.path().trim_matches('/');
        let (probe, only) = match path.split_once('/') {
            Some((probe, name)) => (probe, Some(name)),
            None => (path, None),
        };
        match probe {
            "livez" | "healthz" => livez.report(only, &question),
            "readyz" => readyz.report(only, &question),
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
        assert_eq!(ask("/livez/"), (200, "ok\n".into()));
        assert_eq!(ask("/"), (404, "not found\n".into()));
    }

    #[test]
    fn one_check_can_be_asked_alone_or_left_out() {
        assert_eq!(ask("/readyz/connected"), (200, "ok\n".into()));
        assert_eq!(ask("/readyz/caches").0, 500);
        assert_eq!(ask("/readyz/nothing").0, 404);
        assert_eq!(
            ask("/readyz?exclude=caches&verbose"),
            (200, "[+] connected ok\n".into())
        );
    }

    #[test]
    fn a_check_that_panics_fails_its_probe_alone() {
        let readyz = Checks::default().with("torn", || panic!("oh"));
        let handler = handler(Checks::default().with("ping", || Ok(())), readyz);
        let answer = handler(&Uri::from_static("/readyz"));
        assert_eq!(
            (answer.status.as_u16(), &*answer.body),
            (500, "[-] torn failed: the check panicked: oh\n")
        );
        assert_eq!(handler(&Uri::from_static("/livez")).status, 200);
    }

    #[test]
    fn one_failing_check_fails_the_probe_and_says_why() {
        let lines = "[+] connected ok\n[-] caches failed: waiting for foos.demo.dev\n";
        assert_eq!(ask("/readyz"), (500, lines.into()));
    }
}
