//! A model of a Job's world: pods start, finish and disappear, and writes fail at any point. Property tests run the plan in it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::batch::v1::{Job, JobStatus},
    jiff::{SignedDuration, Timestamp},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    backoff::FailureRecord,
    features::{Features, Limits},
    index_set::IndexSet,
    job_pod::JobPod,
    plan::{PodStep, assess},
    progress::{PodChanges, Progress},
    rules::JobRules,
    test_objects::{features, has_finished, job, limits, now, pod_of},
    tracking::Tracking,
};

/// What happens next.
#[derive(Clone, Debug)]
enum JobEvent {
    /// The Job is reconciled. Of its writes, only so many succeed.
    Reconcile(usize),
    /// A pod that has not terminated gets a phase.
    Phase(usize, &'static str),
    /// A pod is deleted, and terminates.
    Delete(usize),
    /// The clock advances by so many seconds.
    Wait(i64),
    Parallelism(i32),
    Suspend(bool),
}

fn events() -> impl Strategy<Value = Vec<JobEvent>> {
    let pod = 0_usize..12;
    let phase = prop_oneof![
        Just("Running"),
        Just("Succeeded"),
        Just("Succeeded"),
        Just("Failed")
    ];
    let event = prop_oneof![
        6 => prop_oneof![Just(usize::MAX), 0_usize..8].prop_map(JobEvent::Reconcile),
        5 => (pod.clone(), phase).prop_map(|(pod, phase)| JobEvent::Phase(pod, phase)),
        2 => pod.prop_map(JobEvent::Delete),
        2 => (1_i64..100).prop_map(JobEvent::Wait),
        1 => (0_i32..6).prop_map(JobEvent::Parallelism),
        1 => any::<bool>().prop_map(JobEvent::Suspend),
    ];
    prop::collection::vec(event, 0..80)
}

#[derive(Clone, Debug)]
struct ModelPod {
    uid: String,
    index: Option<u32>,
    failures: u32,
    phase: &'static str,
    finished: Option<Timestamp>,
    is_deleted: bool,
    has_finalizer: bool,
}

/// The state of the API server, and what the controller remembers.
#[derive(Clone, Debug)]
struct JobModel {
    job: Job,
    status: JobStatus,
    pods: BTreeMap<usize, ModelPod>,
    created: usize,
    failures: FailureRecord,
    now: Timestamp,
    features: Features,
    limits: Limits,
    /// The uids of pods that ended while they had the finalizer.
    ended: BTreeSet<String>,
    succeeded: BTreeSet<String>,
    succeeded_indexes: BTreeSet<u32>,
}

impl JobModel {
    fn new(spec: &Value, gates: &str) -> Self {
        Self {
            job: job(spec),
            status: JobStatus::default(),
            pods: BTreeMap::new(),
            created: 0,
            failures: FailureRecord::default(),
            now: now(),
            features: features(gates),
            limits: Limits {
                max_uncounted_pods: 3,
                max_pods_per_sync: 4,
                ..limits()
            },
            ended: BTreeSet::new(),
            succeeded: BTreeSet::new(),
            succeeded_indexes: BTreeSet::new(),
        }
    }

    fn is_finished(&self) -> bool {
        has_finished(&self.status)
    }

    fn apply(&mut self, event: &JobEvent) {
        match *event {
            JobEvent::Reconcile(writes) => self.reconcile(writes),
            JobEvent::Phase(number, phase) => {
                let now = self.now;
                if let Some(pod) = self.nth(number).filter(|pod| !pod.is_terminal()) {
                    pod.phase = phase;
                    pod.finished = pod.is_terminal().then_some(now);
                }
            }
            JobEvent::Delete(number) => {
                if let Some(pod) = self.nth(number) {
                    pod.is_deleted = true;
                }
            }
            JobEvent::Wait(seconds) => self.now += SignedDuration::from_secs(seconds),
            JobEvent::Parallelism(parallelism) => {
                self.job.spec.as_mut().unwrap().parallelism = Some(parallelism);
            }
            JobEvent::Suspend(suspend) => self.job.spec.as_mut().unwrap().suspend = Some(suspend),
        }
        self.note_ends();
        // The API server keeps a deleted pod while it has the finalizer.
        self.pods.retain(|_, pod| !pod.is_deleted || pod.has_finalizer);
    }

    /// Resumes the Job, and lets its pods succeed until it ends.
    fn settle(&mut self) {
        self.apply(&JobEvent::Suspend(false));
        self.apply(&JobEvent::Parallelism(2));
        for _ in 0..200 {
            if self.is_finished() {
                return;
            }
            self.apply(&JobEvent::Wait(700));
            self.apply(&JobEvent::Reconcile(usize::MAX));
            for number in 0..self.pods.len() {
                self.apply(&JobEvent::Phase(number, "Succeeded"));
            }
        }
        panic!("the Job does not end: {self:#?}");
    }

    fn nth(&mut self, number: usize) -> Option<&mut ModelPod> {
        let count = self.pods.len().max(1);
        self.pods.values_mut().nth(number % count)
    }

    fn find(&mut self, uid: &str) -> &mut ModelPod {
        self.pods.values_mut().find(|pod| pod.uid == uid).unwrap()
    }

    fn note_ends(&mut self) {
        for pod in self.pods.values().filter(|pod| pod.has_finalizer) {
            if pod.is_terminal() || pod.is_deleted {
                self.ended.insert(pod.uid.clone());
            }
            if pod.phase == "Succeeded" {
                self.succeeded.insert(pod.uid.clone());
                self.succeeded_indexes.extend(pod.index);
            }
        }
    }

    fn reconcile(&mut self, writes: usize) {
        if self.is_finished() {
            return;
        }
        let mut left = writes;
        let mut may_write = move || {
            let may = left > 0;
            left = left.saturating_sub(1);
            may
        };
        let before = self.clone();
        let rules = JobRules::of(&before.job, self.features).unwrap();
        let pods: Vec<JobPod> = before.pods.values().map(ModelPod::cached).collect();
        let assessment = assess(&rules, &before.status, &pods, self.failures, self.now);
        let step = assessment.next_step(true, &self.limits, self.now);
        let mut changes = PodChanges::default();
        match &step {
            PodStep::End(pods) | PodStep::Remove(pods) => {
                for pod in pods.iter().filter(|_| may_write()) {
                    let keeps_finalizer = matches!(step, PodStep::End(_));
                    if !self.features.delays_final_condition() {
                        // As upstream: a Job that becomes complete by their deletion counts them as failed.
                        self.ended.insert(pod.uid.to_string());
                    }
                    let pod = self.find(&pod.uid);
                    pod.is_deleted = true;
                    pod.has_finalizer &= keeps_finalizer;
                    changes.deleted += 1;
                }
            }
            PodStep::Create(indexes) => {
                for index in indexes.iter().filter(|_| may_write()) {
                    let failures = index.map(|index| assessment.indexes.failures(&rules, index));
                    self.create(*index, failures.map_or(0, |failures| failures.counted));
                    changes.created += 1;
                }
            }
            PodStep::Wait(_) | PodStep::Keep | PodStep::Await => {}
        }
        self.check_active(&rules);
        self.note_ends();
        let progress = Progress::after(&assessment, &before.status, &step, changes, true, self.now);
        let mut tracking = Tracking::plan(&assessment, &progress, self.limits.max_uncounted_pods, self.now);
        if !may_write() {
            return;
        }
        self.write(tracking.status.clone());
        self.failures = assessment.failures_with(&tracking.finished);
        let finished = tracking.finished.clone();
        let removed: Vec<_> = finished.iter().copied().filter(|_| may_write()).collect();
        for pod in &removed {
            self.find(&pod.uid).has_finalizer = false;
        }
        let mut status = self.status.clone();
        tracking.count(&mut status, &removed);
        if removed.len() == finished.len() {
            let delays = self.features.delays_final_condition();
            tracking.finish(&mut status, &progress, delays, self.now);
        }
        if may_write() {
            self.write(status);
        }
    }

    fn create(&mut self, index: Option<u32>, failures: u32) {
        let pod = ModelPod {
            uid: format!("pod-{}", self.created),
            index,
            failures,
            phase: "Pending",
            finished: None,
            is_deleted: false,
            has_finalizer: true,
        };
        self.pods.insert(self.created, pod);
        self.created += 1;
    }

    fn check_active(&self, rules: &JobRules<'_>) {
        let active = self
            .pods
            .values()
            .filter(|pod| !pod.is_terminal() && !pod.is_deleted);
        let mut taken = BTreeSet::new();
        for index in active.filter_map(|pod| pod.index) {
            assert!(taken.insert(index), "two active pods of index {index}");
            assert!(Some(index) < rules.indexes, "index {index}");
        }
    }

    /// Writes the status, with the checks of the API server, and those of the model: each pod counts once at most.
    fn write(&mut self, status: JobStatus) {
        let count = |counter: Option<i32>| usize::try_from(counter.unwrap_or(0)).unwrap();
        let before = &self.status;
        assert!(count(status.failed) >= count(before.failed), "fewer failed pods");
        assert!(
            count(status.succeeded) >= count(before.succeeded),
            "fewer succeeded pods"
        );
        for old in before
            .conditions
            .iter()
            .flatten()
            .filter(|old| old.type_ != "Suspended")
        {
            let mut new = status.conditions.iter().flatten();
            assert!(new.any(|new| new == old), "{old:?} is lost");
        }
        let uncounted = status.uncounted_terminated_pods.clone().unwrap_or_default();
        let [succeeded, failed] = [uncounted.succeeded, uncounted.failed].map(Option::unwrap_or_default);
        let listed: BTreeSet<_> = succeeded.iter().chain(&failed).collect();
        assert_eq!(
            listed.len(),
            succeeded.len() + failed.len(),
            "a pod is listed twice"
        );
        assert!(listed.len() <= self.limits.max_uncounted_pods);
        let all_failed = count(status.failed) + failed.len();
        if let Some(text) = &status.completed_indexes {
            let indexes = IndexSet::parse(text, u32::MAX);
            let expected = IndexSet::default().with(self.succeeded_indexes.iter().copied());
            assert_eq!(
                indexes.common(&expected),
                indexes.len(),
                "an index succeeded without a pod"
            );
            assert_eq!(count(status.succeeded), indexes.len());
            assert!(all_failed <= self.ended.len(), "too many failures");
        } else {
            let all_succeeded = count(status.succeeded) + succeeded.len();
            assert!(all_succeeded <= self.succeeded.len(), "too many successes");
            assert!(all_succeeded + all_failed <= self.ended.len(), "too many results");
        }
        if has_finished(&status) {
            assert!(listed.is_empty(), "uncounted pods of a finished Job");
            assert_eq!(count(status.active), 0);
            assert!(
                self.pods.values().all(|pod| !pod.has_finalizer),
                "a finalizer stays"
            );
        }
        self.status = status;
    }
}

impl ModelPod {
    fn is_terminal(&self) -> bool {
        matches!(self.phase, "Succeeded" | "Failed")
    }

    fn cached(&self) -> JobPod {
        let finished = self.finished.map(|time| time.to_string());
        let terminated = finished.map(|time| json!({"exitCode": 1, "finishedAt": time}));
        let metadata = json!({
            "deletionTimestamp": self.is_deleted.then(|| now().to_string()),
            "annotations": {
                "batch.kubernetes.io/job-completion-index": self.index.map(|index| index.to_string()),
                "batch.kubernetes.io/job-index-failure-count": self.failures.to_string(),
            },
        });
        let containers = json!([{"name": "main", "state": {"terminated": terminated}}]);
        let status = json!({"phase": self.phase, "containerStatuses": containers});
        let mut pod = pod_of(&self.uid, json!({"metadata": metadata, "status": status}));
        pod.is_tracked = self.has_finalizer;
        pod
    }
}

fn specs() -> impl Strategy<Value = Value> {
    let replacement = prop::option::of(prop_oneof![Just("Failed"), Just("TerminatingOrFailed")]);
    let plain = (
        prop::option::of(0_u32..8),
        0_u32..5,
        0_u32..6,
        replacement.clone(),
    )
        .prop_map(|(completions, parallelism, limit, replacement)| {
            json!({
                "completions": completions, "parallelism": parallelism, "backoffLimit": limit,
                "podReplacementPolicy": replacement,
            })
        });
    let limits = (prop::option::of(0_u32..3), prop::option::of(0_u32..4));
    let success = prop::option::of(1_u32..4);
    let indexed = (0_u32..8, 0_u32..5, limits, success, replacement).prop_map(
        |(completions, parallelism, (per_index, max_failed), success, replacement)| {
            json!({
                "completionMode": "Indexed", "completions": completions, "parallelism": parallelism,
                "backoffLimit": if per_index.is_some() { i32::MAX } else { 6 },
                "backoffLimitPerIndex": per_index, "maxFailedIndexes": max_failed,
                "podReplacementPolicy": replacement,
                "successPolicy": success.map(|count| json!({"rules": [{"succeededCount": count}]})),
            })
        },
    );
    prop_oneof![plain, indexed]
}

proptest! {
    #[test]
    fn job_ends_and_counts_each_pod_once(
        spec in specs(),
        gates in prop_oneof![Just(""), Just("JobManagedBy=false,JobPodReplacementPolicy=false")],
        events in events(),
    ) {
        let mut model = JobModel::new(&spec, gates);
        for event in &events {
            model.apply(event);
        }
        model.settle();
        let conditions = model.status.conditions.iter().flatten();
        let finals: Vec<_> = conditions.filter(|found| matches!(&*found.type_, "Complete" | "Failed")).collect();
        prop_assert_eq!(finals.len(), 1);
        if finals[0].type_ == "Complete" && finals[0].reason.as_deref() != Some("SuccessPolicy") {
            let wanted = spec["completions"].as_i64().unwrap_or(1);
            prop_assert!(i64::from(model.status.succeeded.unwrap_or(0)) >= wanted);
        }
    }
}
