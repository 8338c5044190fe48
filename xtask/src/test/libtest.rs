//! What the test harness of Rust prints: lists of tests, and summaries.

/// The numbers in a program's last line, `test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
    pub(crate) filtered_out: usize,
}

/// Parses the last summary in a program's output. Output of a test may stand before it on the same line.
pub(crate) fn parse_summary(output: &str) -> Option<Summary> {
    let (_, line) = output.rsplit_once("test result: ")?;
    let line = line.lines().next()?;
    let number = |name: &str| {
        let (before, _) = line.split_once(&format!(" {name}"))?;
        before.rsplit([' ', ';']).next()?.parse().ok()
    };
    Some(Summary {
        passed: number("passed")?,
        failed: number("failed")?,
        ignored: number("ignored")?,
        filtered_out: number("filtered out")?,
    })
}

/// Counts the tests that `--list` prints. Benchmarks are not tests.
pub(crate) fn count_tests(list: &str) -> usize {
    list.lines().filter(|line| line.ends_with(": test")).count()
}

/// Counts the programs and their tests that `cargo test -- --list` prints, with both streams in one text.
pub(crate) fn count_programs(list: &str) -> (usize, usize) {
    let programs = list
        .lines()
        .filter(|line| line.trim_start().starts_with("Running "));
    (programs.count(), count_tests(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_is_the_last_one_and_may_follow_other_text_on_its_line() {
        let output = "running 2 tests\ntest a ... ok\ntest result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
            logged without a newlinetest result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 44 filtered out; finished in 1.20s\n\n";
        let expected = Summary {
            passed: 12,
            failed: 3,
            ignored: 1,
            filtered_out: 44,
        };
        assert_eq!(parse_summary(output), Some(expected));
    }

    #[test]
    fn output_without_a_summary_has_none() {
        assert_eq!(parse_summary("running 2 tests\ntest a ... ok\n"), None);
        assert_eq!(parse_summary("test result: ok. some passed"), None);
    }

    #[test]
    fn lists_are_counted() {
        let list = "     Running unittests src/lib.rs (target/debug/deps/a-0)\nx::y: test\nz: benchmark\n\n1 test, 1 benchmark\n     \
            Running tests/b.rs (target/debug/deps/b-0)\n0 tests, 0 benchmarks\n";
        assert_eq!(count_tests(list), 1);
        assert_eq!(count_programs(list), (2, 1));
    }
}
