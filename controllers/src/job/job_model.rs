//! A model of a Job's world: pods start, finish and disappear, the cache shows them later, the spec changes, and writes fail at any point.
//! Property tests run the plan in it.

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
    job_events::{JobEvent, events, specs},
    job_pod::JobPod,
    plan::{PodStep, assess},
    progress::{PodChanges, Progress},
    rules::JobRules,
    test_objects::{features, has_finished, job, limits, now, pod_of},
    tracking::Tracking,
};

#[derive(Clone, Debug)]
struct ModelPod {
    uid: String,
    index: Option<u32>,
    failures: u32,
    phase: &'static str,
    exit_code: i32,
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
    /// The pods as the cache has them.
    cached: BTreeMap<usize, ModelPod>,
    /// Whether the cache lacks pods that the controller created, or deletions of pods: it expects them.
    expects: bool,
    /// The uids of pods without the finalizer, which the controller remembers.
    released: BTreeSet<String>,
    created: usize,
    failures: FailureRecord,
    now: Timestamp,
    features: Features,
    limits: Limits,
    /// The uids of pods that ended while they had the finalizer.
    ended: BTreeSet<String>,
    succeeded: BTreeSet<String>,
    succeeded_indexes: BTreeSet<u32>,
    /// The fewest completions that the Job has had: it may have succeeded with them.
    least_completions: i32,
}

impl JobModel {
    fn new(spec: &Value, gates: &str) -> Self {
        let completions = spec["completions"].as_i64().unwrap_or(1);
        Self {
            job: job(spec),
            status: JobStatus::default(),
            pods: BTreeMap::new(),
            cached: BTreeMap::new(),
            expects: false,
            released: BTreeSet::new(),
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
            least_completions: i32::try_from(completions).unwrap(),
        }
    }

    fn is_finished(&self) -> bool {
        has_finished(&self.status)
    }

    fn apply(&mut self, event: &JobEvent) {
        match *event {
            JobEvent::Reconcile(writes) => self.reconcile(writes),
            JobEvent::Observe => {
                self.cached = self.pods.clone();
                self.expects = false;
            }
            JobEvent::Phase(number, phase, exit_code) => {
                let now = self.now;
                if let Some(pod) = self.nth(number).filter(|pod| !pod.is_terminal()) {
                    (pod.phase, pod.exit_code) = (phase, exit_code);
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
            JobEvent::Completions(completions) => {
                let spec = self.job.spec.as_mut().unwrap();
                if spec.completion_mode.as_deref() == Some("Indexed") {
                    self.least_completions = self.least_completions.min(completions);
                    (spec.completions, spec.parallelism) = (Some(completions), Some(completions));
                }
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
            self.apply(&JobEvent::Observe);
            self.apply(&JobEvent::Reconcile(usize::MAX));
            for number in 0..self.pods.len() {
                self.apply(&JobEvent::Phase(number, "Succeeded", 0));
            }
        }
        panic!("the Job does not end: {self:#?}");
    }

    fn nth(&mut self, number: usize) -> Option<&mut ModelPod> {
        let count = self.pods.len().max(1);
        self.pods.values_mut().nth(number % count)
    }

    /// None if it is gone: nothing is left to be done about it.
    fn find(&mut self, uid: &str) -> Option<&mut ModelPod> {
        self.pods.values_mut().find(|pod| pod.uid == uid)
    }

    fn release(&mut self, uid: &str) {
        self.released.insert(uid.to_owned());
        if let Some(pod) = self.find(uid) {
            pod.has_finalizer = false;
        }
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
        let pods: Vec<JobPod> = before
            .cached
            .values()
            .map(|pod| pod.cached(&before.released))
            .collect();
        let is_satisfied = !self.expects;
        let assessment = assess(&rules, &before.status, &pods, self.failures, self.now);
        let step = assessment.next_step(is_satisfied, &self.limits, self.now);
        let mut changes = PodChanges::default();
        match &step {
            PodStep::End(pods) | PodStep::Remove(pods) => {
                for pod in pods.iter().filter(|_| may_write()) {
                    let keeps_finalizer = matches!(step, PodStep::End(_));
                    if !self.features.delays_final_condition() {
                        // As upstream: a Job that becomes complete by their deletion counts them as failed.
                        self.ended.insert(pod.uid.to_string());
                    }
                    if !keeps_finalizer {
                        self.release(&pod.uid);
                    }
                    if let Some(pod) = self.find(&pod.uid) {
                        pod.is_deleted = true;
                        self.expects = true;
                    }
                    changes.deleted += 1;
                }
            }
            PodStep::Create(indexes) => {
                for index in indexes.iter().filter(|_| may_write()) {
                    let failures = index.map(|index| assessment.indexes.failures(&rules, index));
                    self.create(*index, failures.map_or(0, |failures| failures.counted));
                    assert!(index.is_none() || *index < rules.indexes, "index {index:?}");
                    (changes.created, self.expects) = (changes.created + 1, true);
                }
            }
            PodStep::Wait(_) | PodStep::Keep | PodStep::Await => {}
        }
        self.check_active();
        self.note_ends();
        let progress = Progress::after(
            &assessment,
            &before.status,
            &step,
            changes,
            is_satisfied,
            self.now,
        );
        let mut tracking = Tracking::plan(&assessment, &progress, self.limits.max_uncounted_pods, self.now);
        if !may_write() {
            return;
        }
        self.write(tracking.status.clone());
        self.failures = assessment.failures_with(&tracking.finished);
        let finished = tracking.finished.clone();
        let removed: Vec<_> = finished.iter().copied().filter(|_| may_write()).collect();
        for pod in &removed {
            self.release(&pod.uid);
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
            exit_code: 0,
            finished: None,
            is_deleted: false,
            has_finalizer: true,
        };
        self.pods.insert(self.created, pod);
        self.created += 1;
    }

    fn check_active(&self) {
        let active = self
            .pods
            .values()
            .filter(|pod| !pod.is_terminal() && !pod.is_deleted);
        let mut taken = BTreeSet::new();
        for index in active.filter_map(|pod| pod.index) {
            assert!(taken.insert(index), "two active pods of index {index}");
        }
    }

    /// Writes the status, with the checks of the API server, and those of the model: each pod counts once at most.
    fn write(&mut self, status: JobStatus) {
        let count = |counter: Option<i32>| usize::try_from(counter.unwrap_or(0)).unwrap();
        let before = &self.status;
        assert!(count(status.failed) >= count(before.failed), "fewer failed pods");
        let spec = self.job.spec.as_ref().unwrap();
        if spec.completion_mode.as_deref() == Some("Indexed") {
            // Only those are lost that are no indexes of the Job any more.
            let limit = u32::try_from(spec.completions.unwrap()).unwrap();
            let indexes = |text: &Option<String>| IndexSet::parse(text.as_deref().unwrap_or_default(), limit);
            let (known, new) = (
                indexes(&before.completed_indexes),
                indexes(&status.completed_indexes),
            );
            assert_eq!(known.common(&new), known.len(), "fewer succeeded indexes");
        } else {
            let [known, new] = [before.succeeded, status.succeeded].map(count);
            assert!(new >= known, "fewer succeeded pods");
        }
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
            // Those of pods that the cache lacks go after the end.
            let mut known = self
                .cached
                .values()
                .filter(|pod| !self.released.contains(&pod.uid));
            assert!(known.all(|pod| !pod.has_finalizer), "a finalizer stays");
        }
        self.status = status;
    }
}

impl ModelPod {
    fn is_terminal(&self) -> bool {
        matches!(self.phase, "Succeeded" | "Failed")
    }

    fn cached(&self, released: &BTreeSet<String>) -> JobPod {
        let finished = self.finished.map(|time| time.to_string());
        let terminated = finished.map(|time| json!({"exitCode": self.exit_code, "finishedAt": time}));
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
        pod.is_tracked = self.has_finalizer && !released.contains(&self.uid);
        pod
    }
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
            prop_assert!(model.status.succeeded.unwrap_or(0) >= model.least_completions);
        }
    }
}
