//! What feature gates and knobs change.

use std::time::Duration;

use crate::{FeatureGates, Options, feature_gates::Gate};

/// The feature gates of Jobs.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a gate each")]
pub(super) struct Features {
    /// Indexes may have a backoff limit of their own.
    pub(super) backoff_limit_per_index: bool,
    /// Other controllers may manage a Job.
    pub(super) managed_by: bool,
    /// Jobs may replace pods only after they have failed; terminating pods are counted in the status.
    pub(super) pod_replacement_policy: bool,
    /// Indexed Jobs may succeed before all indexes have.
    pub(super) success_policy: bool,
    /// Suspending a Job removes its start time.
    pub(super) mutable_scheduling_directives: bool,
}

impl Features {
    pub(super) fn of(gates: &FeatureGates) -> Self {
        Self {
            backoff_limit_per_index: gates.is_on(Gate::JobBackoffLimitPerIndex),
            managed_by: gates.is_on(Gate::JobManagedBy),
            pod_replacement_policy: gates.is_on(Gate::JobPodReplacementPolicy),
            success_policy: gates.is_on(Gate::JobSuccessPolicy),
            mutable_scheduling_directives: gates.is_on(Gate::MutableSchedulingDirectivesForSuspendedJobs),
        }
    }

    /// Whether a Job gets its final condition only after all of its pods have terminated; before that it has an interim one.
    pub(super) fn delays_final_condition(self) -> bool {
        self.managed_by || self.pod_replacement_policy
    }
}

/// Limits and delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Delay of reconciles for changes of pods and of the status.
    pub(super) batch_period: Duration,
    /// Delay of a pod's replacement after the first failure. Doubles with each further one.
    pub(super) pod_backoff_min: Duration,
    pub(super) pod_backoff_max: Duration,
    /// Backoff of failed reconciles.
    pub(super) api_backoff_min: Duration,
    pub(super) api_backoff_max: Duration,
    /// How many uids the status may list.
    pub(super) max_uncounted_pods: usize,
    /// How many pods a reconcile creates or deletes.
    pub(super) max_pods_per_sync: usize,
}

impl Limits {
    pub(super) fn of(options: &Options) -> Self {
        let knobs = &options.knobs;
        let duration = |name, seconds| knobs.duration(name, Duration::from_secs(seconds));
        Self {
            batch_period: duration("job.SyncJobBatchPeriod", 1),
            pod_backoff_min: duration("job.DefaultJobPodFailureBackOff", 10),
            pod_backoff_max: duration("job.MaxJobPodFailureBackOff", 600),
            api_backoff_min: duration("job.DefaultJobApiBackOff", 1),
            api_backoff_max: duration("job.MaxJobApiBackOff", 60),
            max_uncounted_pods: knobs.number("job.MaxUncountedPods", 500),
            max_pods_per_sync: knobs.number("job.MaxPodCreateDeletePerSync", 500),
        }
    }
}
