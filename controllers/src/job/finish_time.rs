//! When a pod finished.

use k8s_openapi::jiff::Timestamp;

use crate::shared::pod::{PodView, known_time};

/// Returns when a pod finished: when its last container terminated; unless all have, when it was no longer ready, was deleted, or
/// was created. None if all of these are unknown.
pub(super) fn finish_time(pod: &PodView) -> Option<Timestamp> {
    last_termination(pod)
        .or_else(|| pod.unready_since())
        .or_else(|| pod.deleted_at())
        .or_else(|| pod.created_at())
}

/// Returns when the last container or sidecar terminated. None while one of them runs.
fn last_termination(pod: &PodView) -> Option<Timestamp> {
    let time = |time: &Option<_>| known_time(time.as_ref());
    let containers: Option<Vec<_>> = pod.finish_times.iter().map(time).collect();
    let sidecars = pod.init_statuses.iter().zip(&pod.init_finish_times);
    let sidecars: Option<Vec<_>> = sidecars
        .filter(|(name, _)| pod.is_sidecar(name.as_deref()))
        .map(|(_, finished)| time(finished))
        .collect();
    // As upstream: sidecars that have terminated outweigh containers that have not.
    containers.unwrap_or_default().into_iter().chain(sidecars?).max()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    const CREATED: &str = "2026-05-01T00:00:00Z";

    fn terminated(second: u32) -> Value {
        json!({"name": "main", "state": {"terminated": {"exitCode": 1, "finishedAt": format!("2026-05-01T00:00:{second:02}Z")}}})
    }

    fn running() -> Value {
        json!({"name": "main", "state": {"running": {}}})
    }

    fn pod(containers: &[Value], init_containers: &[Value]) -> Value {
        json!({
            "metadata": {"creationTimestamp": CREATED},
            "spec": {"initContainers": [{"name": "main", "restartPolicy": "Always"}, {"name": "setup"}]},
            "status": {"containerStatuses": containers, "initContainerStatuses": init_containers},
        })
    }

    fn seconds(pod: Value) -> i64 {
        let pod: PodView = from_value(pod).unwrap();
        let start: Timestamp = CREATED.parse().unwrap();
        finish_time(&pod).unwrap().duration_since(start).as_secs()
    }

    #[test]
    fn last_container_or_sidecar_decides_if_all_have_terminated() {
        let mut setup = terminated(50);
        setup["name"] = json!("setup");
        for (containers, init_containers, expected) in [
            (vec![terminated(5)], vec![], 5),
            (vec![terminated(5), terminated(9), terminated(7)], vec![], 9),
            (vec![terminated(5)], vec![terminated(8)], 8),
            (vec![terminated(5)], vec![setup], 5),
            (vec![terminated(5)], vec![running()], 0),
            (vec![terminated(5), running()], vec![], 0),
            (vec![running()], vec![terminated(8)], 8),
            (vec![], vec![], 0),
        ] {
            let case = format!("{containers:?} {init_containers:?}");
            assert_eq!(seconds(pod(&containers, &init_containers)), expected, "{case}");
        }
    }

    #[test]
    fn other_times_replace_that_of_containers() {
        let mut unready = pod(&[running()], &[]);
        unready["metadata"]["deletionTimestamp"] = json!("2026-05-01T00:00:40Z");
        unready["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        assert_eq!(seconds(unready.clone()), 10);
        unready["status"]["conditions"] =
            json!([{"type": "Ready", "status": "False", "lastTransitionTime": "2026-05-01T00:00:05Z"}]);
        assert_eq!(seconds(unready.clone()), 5);
        unready["status"]["conditions"][0]["status"] = json!("True");
        assert_eq!(seconds(unready), 10);
        assert_eq!(finish_time(&PodView::default()), None);
    }
}
