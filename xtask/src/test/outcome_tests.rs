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
