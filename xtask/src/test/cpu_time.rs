//! How much CPU time programs took. Side by side, the time by the clock says little about one of them.

use std::fs;
use std::time::Duration;

/// Returns the CPU time of all processes that this one has waited for, with those that they waited for; zero without `/proc`.
pub(crate) fn of_ended_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    Duration::from_millis(10 * parse_ticks(&stat).unwrap_or_default())
}

/// Returns user and system time of ended children in ticks, which Linux counts in hundredths of a second for every program.
fn parse_ticks(stat: &str) -> Option<u64> {
    // The name, in parentheses, may contain spaces; the state after it is field 3. See proc_pid_stat(5).
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(16 - 3);
    let (user, system) = (fields.next()?, fields.next()?);
    Some(user.parse::<u64>().ok()? + system.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_those_of_ended_children() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 100 200 30 4 20 0 1";
        assert_eq!(parse_ticks(stat), Some(34));
        assert_eq!(parse_ticks(""), None);
        assert_eq!(parse_ticks("7 (a) S 1 2"), None);
    }
}
