//! Annotations of pods, most of them deprecated in favor of fields.

use super::{Check, container, fields, text, tolerations};
use crate::types;
use serde_json::{Map, Value};

const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";
const DELETION_COST_ANNOTATION: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD_ANNOTATION: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER_PREFIX: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
const TOLERATIONS_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/tolerations";
const LOCALHOST_PREFIX: &str = "localhost/";

/// Whether the pod is a mirror pod, which the kubelet creates for a static pod.
pub(super) fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"][MIRROR_ANNOTATION].is_string()
}

/// Validates a list that was an annotation before it became a field: `validate` checks an object with the list as `field`, with errors below
/// `shown`.
pub(super) fn validate_annotated_list(
    check: &mut Check,
    annotation: (&Value, &str),
    (path, field, shown): (&str, &str, &str),
    validate: impl Fn(&mut Check, &Value),
) {
    let (annotations, key) = annotation;
    let Some(text) = annotations[key].as_str().filter(|text| !text.is_empty()) else {
        return;
    };
    let list = match types::decode(text.as_bytes()) {
        Ok(decoded) => decoded.value,
        Err(why) => return check.invalid(path, key, why),
    };
    let mut found = Check::default();
    let mut holder = Map::new();
    holder.insert(field.to_owned(), list);
    validate(&mut found, &Value::Object(holder));
    for mut error in found.errors {
        if let Some(rest) = error.field.strip_prefix(shown) {
            error.field = format!("{path}.{key}{rest}");
        }
        check.push(error);
    }
}

/// Validates annotations of pods and pod templates. `path` is that of the annotations.
pub(super) fn validate_annotations(check: &mut Check, metadata: &Value, spec: &Value, path: &str) {
    let all = &metadata["annotations"];
    let at = |key: &str| format!("{path}[{key}]");
    if let Some(value) = all[MIRROR_ANNOTATION]
        .as_str()
        .filter(|_| text(spec, "nodeName").is_empty())
    {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        check.invalid(&at(MIRROR_ANNOTATION), value, detail);
    }
    let places = (path, "tolerations", "tolerations");
    validate_annotated_list(check, (all, TOLERATIONS_ANNOTATION), places, |check, spec| {
        tolerations::validate_tolerations(check, spec, "");
    });
    if let Some(cost) = all[DELETION_COST_ANNOTATION]
        .as_str()
        .filter(|cost| !is_deletion_cost(cost))
    {
        check.invalid(&at(DELETION_COST_ANNOTATION), cost, "must be a 32bit integer");
    }
    if let Some(profile) = all[SECCOMP_POD_ANNOTATION].as_str() {
        validate_seccomp(check, profile, &format!("{path}.{SECCOMP_POD_ANNOTATION}"));
    }
    for (key, profile) in fields(all).filter(|(key, _)| key.starts_with(SECCOMP_CONTAINER_PREFIX)) {
        validate_seccomp(
            check,
            profile.as_str().unwrap_or_default(),
            &format!("{path}.{key}"),
        );
    }
    for (key, profile) in fields(all) {
        let Some(name) = key.strip_prefix(APP_ARMOR_PREFIX) else {
            continue;
        };
        if !container::all_containers(spec, "")
            .iter()
            .any(|(container, _)| text(container, "name") == name)
        {
            check.invalid(&at(key), name, "container not found");
        }
        let profile = profile.as_str().unwrap_or_default();
        if !matches!(profile, "" | "runtime/default" | "unconfined") && !profile.starts_with(LOCALHOST_PREFIX)
        {
            let detail = format!("invalid AppArmor profile name: {}", crate::quote::quoted(profile));
            check.invalid(&at(key), profile, detail);
        }
    }
}

/// Whether a text is an integer as Go formats it: no plus sign, no leading zeros.
fn is_deletion_cost(cost: &str) -> bool {
    let starts_well = cost == "0" || cost.starts_with(|first| matches!(first, '-' | '1'..='9'));
    starts_well && cost.parse::<i32>().is_ok()
}

fn validate_seccomp(check: &mut Check, profile: &str, path: &str) {
    match profile.strip_prefix(LOCALHOST_PREFIX) {
        _ if matches!(profile, "runtime/default" | "docker/default" | "unconfined") => {}
        Some(file) => check.validate_local_path(file, path),
        None => check.invalid(path, profile, "must be a valid seccomp profile"),
    }
}

/// Validates changes of annotations.
pub(super) fn validate_annotations_update(check: &mut Check, pod: &Value, old: &Value) {
    const PATH: &str = "metadata.annotations";
    let immutable_kind = |key: &str| {
        let app_armor = key
            .starts_with(APP_ARMOR_PREFIX)
            .then_some("AppArmor annotations");
        app_armor.or_else(|| (key == MIRROR_ANNOTATION).then_some("mirror pod annotation"))
    };
    let (before, after) = (&old["metadata"]["annotations"], &pod["metadata"]["annotations"]);
    for (key, _) in fields(before).filter(|(key, value)| after[key.as_str()] != **value) {
        if let Some(kind) = immutable_kind(key) {
            let detail = format!("may not remove or update {kind}");
            check.forbidden(&format!("{PATH}[{key}]"), detail);
        }
    }
    for (key, _) in fields(after).filter(|(key, _)| before[key.as_str()].is_null()) {
        if let Some(kind) = immutable_kind(key) {
            let detail = format!("may not add {kind}");
            check.forbidden(&format!("{PATH}[{key}]"), detail);
        }
    }
}

/// Requires deprecated annotations to match the fields that replace them.
pub(super) fn validate_annotations_match_fields(
    check: &mut Check,
    metadata: &Value,
    spec: &Value,
    path: &str,
) {
    let all = &metadata["annotations"];
    if let Some(annotated) = all[SECCOMP_POD_ANNOTATION].as_str() {
        validate_profiles_match(check, annotated, spec, path, "seccomp");
    }
    let containers = container::all_containers(spec, path);
    let annotated = |prefix: &str, container: &Value| {
        let key = format!("{prefix}{}", text(container, "name"));
        all[key].as_str()
    };
    for (container, path) in &containers {
        if let Some(annotated) = annotated(SECCOMP_CONTAINER_PREFIX, container) {
            validate_profiles_match(check, annotated, container, path, "seccomp");
        }
    }
    if spec["os"]["name"] == "windows" {
        return;
    }
    for (container, path) in &containers {
        if let Some(annotated) = annotated(APP_ARMOR_PREFIX, container) {
            let has_own = !container["securityContext"]["appArmorProfile"].is_null();
            let holder = if has_own { *container } else { spec };
            validate_profiles_match(check, annotated, holder, path, "apparmor");
        }
    }
}

/// Requires an annotation to match the profile in the security context of a pod or container.
fn validate_profiles_match(check: &mut Check, annotated: &str, holder: &Value, path: &str, kind_label: &str) {
    let field = if kind_label == "seccomp" {
        "seccompProfile"
    } else {
        "appArmorProfile"
    };
    let (profile, path) = (
        &holder["securityContext"][field],
        format!("{path}.securityContext.{field}"),
    );
    let (agrees, is_local) = match text(profile, "type") {
        "Unconfined" => (annotated == "unconfined", false),
        "RuntimeDefault" => (
            annotated == "runtime/default" || kind_label == "seccomp" && annotated == "docker/default",
            false,
        ),
        "Localhost" => (annotated.starts_with(LOCALHOST_PREFIX), true),
        _ => return,
    };
    if !agrees {
        let detail = format!("{kind_label} type in annotation and field must match");
        check.forbidden(&format!("{path}.type"), detail);
    } else if is_local && annotated.strip_prefix(LOCALHOST_PREFIX) != profile["localhostProfile"].as_str() {
        let detail = format!("{kind_label} profile in annotation and field must match");
        check.forbidden(&format!("{path}.localhostProfile"), detail);
    }
}
