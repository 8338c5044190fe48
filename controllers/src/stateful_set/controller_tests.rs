//! Requests and events of single reconciles.
#![allow(clippy::similar_names, reason = "the set, and what was sent")]

use kube::core::Status;
use kubewright::testing::{Harness, Reply, Request};
use serde_json::{Value, from_value, json};

use super::{
    super::test_objects::{now, pod_reference, set_reference},
    *,
};

const KEY: &str = "shop/web";

fn harness() -> Harness {
    harness_with("")
}

fn harness_with(gates: &str) -> Harness {
    let options = Options {
        gates: crate::FeatureGates::parse(gates).unwrap(),
        ..Options::default()
    };
    Harness::with_clock(Clock::starting_at(now()), move |setup| {
        register(setup, &options, &InvalidObjects::default());
    })
}

/// A set that asks for so many replicas, with these further fields of its spec.
fn set(replicas: i32, spec: &Value) -> Value {
    let mut set = json!(super::super::test_objects::set(spec));
    set["spec"]["replicas"] = json!(replicas);
    set
}

/// A ready pod of the set.
fn pod(ordinal: i64, revision: &str) -> Value {
    let name = format!("web-{ordinal}");
    let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-05-01T11:00:00Z"});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-{ordinal}"),
            "labels": {
                "app": "web", "statefulset.kubernetes.io/pod-name": name, "controller-revision-hash": revision,
            },
            "ownerReferences": [set_reference()],
        },
        "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": format!("data-web-{ordinal}")}}]},
        "status": {"phase": "Running", "conditions": [ready]},
    })
}

fn claim(ordinal: i64, owners: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": format!("data-web-{ordinal}"), "namespace": "shop", "uid": format!("claim-{ordinal}"),
            "ownerReferences": owners,
        },
    })
}

/// The revision of the set's template, or of one with this image.
fn revision(set: &Value, number: i64, image: Option<&str>) -> Value {
    let mut owner: StatefulSet = from_value(set.clone()).unwrap();
    let template = &mut owner.spec.as_mut().unwrap().template;
    if let Some(image) = image {
        template.spec.as_mut().unwrap().containers[0].image = Some(image.to_owned());
    }
    let template = template.clone();
    let label = "controller.kubernetes.io/hash";
    let proposal = crate::shared::controller_revisions::Proposal::new(&owner, Some(&template), label);
    let mut revision = json!(proposal.revision(number, Some(0)));
    revision["metadata"]["uid"] = json!(format!("revision-{number}"));
    revision
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

fn sent(test: &Harness) -> Vec<String> {
    test.requests().iter().map(ToString::to_string).collect()
}

fn events(test: &Harness) -> Vec<String> {
    let events = test.events().into_iter();
    events
        .map(|event| format!("{}: {}", event.reason, event.note))
        .collect()
}

fn refused(reason: &str, code: u16) -> Reply {
    Reply::status(&Status::failure("the server said no", reason).with_code(code))
}

fn is(verb: &'static str, object: &'static str) -> impl Fn(&Request) -> bool + Send + 'static {
    move |request| request.to_string().starts_with(&format!("{verb} {object}"))
}

/// A set of two available replicas, of its only revision, and the status that says so.
fn seed_stable(test: &Harness, spec: &Value) -> Value {
    let mut set = set(2, spec);
    let revision = revision(&set, 1, None);
    set["status"] = json!({
        "observedGeneration": 2, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "currentReplicas": 2,
        "updatedReplicas": 2, "currentRevision": name(&revision), "updateRevision": name(&revision), "collisionCount": 0,
    });
    test.seed(&set);
    test.seed(&revision);
    for ordinal in 0..2 {
        test.seed(&pod(ordinal, name(&revision)));
        test.seed(&claim(ordinal, &json!([])));
    }
    set
}

#[tokio::test]
async fn first_reconcile_creates_revision_claim_and_pod() {
    let test = harness();
    let set = set(2, &json!({}));
    test.seed(&set);
    assert_eq!(test.reconcile(KEY).await.unwrap(), Action::await_change());
    let revision = revision(&set, 1, None);
    let requests = test.requests();
    let sent: Vec<_> = requests.iter().map(ToString::to_string).collect();
    assert_eq!(
        sent,
        [
            format!("create controllerrevisions.apps shop/{}", name(&revision)),
            "create persistentvolumeclaims shop/data-web-0".to_owned(),
            "create pods shop/web-0".to_owned(),
            "update statefulsets.apps/status shop/web".to_owned(),
        ]
    );
    assert_eq!(
        requests[3].body["status"],
        json!({
            "observedGeneration": 2, "replicas": 0, "readyReplicas": 0, "availableReplicas": 0, "currentReplicas": 0,
            "updatedReplicas": 0, "currentRevision": name(&revision), "updateRevision": name(&revision),
            "collisionCount": 0,
        })
    );
    assert_eq!(
        events(&test),
        [
            "SuccessfulCreate: Create Claim data-web-0 Pod web-0 in StatefulSet web success",
            "SuccessfulCreate: Create Pod web-0 in StatefulSet web successful",
        ]
    );
}

#[tokio::test]
async fn nothing_is_written_where_everything_is_right() {
    let test = harness();
    seed_stable(&test, &json!({}));
    // None of the set's: pods of a like name, of another set, of another namespace.
    for (name, app, namespace, owner) in [
        ("web-01", "web", "shop", json!([])),
        ("web-5", "other", "shop", json!([])),
        ("web-5", "web", "elsewhere", json!([])),
        ("shop-web-5", "web", "shop", json!([])),
        ("web-6", "web", "shop", json!([pod_reference(1, "other")])),
    ] {
        let mut pod = pod(5, "other");
        let metadata = pod["metadata"].as_object_mut().unwrap();
        metadata.insert("name".to_owned(), json!(name));
        metadata.insert("namespace".to_owned(), json!(namespace));
        metadata.insert("labels".to_owned(), json!({"app": app}));
        metadata.insert("ownerReferences".to_owned(), owner);
        test.seed(&pod);
    }
    assert_eq!(test.reconcile(KEY).await.unwrap(), Action::await_change());
    assert_eq!(sent(&test), [""; 0]);
    assert_eq!(events(&test), [""; 0]);
}

#[tokio::test]
async fn orphans_are_adopted_after_a_live_read_and_corrected() {
    let test = harness();
    let set = seed_stable(&test, &json!({}));
    let mut revision = revision(&set, 1, None);
    revision["metadata"]["ownerReferences"] = json!([]);
    test.seed(&revision);
    let mut orphan = pod(1, name(&revision));
    orphan["metadata"]["ownerReferences"] = json!([]);
    orphan["metadata"]["labels"] = json!({"app": "web", "controller-revision-hash": name(&revision)});
    test.seed(&orphan);
    let mut stranger = pod(7, "x");
    stranger["metadata"]["labels"]["app"] = json!("shop");
    test.seed(&stranger);
    test.reconcile(KEY).await.unwrap();
    let requests = test.requests();
    let mut sent: Vec<_> = requests.iter().map(ToString::to_string).collect();
    sent[3..5].sort();
    assert_eq!(
        sent,
        [
            "get statefulsets.apps shop/web".to_owned(),
            format!("patch controllerrevisions.apps shop/{}", name(&revision)),
            "get statefulsets.apps shop/web".to_owned(),
            "patch pods shop/web-1".to_owned(),
            "patch pods shop/web-7".to_owned(),
            "get pods shop/web-1".to_owned(),
            "update pods shop/web-1".to_owned(),
        ]
    );
    let labels = &requests[6].body["metadata"]["labels"];
    assert_eq!(labels["statefulset.kubernetes.io/pod-name"], "web-1");
    assert_eq!(labels["apps.kubernetes.io/pod-index"], "1");
    assert_eq!(
        events(&test),
        ["SuccessfulUpdate: Update Pod web-1 in StatefulSet web successful"]
    );
}

#[tokio::test]
async fn set_that_was_deleted_meanwhile_adopts_nothing() {
    let test = harness();
    let mut set = seed_stable(&test, &json!({}));
    let mut orphan = pod(1, "x");
    orphan["metadata"]["ownerReferences"] = json!([]);
    test.seed(&orphan);
    set["metadata"]["deletionTimestamp"] = json!("2026-05-01T12:00:00Z");
    test.api().put::<StatefulSet>(&set);
    test.reconcile(KEY).await.unwrap_err();
    assert_eq!(sent(&test), ["get statefulsets.apps shop/web"]);
}

#[tokio::test]
async fn deleted_set_only_counts_its_pods() {
    let test = harness();
    let mut set = seed_stable(&test, &json!({}));
    set["metadata"]["deletionTimestamp"] = json!("2026-05-01T12:00:00Z");
    set["spec"]["replicas"] = json!(9);
    set["spec"]["template"]["spec"]["containers"][0]["image"] = json!("web:3");
    set["status"]["replicas"] = json!(3);
    test.seed(&set);
    test.reconcile(KEY).await.unwrap();
    let requests = test.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    let status = &requests[0].body["status"];
    assert_eq!(
        (&status["replicas"], &status["updatedReplicas"]),
        (&json!(2), &json!(2))
    );
}

#[tokio::test]
async fn failed_creations_are_reported_and_the_status_written() {
    for (failing, code, reason, expected) in [
        (
            "pods",
            500,
            "InternalError",
            &["FailedCreate: Create Pod web-0 in StatefulSet web failed error: the server said no"][..],
        ),
        ("pods", 409, "AlreadyExists", &[]),
        (
            "persistentvolumeclaims",
            403,
            "Forbidden",
            &[
                "FailedCreate: Create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: the server said no",
                "FailedCreate: Create Pod web-0 in StatefulSet web failed error: \
                 failed to create PVC data-web-0: the server said no",
            ],
        ),
    ] {
        let test = harness();
        let set = set(2, &json!({}));
        test.seed(&set);
        test.seed(&revision(&set, 1, None));
        if failing == "pods" {
            test.seed(&claim(0, &json!([])));
        }
        test.reply_with(is("create", failing), refused(reason, code));
        test.reconcile(KEY).await.unwrap_err();
        let sent = sent(&test);
        assert_eq!(sent.len(), 2, "{sent:?}");
        assert_eq!(sent[1], "update statefulsets.apps/status shop/web");
        assert_eq!(events(&test), expected);
    }
}

#[tokio::test]
async fn pod_is_created_even_if_the_owners_of_its_claim_cannot_be_updated() {
    for is_pending in [false, true] {
        let test = harness();
        let set = set(
            1,
            &json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}),
        );
        let revision = revision(&set, 1, None);
        for object in [&set, &revision, &claim(0, &json!([]))] {
            test.seed(object);
        }
        if is_pending {
            let mut pending = pod(0, name(&revision));
            pending["status"] = json!({"phase": "Pending"});
            test.seed(&pending);
        }
        test.reply_with(is("update", "persistentvolumeclaims"), refused("Forbidden", 403));
        test.reconcile(KEY).await.unwrap_err();
        let expected = [
            "create pods shop/web-0",
            "update persistentvolumeclaims shop/data-web-0",
            "update statefulsets.apps/status shop/web",
        ];
        assert_eq!(sent(&test), expected[usize::from(is_pending)..]);
        assert_eq!(
            events(&test),
            ["FailedUpdate: Update Pod web-0 in StatefulSet web failed error: \
              could not update claim data-web-0 for delete policy ownerRefs: the server said no"]
        );
    }
}

#[tokio::test]
async fn all_claims_that_cannot_be_created_are_named() {
    let test = harness();
    let templates = json!([{"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}]);
    let set = set(1, &json!({"volumeClaimTemplates": templates}));
    test.seed(&set);
    test.seed(&revision(&set, 1, None));
    for _ in 0..2 {
        test.reply_with(is("create", "persistentvolumeclaims"), refused("Forbidden", 403));
    }
    test.reconcile(KEY).await.unwrap_err();
    assert_eq!(
        events(&test).last().unwrap(),
        "FailedCreate: Create Pod web-0 in StatefulSet web failed error: [failed to create PVC data-web-0: the server said no, \
         failed to create PVC logs-web-0: the server said no]"
    );
}

#[tokio::test]
async fn pod_is_not_created_while_its_claim_is_being_deleted() {
    let test = harness();
    let set = set(1, &json!({}));
    test.seed(&set);
    test.seed(&revision(&set, 1, None));
    let mut claim = claim(0, &json!([]));
    claim["metadata"]["deletionTimestamp"] = json!("2026-05-01T12:00:00Z");
    test.seed(&claim);
    let error = test.reconcile(KEY).await.unwrap_err();
    assert_eq!(error.to_string(), "pvc data-web-0 is being deleted");
    assert_eq!(
        events(&test),
        ["FailedCreate: Create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is being deleted"]
    );
}

#[tokio::test]
async fn parallel_creations_stop_after_a_batch_with_a_failure() {
    let test = harness();
    let set = set(
        7,
        &json!({"podManagementPolicy": "Parallel", "volumeClaimTemplates": null}),
    );
    test.seed(&set);
    test.seed(&revision(&set, 1, None));
    test.reply_with(is("create", "pods shop/web-2"), refused("InternalError", 500));
    test.reconcile(KEY).await.unwrap_err();
    let created = sent(&test)
        .into_iter()
        .filter(|request| request.starts_with("create pods"));
    assert_eq!(created.count(), 3);
}

#[tokio::test]
async fn pod_that_is_gone_counts_as_deleted() {
    let test = harness();
    let mut set = seed_stable(&test, &json!({}));
    set["spec"]["replicas"] = json!(1);
    test.seed(&set);
    test.reply_with(is("delete", "pods"), refused("NotFound", 404));
    test.reconcile(KEY).await.unwrap();
    assert_eq!(sent(&test), ["delete pods shop/web-1"]);
    assert_eq!(
        events(&test),
        ["SuccessfulDelete: Delete Pod web-1 in StatefulSet web successful"]
    );
}

#[tokio::test]
async fn conflicting_controller_of_a_claim_is_reported() {
    let test = harness();
    let set = set(
        1,
        &json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}),
    );
    test.seed(&set);
    test.seed(&revision(&set, 1, None));
    let other = json!({"apiVersion": "example.com/v1", "kind": "Database", "name": "db", "uid": "db", "controller": true});
    test.seed(&claim(0, &json!([other])));
    test.reconcile(KEY).await.unwrap();
    let events = events(&test);
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events[0].starts_with("ConflictingController: PersistentVolumeClaim data-web-0"));
}

#[tokio::test]
async fn status_is_written_again_after_a_conflict() {
    let test = harness();
    let mut set = seed_stable(&test, &json!({}));
    set["status"]["readyReplicas"] = json!(0);
    test.seed(&set);
    test.reply_with(is("update", "statefulsets"), Reply::conflict());
    test.reconcile(KEY).await.unwrap();
    let requests = test.requests();
    let verbs: Vec<_> = requests.iter().map(|request| request.verb).collect();
    assert_eq!(verbs, ["update", "get", "update"]);
    assert_eq!(requests[2].body["status"]["readyReplicas"], 2);
}

#[tokio::test]
async fn rollback_renumbers_the_former_revision_and_old_ones_go() {
    let test = harness();
    let mut set = seed_stable(&test, &json!({"revisionHistoryLimit": 1}));
    let current = name(&revision(&set, 1, None)).to_owned();
    for (number, image) in [(2, "a"), (3, "b"), (4, "c")] {
        test.seed(&revision(&set, number, Some(image)));
    }
    set["spec"]["template"]["spec"]["containers"][0]["image"] = json!("b");
    test.seed(&set);
    test.reconcile(KEY).await.unwrap();
    let requests = test.requests();
    let sent: Vec<_> = requests.iter().map(ToString::to_string).collect();
    let name = |number: i64, image| name(&revision(&set, number, Some(image))).to_owned();
    // Of the set's pods: the first revision. Of its template: "b". Others: "a" and "c".
    assert_eq!(
        sent,
        [
            format!("update controllerrevisions.apps shop/{}", name(3, "b")),
            "delete pods shop/web-1".to_owned(),
            "update statefulsets.apps/status shop/web".to_owned(),
            format!("delete controllerrevisions.apps shop/{}", name(2, "a")),
        ]
    );
    assert_eq!(requests[0].body["revision"], 5);
    let status = &requests[2].body["status"];
    assert_eq!(status["currentRevision"], json!(current));
    assert_eq!(status["updateRevision"], json!(name(3, "b")));
    assert_eq!(
        (&status["currentReplicas"], &status["updatedReplicas"]),
        (&json!(1), &json!(0))
    );
}

#[tokio::test]
async fn several_replicas_are_replaced_at_once_behind_the_gate() {
    for (gates, expected) in [
        ("", &["delete pods shop/web-1"][..]),
        (
            "MaxUnavailableStatefulSet=true",
            &["delete pods shop/web-1", "delete pods shop/web-0"],
        ),
    ] {
        let test = harness_with(gates);
        let update = json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": "100%"}}});
        let mut set = seed_stable(&test, &update);
        set["spec"]["template"]["spec"]["containers"][0]["image"] = json!("web:3");
        test.seed(&set);
        test.reconcile(KEY).await.unwrap();
        let mut sent = sent(&test);
        sent.retain(|request| request.starts_with("delete"));
        assert_eq!(sent, expected, "{gates}");
    }
}

#[tokio::test]
async fn name_of_another_revision_leads_to_a_collision_count() {
    for (image, expected) in [("web:9", 1), ("web:2", 0)] {
        let test = harness();
        let set = set(1, &json!({}));
        test.seed(&set);
        let mut existing = revision(&set, 7, Some(image));
        existing["metadata"]["name"] = revision(&set, 1, None)["metadata"]["name"].clone();
        test.api().put::<ControllerRevision>(&existing);
        test.reconcile(KEY).await.unwrap();
        let requests = test.requests();
        let of_revisions = requests
            .iter()
            .filter(|request| request.to_string().contains("controllerrevisions"));
        assert_eq!(of_revisions.count(), 2 + expected);
        let status = &requests.last().unwrap().body["status"];
        assert_eq!(status["collisionCount"], json!(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn key_is_called_again_when_a_pod_becomes_available() {
    let test = harness();
    let mut set = seed_stable(&test, &json!({"minReadySeconds": 7200}));
    set["status"]["availableReplicas"] = json!(0);
    test.seed(&set);
    let action = test.reconcile(KEY).await.unwrap();
    assert_eq!(action, Action::requeue_after(Duration::from_hours(1)));
    assert_eq!(sent(&test), [""; 0]);
}

#[tokio::test]
async fn bad_sets_are_left_alone() {
    for change in [
        json!({"selector": {}}),
        json!({"selector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}}),
    ] {
        let test = harness();
        test.seed(&set(2, &change));
        test.reconcile(KEY).await.unwrap();
        assert_eq!(sent(&test), [""; 0], "{change}");
    }
    let test = harness();
    test.reconcile("shop/absent").await.unwrap();
    assert_eq!(sent(&test), [""; 0]);
}

#[tokio::test]
async fn template_without_labels_is_an_error() {
    let test = harness();
    test.seed(&set(1, &json!({"template": {"spec": {"containers": []}}})));
    let error = test.reconcile(KEY).await.unwrap_err();
    assert_eq!(error.to_string(), "unable to create pods, no labels");
}
