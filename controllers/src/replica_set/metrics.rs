//! How well the deletion order keeps old pods, with upstream's name.

use k8s_openapi::jiff::Timestamp;
use kubewright::prometheus_client::{
    metrics::histogram::{Histogram, exponential_buckets},
    registry::Registry,
};

use crate::shared::pod::PodView;

/// The age of each ready pod that was chosen for deletion, in relation to that of the youngest ready pod. Below 2 if times are compared on a
/// logarithmic scale.
#[derive(Clone, Debug)]
pub(super) struct DeletionAgeRatio(Histogram);

impl DeletionAgeRatio {
    pub(super) fn register(registry: &mut Registry, subsystem: &str) -> Self {
        let ratio = Histogram::new(exponential_buckets(0.25, 2.0, 6));
        registry.register(
            format!("{subsystem}_sorting_deletion_age_ratio"),
            "Age of deleted ready pods in relation to the youngest ready pod",
            ratio.clone(),
        );
        Self(ratio)
    }

    /// Observes a choice of some of the pods.
    pub(super) fn observe<'p>(
        &self,
        pods: impl Iterator<Item = &'p PodView>,
        chosen: impl Iterator<Item = &'p PodView>,
        now: Timestamp,
    ) {
        for ratio in ratios(pods, chosen, now) {
            self.0.observe(ratio);
        }
    }
}

fn ratios<'p>(
    pods: impl Iterator<Item = &'p PodView>,
    chosen: impl Iterator<Item = &'p PodView>,
    now: Timestamp,
) -> Vec<f64> {
    let age = |pod: &PodView| {
        let created = pod.created_at().filter(|_| pod.is_ready())?;
        Some(now.duration_since(created).as_millis())
    };
    let Some(youngest) = pods.filter_map(age).min().filter(|youngest| *youngest > 0) else {
        return Vec::new();
    };
    // As upstream, a ratio of whole milliseconds without its fraction.
    let ratio = |age: i128| f64::from(i32::try_from(age / youngest).unwrap_or(i32::MAX));
    chosen.filter_map(age).map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::shared::pod::{ConditionStatus, ConditionType};

    fn pod(created: i64, is_ready: bool) -> PodView {
        let status = if is_ready {
            ConditionStatus::True
        } else {
            ConditionStatus::False
        };
        PodView {
            created: Some(Time(Timestamp::from_second(created).unwrap())),
            condition_types: vec![Some(ConditionType::Ready)],
            condition_statuses: vec![Some(status)],
            condition_times: vec![None],
            ..PodView::default()
        }
    }

    #[test]
    fn ratio_is_that_of_ready_pods_to_the_youngest() {
        let pods = [pod(0, true), pod(60, true), pod(80, true), pod(90, false)];
        let now = Timestamp::from_second(101).unwrap();
        let of = |chosen: &[usize]| ratios(pods.iter(), chosen.iter().map(|index| &pods[*index]), now);
        assert_eq!(of(&[0, 1, 2, 3]), [4.0, 1.0, 1.0]);
        assert_eq!(of(&[]), [0.0; 0]);
        let just_created = Timestamp::from_second(80).unwrap();
        assert_eq!(ratios(pods.iter(), pods.iter(), just_created), [0.0; 0]);
    }
}
