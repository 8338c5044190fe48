use super::levels::{Level, LevelVersion, Policy, Version};
use super::pod::PodView;
use super::{is_significant_update, standards};
use serde_json::{Value, json};

/// Returns the policy of labels without prefix, as text, and the errors.
fn policy(labels: &Value) -> ([String; 3], Vec<String>) {
    let labels = labels.as_object().into_iter().flatten();
    let labels: Value = labels
        .map(|(key, value)| (format!("{}{key}", super::PREFIX), value.clone()))
        .collect();
    let (policy, causes) = Policy::from_labels(&labels);
    let levels = [policy.enforce, policy.audit, policy.warn].map(|level| level.to_string());
    (levels, causes.iter().map(ToString::to_string).collect())
}

#[test]
fn labels_select_levels_and_versions() {
    let valid = |labels: Value| {
        let (levels, errors) = policy(&labels);
        assert_eq!(errors, Vec::<String>::new(), "{labels}");
        levels
    };
    let latest = "privileged:latest";
    assert_eq!(valid(Value::Null), [latest; 3]);
    assert_eq!(
        valid(json!({ "enforce-version": "v1.20", "audit": "baseline", "warn-version": "latest" })),
        ["privileged:v1.20", "baseline:latest", latest]
    );
    // Warnings have the enforced level, unless they have one of their own.
    assert_eq!(
        valid(json!({ "enforce": "restricted", "enforce-version": "v1.0" })),
        ["restricted:v1.0", latest, "restricted:v1.0"]
    );
    assert_eq!(
        valid(json!({ "enforce": "baseline", "enforce-version": "v1.0", "warn-version": "v1.99" })),
        ["baseline:v1.0", latest, "baseline:v1.99"]
    );
    assert_eq!(
        valid(json!({ "enforce": "baseline", "enforce-version": "v1.0", "warn": "privileged" })),
        ["baseline:v1.0", latest, latest]
    );
}

#[test]
fn an_invalid_label_is_restricted_if_it_is_enforced() {
    let (levels, errors) = policy(&json!({ "enforce": "none", "audit": "", "warn": "Baseline" }));
    assert_eq!(
        levels,
        ["restricted:latest", "privileged:latest", "privileged:latest"]
    );
    let why = "must be one of privileged, baseline, restricted";
    let error = |key, value| {
        format!("metadata.labels[pod-security.kubernetes.io/{key}]: Invalid value: \"{value}\": {why}")
    };
    assert_eq!(
        errors,
        [
            error("enforce", "none"),
            error("audit", ""),
            error("warn", "Baseline")
        ]
    );
    for version in [
        "",
        "1.20",
        "v1",
        "v1.",
        "v1.01",
        "v1.+1",
        "v2.0",
        "v1.1.1",
        "v1.9223372036854775808",
    ] {
        let (levels, errors) = policy(&json!({ "enforce": "baseline", "enforce-version": version }));
        assert_eq!(levels[0], "baseline:latest", "{version}");
        assert_eq!(errors.len(), 1, "{version}");
        assert!(
            errors[0].ends_with(r#": must be "latest" or "v1.x""#),
            "{}",
            errors[0]
        );
    }
}

fn reasons(level: Level, version: Version, pod: &Value) -> String {
    let standard = LevelVersion { level, version };
    let violations = standards::violations(standard, &PodView::new(pod));
    violations.map_or_else(String::new, |violations| violations.reasons())
}

#[test]
fn a_version_has_the_checks_of_its_time() {
    let pod = json!({ "spec": {
        "containers": [{ "name": "c", "securityContext": { "capabilities": { "add": ["NET_RAW"] }, "procMount": "Unmasked" } }],
        "securityContext": { "runAsUser": 0 },
        "volumes": [{ "name": "v", "hostPath": {} }],
    } });
    assert_eq!(reasons(Level::Privileged, Version::Latest, &pod), "");
    for version in [Version::Minor(0), Version::Minor(34), Version::Latest] {
        assert_eq!(
            reasons(Level::Baseline, version, &pod),
            "non-default capabilities, hostPath volumes, procMount",
            "{version:?}"
        );
    }
    let restricted = [
        (
            7,
            "non-default capabilities, procMount, restricted volume types, runAsNonRoot != true",
        ),
        (
            8,
            "non-default capabilities, procMount, allowPrivilegeEscalation != false, restricted volume types, runAsNonRoot != true",
        ),
        (
            22,
            "procMount, allowPrivilegeEscalation != false, unrestricted capabilities, restricted volume types, runAsNonRoot != true, \
             seccompProfile",
        ),
        (
            35,
            "allowPrivilegeEscalation != false, unrestricted capabilities, procMount, restricted volume types, runAsNonRoot != true, \
             runAsUser=0, seccompProfile",
        ),
    ];
    for (minor, expected) in restricted {
        assert_eq!(
            reasons(Level::Restricted, Version::Minor(minor), &pod),
            expected,
            "{minor}"
        );
    }
}

#[test]
fn pods_for_windows_and_in_user_namespaces_are_exempt_from_some_checks() {
    let pod = |os: &str, host_users: bool| {
        json!({ "spec": {
            "containers": [{ "name": "c", "securityContext": { "procMount": "Unmasked", "runAsUser": 0 } }],
            "hostUsers": host_users,
            "os": { "name": os },
        } })
    };
    let restricted = |minor, pod: &Value| reasons(Level::Restricted, Version::Minor(minor), pod);
    assert_eq!(
        restricted(24, &pod("windows", true)),
        "procMount, allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, runAsUser=0, seccompProfile"
    );
    assert_eq!(
        restricted(25, &pod("windows", true)),
        "procMount, runAsNonRoot != true, runAsUser=0"
    );
    assert_eq!(
        restricted(35, &pod("linux", false)),
        "allowPrivilegeEscalation != false, unrestricted capabilities, procMount, seccompProfile"
    );
    let baseline =
        |minor, host_users| reasons(Level::Baseline, Version::Minor(minor), &pod("linux", host_users));
    assert_eq!(
        [baseline(34, false), baseline(35, false), baseline(35, true)],
        ["procMount", "", "procMount"]
    );
}

#[test]
fn updates_of_images_and_new_containers_are_evaluated() {
    let old = json!({ "containers": [{ "name": "c", "image": "i" }], "ephemeralContainers": [{ "name": "e", "image": "i" }] });
    let changed = |path: &str, value: Value| {
        let mut new = old.clone();
        *new.pointer_mut(path).unwrap() = value;
        is_significant_update(&new, &old)
    };
    assert!(!changed("/containers/0/name", json!("d")));
    assert!(changed("/containers/0/image", json!("j")));
    assert!(changed("/containers", json!([])));
    assert!(changed("/ephemeralContainers/0/image", json!("j")));
    assert!(changed("/ephemeralContainers/0/name", json!("f")));
    assert!(!changed("/ephemeralContainers", json!([])));
}
