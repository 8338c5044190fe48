use serde_json::{from_value, json, to_value};

use super::{super::test_objects::job, *};

fn template() -> serde_json::Value {
    json!({"template": {
        "metadata": {"labels": {"job": "work"}, "finalizers": ["example.com/other"]},
        "spec": {
            "initContainers": [{"name": "setup"}],
            "containers": [{"name": "main"}, {"name": "own", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "7"}]}],
        },
    }})
}

#[test]
fn pod_has_the_finalizer_and_its_owner() {
    let pods = NewPods::of(&job(&template()), None).unwrap();
    let pod = to_value(pods.pod(None)).unwrap();
    let metadata = &pod["metadata"];
    assert_eq!(
        metadata["finalizers"],
        json!(["example.com/other", "batch.kubernetes.io/job-tracking"])
    );
    assert_eq!(metadata["generateName"], "work-");
    assert_eq!(metadata["ownerReferences"][0]["uid"], "job");
    assert_eq!(metadata["annotations"], json!(null));
    assert_eq!(pod["spec"]["hostname"], json!(null));
    assert_eq!(pod["spec"]["containers"][0]["env"], json!(null));
}

#[test]
fn index_is_in_name_annotations_label_hostname_and_environment() {
    let pods = NewPods::of(&job(&template()), None).unwrap();
    let of = |failures| to_value(pods.pod(Some(NewIndex { index: 3, failures }))).unwrap();
    let pod = of(None);
    assert_eq!(pod["metadata"]["generateName"], "work-3-");
    assert_eq!(
        pod["metadata"]["labels"],
        json!({"job": "work", COMPLETION_INDEX: "3"})
    );
    assert_eq!(pod["metadata"]["annotations"], json!({COMPLETION_INDEX: "3"}));
    assert_eq!(pod["spec"]["hostname"], "work-3");
    let variable = json!([{"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {
        "fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']",
    }}}]);
    assert_eq!(pod["spec"]["initContainers"][0]["env"], variable);
    assert_eq!(pod["spec"]["containers"][0]["env"], variable);
    assert_eq!(pod["spec"]["containers"][1]["env"][0]["value"], "7");
    for (counted, ignored, expected) in [
        (0, 0, json!({COMPLETION_INDEX: "3", INDEX_FAILURES: "0"})),
        (
            2,
            1,
            json!({COMPLETION_INDEX: "3", INDEX_FAILURES: "2", INDEX_IGNORED_FAILURES: "1"}),
        ),
    ] {
        let pod = of(Some(IndexFailures { counted, ignored }));
        assert_eq!(pod["metadata"]["annotations"], expected);
    }
}

#[test]
fn long_names_keep_the_index() {
    for (length, index, expected) in [(54, 3, 54), (55, 3, 55), (56, 3, 55), (63, 99_999, 51)] {
        let prefix = name_prefix(&"a".repeat(length), index);
        assert_eq!(prefix, format!("{}-{index}-", "a".repeat(expected)));
        assert!(prefix.len() <= MAX_PREFIX_BYTES);
    }
}

#[test]
fn pods_of_a_group_name_it_and_have_one_owner() {
    let group: PodGroup = from_value(json!({
        "metadata": {"name": "group", "uid": "group uid"}, "spec": {"schedulingPolicy": {}},
    }))
    .unwrap();
    let pods = NewPods::of(&job(&template()), Some(&group)).unwrap();
    let pod = to_value(pods.pod(None)).unwrap();
    assert_eq!(pod["spec"]["schedulingGroup"], json!({"podGroupName": "group"}));
    let owners = pod["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!((owners.len(), &owners[0]["uid"]), (1, &json!("job")));
}

#[test]
fn template_without_labels_makes_no_pods() {
    let job = job(&json!({"template": {"spec": {"containers": []}}}));
    assert!(NewPods::of(&job, None).is_err());
}
