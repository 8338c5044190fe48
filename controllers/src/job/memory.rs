//! What the controller remembers of each Job between reconciles. After a restart it starts empty.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::backoff::FailureRecord;

/// What is remembered of Jobs, by their uids.
#[derive(Debug, Default)]
pub(super) struct JobMemory(Mutex<HashMap<Box<str>, JobRecord>>);

#[derive(Debug, Default)]
struct JobRecord {
    failures: FailureRecord,
    /// The uids of pods whose finalizer was removed, which the cache may not show yet.
    untracked: HashSet<Box<str>>,
}

impl JobMemory {
    /// Returns the failures of a Job's pods since the last success.
    pub(super) fn failures(&self, job: &str) -> FailureRecord {
        self.jobs()
            .get(job)
            .map(|record| record.failures)
            .unwrap_or_default()
    }

    pub(super) fn set_failures(&self, job: &str, failures: FailureRecord) {
        if failures != self.failures(job) {
            self.jobs().entry(job.into()).or_default().failures = failures;
        }
    }

    /// Records that pods are losing their finalizers: they must not be counted again, even if the cache shows the finalizer for longer.
    pub(super) fn add_untracked<'u>(&self, job: &str, pods: impl IntoIterator<Item = &'u str>) {
        let mut jobs = self.jobs();
        let untracked = &mut jobs.entry(job.into()).or_default().untracked;
        untracked.extend(pods.into_iter().map(Into::into));
    }

    /// Takes back that a pod has lost its finalizer.
    pub(super) fn remove_untracked(&self, job: &str, pod: &str) {
        if let Some(record) = self.jobs().get_mut(job) {
            record.untracked.remove(pod);
        }
    }

    /// Returns those of these pods, which have the finalizer in the cache, that have lost it. Forgets the others.
    pub(super) fn untracked(&self, job: &str, cached: &HashSet<&str>) -> HashSet<Box<str>> {
        let mut jobs = self.jobs();
        let Some(record) = jobs.get_mut(job) else {
            return HashSet::new();
        };
        record.untracked.retain(|pod| cached.contains(&**pod));
        record.untracked.clone()
    }

    /// Forgets a Job that has finished, or does not exist any more.
    pub(super) fn forget(&self, job: &str) {
        self.jobs().remove(job);
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<Box<str>, JobRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_finalizers_are_remembered_until_the_cache_shows_it() {
        let memory = JobMemory::default();
        memory.add_untracked("job", ["a", "b", "c"]);
        memory.remove_untracked("job", "b");
        let untracked = |cached: &[&str]| {
            let mut pods: Vec<_> = memory
                .untracked("job", &cached.iter().copied().collect())
                .into_iter()
                .collect();
            pods.sort();
            pods
        };
        assert_eq!(untracked(&["a", "b", "c", "d"]), ["a".into(), "c".into()]);
        assert_eq!(untracked(&["c"]), ["c".into()]);
        // The finalizer is back, for example after adoption.
        assert_eq!(untracked(&["a", "c"]), ["c".into()]);
        memory.forget("job");
        assert_eq!(untracked(&["c"]), Vec::<Box<str>>::new());
    }
}
