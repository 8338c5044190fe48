use super::*;

#[test]
fn gates_depend_on_the_emulated_version_unless_they_are_set() {
    let gate = Gate::DeploymentReplicaSetTerminatingReplicas;
    for (text, is_on) in [
        ("", true),
        ("1.36;", true),
        ("1.34;", false),
        ("1.33;DeploymentReplicaSetTerminatingReplicas=true", true),
        ("DeploymentReplicaSetTerminatingReplicas=False", false),
        ("kube:DeploymentReplicaSetTerminatingReplicas=false", false),
    ] {
        assert_eq!(
            FeatureGates::parse_with_version(text).unwrap().is_on(gate),
            is_on,
            "{text}"
        );
    }
    let emulated = FeatureGates::default().emulate("kube=1.33").unwrap();
    assert!(!emulated.is_on(gate) && emulated.is_on(Gate::PodDeletionCost));
}

#[test]
fn alpha_gates_are_off_unless_they_are_set() {
    let gate = Gate::TaintTolerationComparisonOperators;
    assert!(!FeatureGates::parse_with_version("1.99;").unwrap().is_on(gate));
    let set = FeatureGates::parse("TaintTolerationComparisonOperators=true");
    assert!(set.unwrap().is_on(gate));
}

#[test]
fn other_gates_are_ignored_by_name() {
    let gates = FeatureGates::parse_with_version(
        "1.36;PodDeletionCost=false,GenericWorkload=true,SomethingElse=true",
    )
    .unwrap();
    assert_eq!(gates.ignored(), ["SomethingElse"]);
    assert!(!gates.is_on(Gate::PodDeletionCost));
}

#[test]
fn invalid_gates_are_refused() {
    for text in ["Gate", "Gate=maybe", "=true", "1.33;", "1.33;Gate=true"] {
        let error = FeatureGates::parse(text).unwrap_err();
        assert_eq!(error, InvalidGates::Gates(text.to_owned()));
    }
    for text in ["Gate", "Gate=maybe", "one;", "1;Gate=true", "1.33;1.34;Gate=true"] {
        let error = FeatureGates::parse_with_version(text).unwrap_err();
        assert_eq!(error, InvalidGates::VersionAndGates(text.to_owned()));
    }
}

#[test]
fn gates_that_the_version_does_not_let_be_set_are_refused_as_flags() {
    let locked =
        "cannot set feature gate JobManagedBy to false: it is locked to true in Kubernetes 1.36: remove it";
    let too_new = "cannot set feature gate WorkloadWithJob: Kubernetes 1.35 does not have it: remove it, or emulate a later version";
    let dependency = "cannot enable feature gate WorkloadWithJob: it depends on GenericWorkload, which is off: enable that one as well";
    for (text, expected) in [
        ("JobManagedBy=false", Some(locked)),
        ("JobManagedBy=true", None),
        ("1.34;JobManagedBy=false", None),
        ("1.35;WorkloadWithJob=false", Some(too_new)),
        ("WorkloadWithJob=true", Some(dependency)),
        (
            "WorkloadWithJob=true,GenericWorkload=false,AllAlpha=true",
            Some(dependency),
        ),
        ("WorkloadWithJob=true,GenericWorkload=true", None),
        ("WorkloadWithJob=true,AllAlpha=true", None),
        ("PodDeletionCost=false,SomethingElse=false", None),
    ] {
        let gates = FeatureGates::parse_with_version(text).unwrap();
        let error = gates.validate().err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expected, "{text}");
    }
}

#[test]
fn versions_that_are_not_emulated_are_refused_as_flags() {
    let versions = ["1.10", "1.32", "1.33", "1.36", "1.37", "1.99", "2.35"];
    let gates = versions.map(|version| FeatureGates::default().emulate(version).unwrap());
    let accepted = gates.map(|gates| gates.validate().is_ok());
    assert_eq!(accepted, [false, false, true, true, false, false, false]);
    for text in ["", "1", "wardle=1.2", "kube=1.35,kube=1.36", "kube=1.35.1"] {
        let error = FeatureGates::default().emulate(text).unwrap_err();
        let expected = format!("cannot emulate {text:?}: write a version from `kube=1.33` to `kube=1.36`");
        assert_eq!(error.to_string(), expected);
    }
}
