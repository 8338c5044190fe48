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
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    const LISTED: Listed = Listed {
        tests: 10,
        ignored: 4,
    };

    fn result(selection: Selection, code: i32, numbers: [usize; 4]) -> Result<Outcome, String> {
        let [passed, failed, ignored, filtered] = numbers;
        let output = format!(
            "test result: x. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; {filtered} filtered out; finished in 0.00s"
        );
        check(LISTED, selection, ExitStatus::from_raw(code << 8), &output)
    }

    #[test]
    fn complete_runs_succeed() {
        assert_eq!(result(Selection::Plain, 0, [6, 0, 4, 0]), Ok(Outcome { ran: 6 }));
        assert_eq!(
            result(Selection::Ignored, 0, [4, 0, 0, 6]),
            Ok(Outcome { ran: 4 })
        );
    }

    #[test]
    fn missing_tests_fail_a_successful_run() {
        for (selection, numbers) in [
            (Selection::Plain, [5, 0, 4, 0]),
            (Selection::Plain, [5, 0, 5, 0]),
            (Selection::Ignored, [3, 0, 0, 7]),
            (Selection::Ignored, [4, 0, 0, 5]),
        ] {
            let reason = result(selection, 0, numbers).unwrap_err();
            assert!(reason.contains("lists 10, of which 4 are ignored"), "{reason}");
        }
    }

    #[test]
    fn failed_tests_and_crashes_fail() {
        assert!(
            result(Selection::Plain, 101, [5, 1, 4, 0])
                .unwrap_err()
                .starts_with("1 tests failed")
        );
        assert!(
            result(Selection::Plain, 1, [6, 0, 4, 0]).is_err(),
            "the exit code counts"
        );
        let crash = check(
            LISTED,
            Selection::Plain,
            ExitStatus::from_raw(9),
            "running 10 tests\n",
        );
        assert!(crash.unwrap_err().contains("no summary"));
    }
}
