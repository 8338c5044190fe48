use serde_json::{Value, from_value, json, to_value};

use super::{
    super::test_objects::{job, rules},
    *,
};

fn gang() -> Value {
    json!({"completionMode": "Indexed", "completions": 4, "parallelism": 4})
}

#[test]
fn gang_runs_all_indexes_at_once() {
    let with = |change: Value| {
        let mut spec = gang();
        spec.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        spec
    };
    let grouped =
        json!({"template": {"spec": {"containers": [], "schedulingGroup": {"podGroupName": "other"}}}});
    for (spec, expected) in [
        (gang(), true),
        (with(json!({"parallelism": 3})), false),
        (with(json!({"parallelism": 1, "completions": 1})), false),
        (with(json!({"completionMode": "NonIndexed"})), false),
        (with(grouped), false),
    ] {
        let job = job(&spec);
        assert_eq!(is_gang(&job, &rules(&job)), expected, "{spec}");
    }
}

#[test]
fn only_new_jobs_get_a_workload() {
    for (status, pods, expected) in [
        (json!({}), 0, true),
        (json!({}), 1, false),
        (json!({"startTime": "2026-05-01T00:00:00Z"}), 0, false),
        (json!({"succeeded": 1}), 0, false),
        (json!({"failed": 1}), 0, false),
        (
            json!({"conditions": [{"type": "Suspended", "status": "False"}]}),
            0,
            false,
        ),
    ] {
        let status: JobStatus = from_value(status).unwrap();
        assert_eq!(is_new(&status, pods), expected, "{status:?} {pods}");
    }
}

#[test]
fn objects_refer_to_each_other() {
    let job = job(&gang());
    let mut workload = workload(&job, &rules(&job));
    assert_eq!(job_of(&workload), Some("work"));
    let name = workload.metadata.name.clone().unwrap();
    assert!(name.starts_with("work-") && name.len() <= 15, "{name}");
    workload.metadata.uid = Some("workload".to_owned());
    let template = workload.spec.pod_group_templates[0].clone();
    let group = pod_group(&job, &workload, &template);
    assert_eq!(workload_of(&group), Some(&*name));
    let found = to_value(&group).unwrap();
    assert_eq!(
        found["spec"]["schedulingPolicy"],
        json!({"gang": {"minCount": 4}})
    );
    let owners: Vec<_> = group
        .metadata
        .owner_references
        .iter()
        .flatten()
        .map(|owner| &*owner.uid)
        .collect();
    assert_eq!(owners, ["job", "workload"]);
}

#[test]
fn long_names_are_shortened() {
    let long = "a".repeat(253);
    assert_eq!(workload_name(&long, "uid").len(), 253);
    for (workload, template) in [(253, 253), (253, 5), (5, 253), (120, 253), (121, 121)] {
        let name = pod_group_name(&"w".repeat(workload), &"t".repeat(template));
        assert!(name.len() <= 253, "{name}");
        let kept = |letter| name.bytes().filter(|byte| *byte == letter).count();
        assert!(
            kept(b'w') >= workload.min(119) && kept(b't') >= template.min(119),
            "{name}"
        );
    }
    assert_ne!(pod_group_name("a", "b"), pod_group_name("a", "c"));
}
