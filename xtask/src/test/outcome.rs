//! Whether a run of a program passed: it succeeded, and ran as many tests as the program lists.

use super::libtest::parse_summary;
use super::programs::Selection;
use std::process::ExitStatus;

/// A successful run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// How many tests ran.
    pub(crate) ran: usize,
}

/// How many tests a program lists, and how many of them are ignored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub(crate) tests: usize,
    pub(crate) ignored: usize,
}

/// Compares a program's output with its list. No test may be missing, so that nothing is skipped silently.
pub(crate) fn check(
    listed: Listed,
    selection: Selection,
    status: ExitStatus,
    output: &str,
) -> Result<Outcome, String> {
    let Some(summary) = parse_summary(output) else {
        return Err(format!("{status}, and no summary was printed"));
    };
    if !status.success() || summary.failed > 0 {
        return Err(format!("{} tests failed ({status})", summary.failed));
    }
    let (ran, left_out) = match selection {
        Selection::Plain => (listed.tests - listed.ignored, summary.ignored),
        Selection::Ignored => (listed.ignored, summary.filtered_out),
    };
    if summary.passed != ran || summary.passed + left_out != listed.tests {
        return Err(format!(
            "{} tests ran and {left_out} did not, but the program lists {}, of which {} are ignored",
            summary.passed, listed.tests, listed.ignored
        ));
    }
    Ok(Outcome { ran })
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
