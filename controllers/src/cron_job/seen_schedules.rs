//! The schedules that CronJobs had at their last reconcile.

use std::collections::HashMap;

use k8s_openapi::api::batch::v1::CronJob;
use kubewright::NamespacedName;
use parking_lot::Mutex;

/// Finds changes of schedules. As upstream, such a change alone starts no Job for a time that has passed: the CronJob waits for the next time
/// of its new schedule, or for another change.
#[derive(Debug, Default)]
pub(super) struct SeenSchedules(Mutex<HashMap<NamespacedName, SeenSchedule>>);

#[derive(Debug, PartialEq, Eq)]
struct SeenSchedule {
    uid: Option<String>,
    schedule: String,
    time_zone: Option<String>,
}

impl SeenSchedules {
    /// Notes the schedule of a CronJob. Returns whether it had another one before.
    pub(super) fn has_changed(&self, key: &NamespacedName, cron_job: &CronJob) -> bool {
        let now = SeenSchedule {
            uid: cron_job.metadata.uid.clone(),
            schedule: cron_job.spec.schedule.clone(),
            time_zone: cron_job.spec.time_zone.clone(),
        };
        let mut seen = self.0.lock();
        match seen.get(key) {
            Some(before) if *before == now => false,
            before => {
                let has_changed = before.is_some_and(|before| before.uid == now.uid);
                seen.insert(key.clone(), now);
                has_changed
            }
        }
    }

    /// Forgets a CronJob that is gone.
    pub(super) fn forget(&self, key: &NamespacedName) {
        self.0.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_another_schedule_of_the_same_object_is_a_change() {
        let key = NamespacedName::namespaced("shop", "c");
        let seen = SeenSchedules::default();
        for (uid, schedule, zone, has_changed) in [
            ("1", "0 3 * * *", None, false),
            ("1", "0 3 * * *", None, false),
            ("1", "0 4 * * *", None, true),
            ("1", "0 4 * * *", None, false),
            ("1", "0 4 * * *", Some("UTC"), true),
            ("2", "0 5 * * *", None, false),
        ] {
            let cron_job = serde_json::from_value(json!({
                "metadata": {"uid": uid}, "spec": {"schedule": schedule, "timeZone": zone, "jobTemplate": {}},
            }));
            assert_eq!(
                seen.has_changed(&key, &cron_job.unwrap()),
                has_changed,
                "{uid} {schedule} {zone:?}"
            );
        }
        seen.forget(&key);
        assert!(seen.0.lock().is_empty());
    }
}
