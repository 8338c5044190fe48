use serde_json::{Value, from_value, json};

use super::*;

/// A set as an API server of Kubernetes 1.34 has it, and the template as a revision of 1.33 writes it.
fn set(image: &str) -> StatefulSet {
    from_value(json!({
        "metadata": {"name": "test", "namespace": "default", "uid": "1"},
        "spec": {"serviceName": "", "selector": {"matchLabels": {"app": "foo"}}, "template": template(image)},
    }))
    .unwrap()
}

fn template(image: &str) -> Value {
    json!({
        "metadata": {"annotations": {"test": "value"}, "labels": {"app": "foo"}},
        "spec": {
            "containers": [{
                "image": image, "imagePullPolicy": "Always", "name": "test", "resources": {},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            }],
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "securityContext": {}, "terminationGracePeriodSeconds": 30,
        },
    })
}

fn proposal(set: &StatefulSet) -> Proposal<'_, StatefulSet> {
    Proposal::new(set, set.spec.as_ref().map(|spec| &spec.template), HASH_LABEL)
}

fn revision(image: &str, number: i64) -> Arc<ControllerRevision> {
    Arc::new(proposal(&set(image)).revision(number, Some(0)))
}

/// The revision as Kubernetes 1.33 wrote it.
fn of_1_33(image: &str, number: i64) -> Arc<ControllerRevision> {
    let mut revision = (*revision(image, number)).clone();
    let data = revision.data.as_mut().unwrap();
    data.0["spec"]["template"]["metadata"]["creationTimestamp"] = Value::Null;
    Arc::new(revision)
}

#[test]
fn revisions_have_the_names_that_upstream_gives_them() {
    assert_eq!(name(&revision("test", 1)), "test-776999688b");
}

#[test]
fn present_template_is_kept_rolled_back_or_created() {
    let set = set("a");
    let proposal = proposal(&set);
    let (a, b) = (revision("a", 1), revision("b", 2));
    let a_again = revision("a", 3);
    assert_eq!(choose(&proposal, &[], true), Choice::Create);
    let history = [a.clone()];
    assert_eq!(choose(&proposal, &history, true), Choice::Keep(&history[0]));
    let history = [a, b];
    assert_eq!(choose(&proposal, &history, true), Choice::RollBack(&history[0]));
    let history = [history[0].clone(), history[1].clone(), a_again];
    assert_eq!(choose(&proposal, &history, true), Choice::Keep(&history[2]));
    let history = [history[1].clone()];
    assert_eq!(choose(&proposal, &history, true), Choice::Create);
}

#[test]
fn last_revision_that_means_the_same_is_kept() {
    let set = set("a");
    let proposal = proposal(&set);
    for (history, compares_semantics, expected) in [
        (vec![of_1_33("a", 1)], true, Some(1)),
        (vec![of_1_33("a", 1)], false, None),
        (vec![of_1_33("a", 1), revision("a", 2)], true, Some(2)),
        (vec![of_1_33("a", 1), revision("b", 2)], true, None),
        (vec![of_1_33("b", 1)], true, None),
    ] {
        let kept = match choose(&proposal, &history, compares_semantics) {
            Choice::Keep(revision) => Some(revision.revision),
            _ => None,
        };
        assert_eq!(kept, expected, "{history:?}");
    }
}

#[test]
fn template_of_a_revision_replaces_that_of_the_set() {
    let set = set("a");
    let image = |revision: &ControllerRevision| {
        let template = template_of(&set, revision).unwrap();
        template.spec.as_ref().unwrap().containers[0]
            .image
            .clone()
            .unwrap()
    };
    assert_eq!(image(&revision("b", 1)), "b");
    assert_eq!(image(&ControllerRevision::default()), "a");
    let mut damaged = ControllerRevision::default();
    damaged.metadata.name = Some("test-1".to_owned());
    damaged.data = Some(from_value(json!({"spec": {"template": 5}})).unwrap());
    let error = template_of(&set, &damaged).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the revision test-1 has no valid template"),
        "{error}"
    );
}
