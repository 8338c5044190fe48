//! In what order programs run, and what does not run side by side. The order only saves time: programs that are not listed run last.

use std::time::Duration;

/// What a program does most of its time, which decides what may run beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Load {
    /// Computes: as many run side by side as there are cores.
    Computes,
    /// Waits for timers and other processes: [`MAX_WAITING`] run beside those that compute.
    Waits,
    /// Runs after all others and beside none, for the given reason.
    Alone(&'static str),
}

/// How many programs that wait run side by side: each may have a control plane of its own, of some hundred megabytes.
pub(crate) const MAX_WAITING: usize = 4;
/// A program that takes longer hangs, and is killed.
pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(15);

/// Seconds on two idle cores, of those that take more than a few, and what they do meanwhile.
pub(crate) const KNOWN: [(&str, u32, Load); 0] = [];

/// A run that has not started yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pending {
    pub(crate) seconds: u32,
    pub(crate) load: Load,
    pub(crate) needs_control_plane: bool,
}

/// What is known about a run, by its title.
pub(crate) fn known(title: &str, needs_control_plane: bool) -> Pending {
    let row = KNOWN.iter().find(|(name, _, _)| *name == title);
    let (seconds, load) = row.map_or((0, Load::Computes), |(_, seconds, load)| (*seconds, *load));
    Pending {
        seconds,
        load,
        needs_control_plane,
    }
}

/// Returns the index of the run to start now: the longest that may run beside those that are running.
pub(crate) fn next(
    pending: &[Pending],
    running: &[Load],
    jobs: usize,
    control_plane_is_built: bool,
) -> Option<usize> {
    if running.iter().any(|load| matches!(load, Load::Alone(_))) {
        return None;
    }
    let count = |wanted: Load| running.iter().filter(|load| **load == wanted).count();
    let (computing, waiting) = (count(Load::Computes), count(Load::Waits));
    let only_alone_is_left = pending.iter().all(|run| matches!(run.load, Load::Alone(_)));
    let may_start = |run: &Pending| {
        (control_plane_is_built || !run.needs_control_plane)
            && match run.load {
                Load::Computes => computing < jobs,
                Load::Waits => waiting < MAX_WAITING,
                Load::Alone(_) => only_alone_is_left && running.is_empty(),
            }
    };
    let startable = pending.iter().enumerate().filter(|(_, run)| may_start(run));
    // Of equally long ones the first.
    startable
        .max_by_key(|(index, run)| (run.seconds, std::cmp::Reverse(*index)))
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn run(seconds: u32, load: Load) -> Pending {
        Pending {
            seconds,
            load,
            needs_control_plane: false,
        }
    }

    const ALONE: Load = Load::Alone("it measures");

    #[test]
    fn longest_computing_program_starts_first_while_a_core_is_free() {
        let pending = [
            run(1, Load::Computes),
            run(9, Load::Computes),
            run(9, Load::Computes),
        ];
        assert_eq!(next(&pending, &[], 2, true), Some(1));
        assert_eq!(next(&pending, &[Load::Computes], 2, true), Some(1));
        assert_eq!(next(&pending, &[Load::Computes; 2], 2, true), None);
    }

    #[test]
    fn waiting_programs_run_beside_computing_ones() {
        let pending = [run(1, Load::Waits), run(9, Load::Computes)];
        assert_eq!(next(&pending, &[Load::Computes; 2], 2, true), Some(0));
        let mut running = vec![Load::Waits; MAX_WAITING];
        assert_eq!(next(&pending, &running, 2, true), Some(1));
        running.extend([Load::Computes; 2]);
        assert_eq!(next(&pending, &running, 2, true), None);
    }

    #[test]
    fn program_that_runs_alone_is_last_and_blocks_all_others() {
        let pending = [run(99, ALONE), run(1, Load::Computes)];
        assert_eq!(next(&pending, &[], 2, true), Some(1));
        assert_eq!(next(&pending[..1], &[Load::Waits], 2, true), None);
        assert_eq!(next(&pending[..1], &[], 2, true), Some(0));
        assert_eq!(next(&pending[1..], &[ALONE], 2, true), None);
    }

    #[test]
    fn program_without_its_control_plane_is_passed_over() {
        let needs = Pending {
            needs_control_plane: true,
            ..run(9, Load::Waits)
        };
        let pending = [needs, run(1, Load::Waits)];
        assert_eq!(next(&pending, &[], 2, false), Some(1));
        assert_eq!(next(&pending, &[], 2, true), Some(0));
        assert_eq!(next(&pending[..1], &[], 2, false), None);
    }

    #[test]
    fn all_programs_start_eventually() {
        let mut pending = vec![
            run(5, ALONE),
            run(3, Load::Waits),
            run(3, Load::Computes),
            run(2, ALONE),
        ];
        let mut order = vec![];
        while let Some(index) = next(&pending, &[], 1, true) {
            order.push(pending.remove(index).seconds);
        }
        assert_eq!((order, pending.len()), (vec![3, 3, 5, 2], 0));
    }
}
