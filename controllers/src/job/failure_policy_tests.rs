use serde_json::{Value, json};

use super::{
    super::test_objects::{features, job, pod_of, rules},
    *,
};

fn failed(containers: &Value, init_containers: &Value, conditions: &Value) -> JobPod {
    pod_of(
        "pod",
        json!({"status": {
            "phase": "Failed", "containerStatuses": containers, "initContainerStatuses": init_containers,
            "conditions": conditions,
        }}),
    )
}

fn exited(container: &str, code: i32) -> Value {
    json!({"name": container, "state": {"terminated": {"exitCode": code}}})
}

fn on_exit_codes(action: &str, container: Option<&str>, operator: &str, values: &[i32]) -> Value {
    json!({"action": action, "onExitCodes": {"containerName": container, "operator": operator, "values": values}})
}

fn on_condition(action: &str, kind: &str, status: Option<&str>) -> Value {
    json!({"action": action, "onPodConditions": [{"type": kind, "status": status}]})
}

fn check(policy: &[Value], pod: &JobPod) -> Option<(FailureAction, String)> {
    let job = job(&json!({"podFailurePolicy": {"rules": policy}}));
    let rule = matched_rule(&rules(&job), pod)?;
    Some((rule.action, rule.message(pod)))
}

#[test]
fn exit_codes_match_by_operator_and_container() {
    use FailureAction::{Count, FailIndex, FailJob, Ignore};
    let main = |code| failed(&json!([exited("main", code)]), &json!([]), &json!([]));
    let running = failed(
        &json!([{"name": "main", "state": {"running": {}}}]),
        &json!([]),
        &json!([]),
    );
    let init = failed(
        &json!([exited("main", 0)]),
        &json!([exited("setup", 2)]),
        &json!([]),
    );
    let two = failed(
        &json!([exited("side", 1), exited("main", 2)]),
        &json!([]),
        &json!([]),
    );
    for (rule, pod, expected) in [
        (
            on_exit_codes("FailJob", None, "In", &[1, 2]),
            main(2),
            Some(FailJob),
        ),
        (on_exit_codes("FailJob", None, "In", &[1, 2]), main(3), None),
        (
            on_exit_codes("FailJob", None, "In", &[-1]),
            main(-1),
            Some(FailJob),
        ),
        (
            on_exit_codes("Ignore", None, "NotIn", &[1, 2]),
            main(3),
            Some(Ignore),
        ),
        (on_exit_codes("Ignore", None, "NotIn", &[1, 2]), main(2), None),
        // Success is not a failure.
        (on_exit_codes("FailJob", None, "NotIn", &[1]), main(0), None),
        (on_exit_codes("FailJob", None, "NotIn", &[1]), running, None),
        (
            on_exit_codes("Count", Some("main"), "In", &[2]),
            two.clone(),
            Some(Count),
        ),
        (on_exit_codes("Count", Some("main"), "In", &[1]), two, None),
        (
            on_exit_codes("FailIndex", Some("setup"), "In", &[2]),
            init.clone(),
            Some(FailIndex),
        ),
        (on_exit_codes("FailIndex", Some("main"), "In", &[2]), init, None),
        (on_exit_codes("FailJob", None, "Near", &[2]), main(2), None),
        (on_exit_codes("Explode", None, "In", &[2]), main(2), None),
    ] {
        let action = check(std::slice::from_ref(&rule), &pod).map(|(action, _)| action);
        assert_eq!(action, expected, "{rule} {pod:?}");
    }
}

#[test]
fn conditions_match_by_type_and_status() {
    let disrupted = failed(
        &json!([]),
        &json!([]),
        &json!([{"type": "Ready", "status": "False"}, {"type": "DisruptionTarget", "status": "True"}]),
    );
    for (rule, is_matched) in [
        (on_condition("Ignore", "DisruptionTarget", Some("True")), true),
        (on_condition("Ignore", "DisruptionTarget", None), true),
        (on_condition("Ignore", "DisruptionTarget", Some("False")), false),
        (on_condition("Ignore", "Ready", Some("False")), true),
        (on_condition("Ignore", "Ready", Some("Unknown")), false),
        (on_condition("Ignore", "Other", Some("True")), false),
        (json!({"action": "Ignore"}), false),
    ] {
        let action = check(std::slice::from_ref(&rule), &disrupted).map(|(action, _)| action);
        assert_eq!(action, is_matched.then_some(FailureAction::Ignore), "{rule}");
    }
}

#[test]
fn first_matching_rule_decides_and_is_named_in_the_message() {
    let pod = failed(
        &json!([exited("main", 5)]),
        &json!([]),
        &json!([{"type": "DisruptionTarget", "status": "True"}]),
    );
    let other = on_exit_codes("Ignore", None, "In", &[1]);
    let by_code = on_exit_codes("FailJob", None, "In", &[5]);
    let by_condition = on_condition("FailJob", "DisruptionTarget", Some("True"));
    for (policy, expected) in [
        (
            [other.clone(), by_code.clone(), by_condition.clone()],
            "Container main for pod default/pod failed with exit code 5 matching FailJob rule at index 1",
        ),
        (
            [by_condition, by_code, other],
            "Pod default/pod has condition DisruptionTarget matching FailJob rule at index 0",
        ),
    ] {
        assert_eq!(check(&policy, &pod).unwrap().1, expected);
    }
    assert_eq!(check(&[], &pod), None);
}

#[test]
fn indexes_do_not_fail_without_the_feature() {
    let job = job(&json!({"podFailurePolicy": {"rules": [on_exit_codes("FailIndex", None, "In", &[5])]}}));
    let rules = JobRules::of(&job, features("JobBackoffLimitPerIndex=false")).unwrap();
    let pod = failed(&json!([exited("main", 5)]), &json!([]), &json!([]));
    assert_eq!(matched_rule(&rules, &pod), None);
    assert!(counts(&rules, &pod));
}
