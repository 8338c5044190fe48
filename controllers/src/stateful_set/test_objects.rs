//! Sets and pods for tests of single reconciles.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::apps::v1::StatefulSet,
    apimachinery::pkg::apis::meta::v1::{OwnerReference, Time},
    jiff::{SignedDuration, Timestamp},
};
use serde_json::{Value, from_value, json};

use super::{
    claims::ClaimState,
    desired::DesiredSet,
    plan::{ObservedSet, SetPlan, StatefulPod, plan},
};
use crate::shared::pod::{ConditionStatus, ConditionType, PodPhase, PodView};

pub(super) const NEW: &str = "web-new";
pub(super) const OLD: &str = "web-old";

pub(super) fn now() -> Timestamp {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

/// A set `web` with these fields of its spec, and a claim template `data`.
pub(super) fn set(spec: &Value) -> StatefulSet {
    let mut object = json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "set", "generation": 2},
        "spec": {
            "serviceName": "headless",
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [{"name": "web", "image": "web:2"}],
                    "volumes": [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}],
                },
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data", "labels": {"tier": "db", "app": "other"}}}],
        },
    });
    let fields = object["spec"].as_object_mut().unwrap();
    fields.extend(spec.as_object().unwrap().clone());
    from_value(object).unwrap()
}

pub(super) fn controller(kind: &str, api_version: &str, name: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

pub(super) fn set_reference() -> OwnerReference {
    controller("StatefulSet", "apps/v1", "web", "set")
}

pub(super) fn pod_reference(ordinal: i64, uid: &str) -> OwnerReference {
    controller("Pod", "v1", &format!("web-{ordinal}"), uid)
}

/// What a test says of a pod: letters, as in `rN`. Lower case is the state: `r` ready for a minute, `j` ready just now, `u` running and not
/// ready, `p` pending, `f` failed, `s` succeeded, `-` no phase. Upper case: `N` of the new revision, `O` of the old one, `T` being deleted, `I`
/// without identity, `C` without claims.
pub(super) fn pod(ordinal: i64, text: &str) -> StatefulPod {
    let phase = match text.as_bytes()[0] {
        b'r' | b'j' | b'u' => PodPhase::Running,
        b'p' => PodPhase::Pending,
        b'f' => PodPhase::Failed,
        b's' => PodPhase::Succeeded,
        _ => PodPhase::Unset,
    };
    let has = |letter: char| text.contains(letter);
    let mut view = PodView {
        phase,
        deleted: has('T').then(|| Time(now())),
        claims: if has('C') {
            Vec::new()
        } else {
            vec![format!("data-web-{ordinal}")]
        },
        ..PodView::default()
    };
    if has('r') || has('j') {
        let since = now() - SignedDuration::from_secs(if has('j') { 0 } else { 60 });
        view.condition_types = vec![Some(ConditionType::Ready)];
        view.condition_statuses = vec![Some(ConditionStatus::True)];
        view.condition_times = vec![Some(Time(since))];
    }
    StatefulPod {
        uid: format!("uid-{ordinal}"),
        revision: Some(if has('O') { OLD } else { NEW }.to_owned()),
        has_identity: !has('I'),
        view: Arc::new(view),
    }
}

/// Pods by ordinal, from `0:rN 1:pO`.
pub(super) fn pods(text: &str) -> BTreeMap<i64, StatefulPod> {
    let pods = text.split_whitespace().map(|one| {
        let (ordinal, state) = one.split_once(':').unwrap();
        let ordinal = ordinal.parse().unwrap();
        (ordinal, pod(ordinal, state))
    });
    pods.collect()
}

/// A claim that its set does not own, as without a policy.
#[expect(clippy::unnecessary_wraps, reason = "a lookup of claims may find none")]
pub(super) fn kept(_: &str) -> Option<ClaimState> {
    Some(ClaimState::default())
}

/// Plans a reconcile of a set `web`. Fields that no spec has: `usesMaxUnavailable` is the gate, `currentReplicas` is of the status.
pub(super) fn plan_with(
    spec: &Value,
    pods: &BTreeMap<i64, StatefulPod>,
    claim: &dyn Fn(&str) -> Option<ClaimState>,
) -> SetPlan {
    let set = set(spec);
    let current_replicas = spec["currentReplicas"].as_i64().unwrap_or(0);
    plan(&ObservedSet {
        set: &set_reference(),
        desired: DesiredSet::of(&set, !spec["usesMaxUnavailable"].is_null()),
        templates: &["data".to_owned()],
        pods,
        claim,
        update_revision: NEW,
        current_replicas,
        now: now(),
    })
}
