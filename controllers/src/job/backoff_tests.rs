use proptest::prelude::*;

use super::{
    super::test_objects::{ago, finished, limits, now},
    *,
};

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn record(failures: u32, seconds_ago: Option<i64>) -> FailureRecord {
    FailureRecord::new(failures, seconds_ago.map(|seconds| ago(seconds).parse().unwrap()))
}

#[test]
fn success_forgets_the_failures_before_it() {
    for (before, succeeded, failed, expected) in [
        (record(0, None), &[][..], &[][..], record(0, None)),
        (record(2, Some(50)), &[], &[], record(2, Some(50))),
        (record(2, Some(50)), &[], &[30, 20], record(4, Some(20))),
        (record(2, Some(50)), &[30], &[], record(0, None)),
        (record(2, Some(50)), &[30], &[40, 20, 10], record(2, Some(10))),
        (record(2, Some(50)), &[30, 10], &[20], record(0, None)),
        // At the same time: the success counts as the later one.
        (record(2, Some(50)), &[20], &[20], record(0, None)),
    ] {
        let pods = |phase: &str, times: &[i64]| -> Vec<JobPod> {
            times.iter().map(|time| finished("pod", phase, *time)).collect()
        };
        let (succeeded, failed) = (pods("Succeeded", succeeded), pods("Failed", failed));
        let after = before.after(
            &succeeded.iter().collect::<Vec<_>>(),
            &failed.iter().collect::<Vec<_>>(),
        );
        assert_eq!(after, expected, "{before:?} {succeeded:?} {failed:?}");
    }
}

#[test]
fn delay_doubles_up_to_the_limit() {
    for (failures, seconds_ago, expected) in [
        (0, None, 0),
        (1, Some(0), 10),
        (1, Some(4), 6),
        (1, Some(10), 0),
        (1, Some(100), 0),
        (2, Some(0), 20),
        (3, Some(0), 40),
        (6, Some(0), 320),
        (7, Some(0), 600),
        (40, Some(0), 600),
        (u32::MAX, Some(0), 600),
        // The node's clock is ahead.
        (1, Some(-5), 15),
        // The clock jumped by an hour, back and forth.
        (1, Some(-3600), 3610),
        (7, Some(3600), 0),
        (3, None, 0),
    ] {
        let remaining = record(failures, seconds_ago).remaining(&limits(), now());
        assert_eq!(remaining, seconds(expected), "{failures} {seconds_ago:?}");
    }
}

proptest! {
    #[test]
    fn absurd_times_do_not_overflow(failures: u32, last in -377_705_023_201_i64..253_402_207_200) {
        let last = Timestamp::from_second(last).unwrap();
        for now in [Timestamp::MIN, now(), Timestamp::MAX] {
            let _ = FailureRecord::new(failures, Some(last)).remaining(&limits(), now);
        }
    }
}
