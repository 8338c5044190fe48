use serde_json::{Value, json};

use super::{
    super::test_objects::{set, set_reference},
    *,
};

fn pod_of(set: &StatefulSet, ordinal: i64) -> Pod {
    let template = &set.spec.as_ref().unwrap().template;
    new_pod(set, template, "web-1", ordinal).unwrap()
}

#[test]
fn pod_has_its_name_labels_and_volumes() {
    let set = set(&json!({}));
    let pod = json!(pod_of(&set, 3));
    assert_eq!(
        pod["metadata"],
        json!({
            "name": "web-3", "generateName": "web-", "namespace": "shop",
            "labels": {
                "app": "web", "controller-revision-hash": "web-1", "statefulset.kubernetes.io/pod-name": "web-3",
                "apps.kubernetes.io/pod-index": "3",
            },
            "ownerReferences": [set_reference()],
        })
    );
    let spec = &pod["spec"];
    assert_eq!(
        (&spec["hostname"], &spec["subdomain"]),
        (&json!("web-3"), &json!("headless"))
    );
    // The claim replaces the volume of the template.
    let data = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data-web-3"}});
    assert_eq!(spec["volumes"], json!([data, {"name": "tmp", "emptyDir": {}}]));
}

#[test]
fn pods_without_claims_have_the_volumes_of_the_template() {
    let pod = pod_of(&set(&json!({"volumeClaimTemplates": null})), 0);
    assert_eq!(pod.spec.unwrap().volumes.unwrap().len(), 2);
    let no_volumes = json!({
        "volumeClaimTemplates": [],
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
    });
    assert_eq!(pod_of(&set(&no_volumes), 0).spec.unwrap().volumes, None);
}

#[test]
fn templates_without_labels_make_no_pods() {
    let set = set(&json!({"template": {"spec": {"containers": []}}}));
    let template = &set.spec.as_ref().unwrap().template;
    assert_eq!(new_pod(&set, template, "web-1", 0), Err(NoLabels));
}

#[test]
fn adopted_pods_get_labels_and_keep_right_volumes() {
    let set = set(&json!({}));
    let right = pod_of(&set, 1);
    let mut pod = right.clone();
    correct_pod(&mut pod, &set, 1);
    assert_eq!(pod, right);
    let labels = pod.metadata.labels.as_mut().unwrap();
    labels.remove(POD_NAME_LABEL);
    labels.remove(POD_INDEX_LABEL);
    // Added by an admission plugin: it does not make the others wrong.
    let volumes = pod.spec.as_mut().unwrap().volumes.as_mut().unwrap();
    volumes.insert(
        0,
        Volume {
            name: "token".to_owned(),
            ..Volume::default()
        },
    );
    let expected = pod.spec.clone();
    correct_pod(&mut pod, &set, 1);
    assert_eq!(pod.metadata.labels, right.metadata.labels);
    assert_eq!(pod.spec, expected);
    pod.spec.as_mut().unwrap().volumes = None;
    correct_pod(&mut pod, &set, 1);
    assert_eq!(pod.spec.unwrap().volumes.unwrap().len(), 1);
}

#[test]
fn claims_have_the_labels_that_the_set_selects() {
    let set = set(&json!({}));
    let template = &claim_templates(&set)[0];
    let claim: Value = json!(new_claim(&set, template, 2, vec![set_reference()]));
    assert_eq!(
        claim["metadata"],
        json!({
            "name": "data-web-2", "namespace": "shop", "labels": {"app": "web", "tier": "db"},
            "ownerReferences": [set_reference()],
        })
    );
    let claim = new_claim(&set, template, 2, Vec::new());
    assert_eq!(claim.metadata.owner_references, None);
    assert!(claim_templates(&StatefulSet::default()).is_empty());
}
