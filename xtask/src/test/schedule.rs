//! In what order programs run, and what does not run side by side. The order only saves time: programs that are not listed run last.

use std::time::Duration;

/// What a program does most of its time, which decides what may run beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Load {
    /// Computes: as many run side by side as there are cores.
    Computes,
    /// Waits for timers and other processes: [`MAX_WAITING`] run beside the others.
    Waits,
    /// Builds projects in the target folder of the workspace, and therefore waits for cargo's lock: [`MAX_BUILDING`] run beside the others.
    Builds,
    /// Builds scaffolds and the dependencies of all of them, and holds cargo's lock for minutes: runs before and beside none that builds.
    BuildsFirst,
    /// Runs after all others, beside its like alone, for the given reason.
    Last(&'static str),
    /// Runs in `.ci/nightly` alone: it takes long, and what it adds to the run against the embedded server is the real one.
    Nightly,
}

impl Load {
    /// The niceness of the programs. Those that build follow each other, so that all wait for the last of them: they come first. What computes
    /// leaves the cores to the others.
    pub(crate) fn niceness(self) -> u8 {
        match self {
            Self::Waits => 3,
            Self::Computes => 10,
            Self::Builds | Self::BuildsFirst | Self::Last(_) | Self::Nightly => 0,
        }
    }
}

/// How many programs that wait run side by side: each may have a control plane of its own, of some hundred megabytes.
pub(crate) const MAX_WAITING: usize = 4;
/// While one builds, the others run what they built.
pub(crate) const MAX_BUILDING: usize = 3;
/// A program that takes longer hangs, and is killed. Those that compute take a quarter of an hour beside the others on two cores, and half an
/// hour where these build everything anew on a slow machine.
pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(45);

const SOAK: Load = Load::Last(
    "it limits the growth of memory, and on a busy machine a backlog of events looks like a leak; it waits most of the time",
);

/// The seconds that programs take on two idle cores, roughly, and what they spend them on. The numbers only decide the order.
const KNOWN: [(&str, u32, Load); 49] = [
    ("kubewright-tests/scaffold", 210, Load::BuildsFirst),
    ("kubewright-tests/dev", 200, Load::Builds),
    ("kubewright-tests/regenerate", 90, Load::Builds),
    ("kubewright-tests/lifecycle", 50, Load::Builds),
    ("kubewright-tests/project_life", 49, Load::Builds),
    ("kubewright-tests/failure_recovery", 49, Load::Builds),
    ("kubewright-tests/dev --ignored", 48, Load::Builds),
    ("kubewright-tests/regenerate --ignored", 47, Load::Nightly),
    ("kubewright-tests/random_commands --ignored", 47, Load::Nightly),
    ("kubewright-tests/lifecycle --ignored", 46, Load::Builds),
    ("kubewright-tests/project_life --ignored", 46, Load::Nightly),
    ("kubewright-tests/failure_recovery --ignored", 45, Load::Builds),
    ("kubewright-tests/leader_election", 30, Load::Builds),
    ("kubewright-tests/leader_election --ignored", 29, Load::Builds),
    (REAL_DIFFERENTIAL, 700, Load::Waits),
    ("kubewright-tests/crash_recovery --ignored", 170, Load::Waits),
    ("kubewright-tests/crash_recovery", 160, Load::Waits),
    (DIFFERENTIAL, 250, Load::Waits),
    ("kubewright-tests/skipped_applies --ignored", 80, Load::Waits),
    ("kubewright-tests/clients --ignored", 80, Load::Waits),
    ("controller-manager/kill --ignored", 130, Load::Nightly),
    ("kubewright-testkit/cluster --ignored", 70, Load::Waits),
    ("controller-manager/kill", 20, Load::Waits),
    ("controller-manager/scenarios", 80, Load::Waits),
    ("controller-manager/scenarios --ignored", 85, Load::Waits),
    ("kubewright/requests --ignored", 65, Load::Waits),
    ("kubewright-testkit/disruption --ignored", 60, Load::Waits),
    ("kubewright-tests/skipped_applies", 55, Load::Waits),
    ("kubewright-testkit/plane --ignored", 50, Load::Waits),
    ("kubewright-tests/connections --ignored", 30, Load::Waits),
    ("kubewright-controllers/deployment", 48, Load::Waits),
    ("kubewright-controllers/daemon_set", 40, Load::Waits),
    ("sample-controller/kill --ignored", 40, Load::Waits),
    ("kubewright-testkit/cleanup --ignored", 40, Load::Waits),
    ("sample-controller/kill", 32, Load::Waits),
    ("kubewright-controllers/replica_set", 22, Load::Waits),
    (
        "kubewright-tests/control_plane_programs --ignored",
        20,
        Load::Waits,
    ),
    ("kubewright-controllers/stateful_set", 20, Load::Waits),
    ("kubewright-controllers/deletion", 20, Load::Waits),
    ("kubewright", 120, Load::Computes),
    ("kubewright-apiserver/server", 110, Load::Computes),
    ("kubewright-cli/commands", 90, Load::Computes),
    ("kubewright-benches/bench-allocations", 80, Load::Computes),
    ("kubewright/derive", 40, Load::Computes),
    ("kubewright/cache", 30, Load::Computes),
    ("kubewright-controllers", 18, Load::Computes),
    ("kubewright-apimachinery", 15, Load::Computes),
    ("kubewright-tests/soak", 40, SOAK),
    // Last there: a step of its own runs it alone, and longer.
    ("kubewright-tests/soak --ignored", 1, Load::Nightly),
];

/// Both runs of this program run side by side: its tests use no name twice, and one after the other they would take longer than all else.
const OVERLAPPING: [&str; 2] = [DIFFERENTIAL, REAL_DIFFERENTIAL];
const DIFFERENTIAL: &str = "kubewright-tests/differential";
const REAL_DIFFERENTIAL: &str = "kubewright-tests/differential --ignored";

/// A run that has not started yet, or runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The number of the program, which runs once at a time: its tests have names for processes and projects.
    pub(crate) program: usize,
    /// The program may run twice at a time.
    pub(crate) overlaps: bool,
    pub(crate) seconds: u32,
    pub(crate) load: Load,
    pub(crate) needs_control_plane: bool,
}

/// Returns the row of a run, by its title.
pub(crate) fn known(title: &str, program: usize, needs_control_plane: bool) -> Entry {
    let row = KNOWN.iter().find(|(name, _, _)| *name == title);
    let (seconds, load) = row.map_or((0, Load::Computes), |(_, seconds, load)| (*seconds, *load));
    Entry {
        program,
        overlaps: OVERLAPPING.contains(&title),
        seconds,
        load,
        needs_control_plane,
    }
}

/// Returns the first row whose program does not exist, so that the table stays current.
pub(crate) fn first_unknown_row(titles: &[String]) -> Option<&'static str> {
    let is_unknown = |(name, _, _): &&(&str, u32, Load)| titles.iter().all(|title| title != name);
    KNOWN.iter().find(is_unknown).map(|(name, _, _)| *name)
}

/// Returns the index of the run to start now: the longest that may run beside those that are running.
pub(crate) fn next(
    pending: &[Entry],
    running: &[Entry],
    jobs: usize,
    control_plane_is_built: bool,
) -> Option<usize> {
    let is_last = |run: &Entry| matches!(run.load, Load::Last(_));
    let only_last_are_left = pending.iter().chain(running).all(is_last);
    let may_start = |run: &Entry| {
        let count = |load: Load| running.iter().filter(|other| other.load == load).count();
        let side_by_side = count(run.load);
        (control_plane_is_built || !run.needs_control_plane)
            && (is_last(run) || run.overlaps || running.iter().all(|other| other.program != run.program))
            && match run.load {
                Load::Computes => side_by_side < jobs,
                Load::Waits => side_by_side < MAX_WAITING,
                Load::Builds | Load::Nightly => side_by_side < MAX_BUILDING && count(Load::BuildsFirst) == 0,
                Load::BuildsFirst => side_by_side == 0 && count(Load::Builds) == 0,
                Load::Last(_) => only_last_are_left,
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

    /// Programs that take the given seconds, each another one.
    fn entries(runs: &[(u32, Load)]) -> Vec<Entry> {
        let entry = |(program, (seconds, load)): (usize, &(u32, Load))| Entry {
            program,
            overlaps: false,
            seconds: *seconds,
            load: *load,
            needs_control_plane: false,
        };
        runs.iter().enumerate().map(entry).collect()
    }

    /// Other programs, which run already.
    fn running(loads: &[Load]) -> Vec<Entry> {
        let runs: Vec<_> = loads.iter().map(|load| (1, *load)).collect();
        let mut entries = entries(&runs);
        for entry in &mut entries {
            entry.program += 100;
        }
        entries
    }

    const LAST: Load = Load::Last("it measures");

    #[test]
    fn longest_computing_program_starts_first_while_a_core_is_free() {
        let pending = entries(&[(1, Load::Computes), (9, Load::Computes), (9, Load::Computes)]);
        assert_eq!(next(&pending, &[], 2, true), Some(1));
        assert_eq!(next(&pending, &running(&[Load::Computes]), 2, true), Some(1));
        assert_eq!(next(&pending, &running(&[Load::Computes; 2]), 2, true), None);
    }

    #[test]
    fn waiting_and_building_programs_run_beside_computing_ones() {
        let pending = entries(&[(1, Load::Waits), (9, Load::Computes), (2, Load::Builds)]);
        let mut others = running(&[Load::Computes; 2]);
        assert_eq!(next(&pending, &others, 2, true), Some(2));
        others.extend(running(&[Load::Builds; MAX_BUILDING]));
        assert_eq!(next(&pending, &others, 2, true), Some(0));
        others.extend(running(&[Load::Waits; MAX_WAITING]));
        assert_eq!(next(&pending, &others, 2, true), None);
    }

    #[test]
    fn program_that_builds_first_runs_before_and_beside_no_other_that_builds() {
        let pending = entries(&[(5, Load::Builds), (9, Load::BuildsFirst), (1, Load::Computes)]);
        assert_eq!(next(&pending, &[], 2, true), Some(1));
        assert_eq!(next(&pending, &running(&[Load::BuildsFirst]), 2, true), Some(2));
        assert_eq!(next(&pending[..2], &running(&[Load::Builds]), 2, true), Some(0));
        assert_eq!(next(&pending[1..2], &running(&[Load::Builds]), 2, true), None);
    }

    #[test]
    fn program_runs_once_at_a_time_unless_it_may_overlap() {
        let mut pending = entries(&[(9, Load::Waits), (1, Load::Waits)]);
        assert_eq!(next(&pending, &pending[..1], 2, true), Some(1));
        assert_eq!(next(&pending[..1], &pending[..1], 2, true), None);
        pending[0].overlaps = true;
        assert_eq!(next(&pending[..1], &pending[..1], 2, true), Some(0));
    }

    #[test]
    fn programs_that_run_last_wait_for_all_others_and_run_side_by_side() {
        let pending = entries(&[(99, LAST), (1, Load::Computes)]);
        assert_eq!(next(&pending, &[], 2, true), Some(1));
        assert_eq!(next(&pending[..1], &running(&[Load::Waits]), 2, true), None);
        assert_eq!(next(&pending[..1], &[], 2, true), Some(0));
        let mut other = pending[..1].to_vec();
        other[0].needs_control_plane = true;
        assert_eq!(next(&other, &pending[..1], 2, true), Some(0));
    }

    #[test]
    fn program_without_its_control_plane_is_passed_over() {
        let mut pending = entries(&[(9, Load::Waits), (1, Load::Waits)]);
        pending[0].needs_control_plane = true;
        assert_eq!(next(&pending, &[], 2, false), Some(1));
        assert_eq!(next(&pending, &[], 2, true), Some(0));
        assert_eq!(next(&pending[..1], &[], 2, false), None);
    }

    #[test]
    fn rows_without_a_program_are_found() {
        let mut titles: Vec<String> = KNOWN.iter().map(|(name, _, _)| (*name).to_owned()).collect();
        assert_eq!(first_unknown_row(&titles), None);
        let removed = titles.remove(3);
        assert_eq!(first_unknown_row(&titles), Some(removed.as_str()));
    }

    #[test]
    fn all_programs_start_eventually() {
        let mut pending = entries(&[(5, LAST), (3, Load::Waits), (3, Load::Computes), (2, LAST)]);
        let mut order = vec![];
        while let Some(index) = next(&pending, &[], 1, true) {
            order.push(pending.remove(index).program);
        }
        assert_eq!((order, pending.len()), (vec![1, 2, 0, 3], 0));
    }
}
