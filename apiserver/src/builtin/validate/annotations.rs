//! What annotations of pods say, most of it from before there were fields for it.

use super::{Check, container, fields, text};
use crate::field::FieldError;
use serde_json::Value;

const MIRROR: &str = "kubernetes.io/config.mirror";
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const LOCAL: &str = "localhost/";

/// Whether the pod only shows one that a node runs without having been told to.
pub(super) fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"][MIRROR].is_string()
}

/// What holds for pods and templates. The path is that of the annotations.
pub(super) fn annotations(check: &mut Check, metadata: &Value, spec: &Value, path: &str) {
    let all = &metadata["annotations"];
    let at = |key: &str| format!("{path}[{key}]");
    if let Some(value) = all[MIRROR].as_str().filter(|_| text(spec, "nodeName").is_empty()) {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        check.push(FieldError::invalid(&at(MIRROR), value, detail));
    }
    if let Some(cost) = all[COST].as_str().filter(|cost| !is_cost(cost)) {
        check.push(FieldError::invalid(&at(COST), cost, "must be a 32bit integer"));
    }
    if let Some(profile) = all[SECCOMP_OF_POD].as_str() {
        seccomp(check, profile, &format!("{path}.{SECCOMP_OF_POD}"));
    }
    for (key, profile) in fields(all).filter(|(key, _)| key.starts_with(SECCOMP)) {
        seccomp(
            check,
            profile.as_str().unwrap_or_default(),
            &format!("{path}.{key}"),
        );
    }
    for (key, profile) in fields(all) {
        let Some(name) = key.strip_prefix(APP_ARMOR) else {
            continue;
        };
        if !container::all(spec, "")
            .iter()
            .any(|(one, _)| text(one, "name") == name)
        {
            check.push(FieldError::invalid(&at(key), name, "container not found"));
        }
        let profile = profile.as_str().unwrap_or_default();
        if !matches!(profile, "" | "runtime/default" | "unconfined") && !profile.starts_with(LOCAL) {
            let detail = format!("invalid AppArmor profile name: {}", crate::quote::quoted(profile));
            check.push(FieldError::invalid(&at(key), profile, detail));
        }
    }
}

/// As the real server writes numbers: no sign but a minus, no zeros before it.
fn is_cost(cost: &str) -> bool {
    let starts_well = cost == "0" || cost.starts_with(|first| matches!(first, '-' | '1'..='9'));
    starts_well && cost.parse::<i32>().is_ok()
}

fn seccomp(check: &mut Check, profile: &str, path: &str) {
    match profile.strip_prefix(LOCAL) {
        _ if matches!(profile, "runtime/default" | "docker/default" | "unconfined") => {}
        Some(file) => check.descending(file, path),
        None => check.push(FieldError::invalid(
            path,
            profile,
            "must be a valid seccomp profile",
        )),
    }
}

/// What may not change, and then what holds for all.
pub(super) fn changes(check: &mut Check, pod: &Value, old: &Value) {
    const PATH: &str = "metadata.annotations";
    let kinds = |key: &str| {
        let app_armor = key.starts_with(APP_ARMOR).then_some("AppArmor annotations");
        app_armor.or_else(|| (key == MIRROR).then_some("mirror pod annotation"))
    };
    let (before, after) = (&old["metadata"]["annotations"], &pod["metadata"]["annotations"]);
    for (key, _) in fields(before).filter(|(key, value)| after[key.as_str()] != **value) {
        if let Some(kind) = kinds(key) {
            let detail = format!("may not remove or update {kind}");
            check.push(FieldError::forbidden(&format!("{PATH}[{key}]"), detail));
        }
    }
    for (key, _) in fields(after).filter(|(key, _)| before[key.as_str()].is_null()) {
        if let Some(kind) = kinds(key) {
            let detail = format!("may not add {kind}");
            check.push(FieldError::forbidden(&format!("{PATH}[{key}]"), detail));
        }
    }
    annotations(check, &pod["metadata"], &pod["spec"], PATH);
}

/// Who says it in an annotation and in a field says the same.
pub(super) fn repeated(check: &mut Check, metadata: &Value, spec: &Value, path: &str) {
    let all = &metadata["annotations"];
    let profile = |holder: &Value, name: &str| holder["securityContext"][name].clone();
    let said = |key: &str| all[key].as_str();
    if let Some(said) = said(SECCOMP_OF_POD) {
        same(check, said, &profile(spec, "seccompProfile"), path, "seccomp");
    }
    let containers = container::all(spec, path);
    for (container, path) in &containers {
        if let Some(said) = said(&format!("{SECCOMP}{}", text(container, "name"))) {
            same(
                check,
                said,
                &profile(container, "seccompProfile"),
                path,
                "seccomp",
            );
        }
    }
    if spec["os"]["name"] == "windows" {
        return;
    }
    for (container, path) in &containers {
        if let Some(said) = said(&format!("{APP_ARMOR}{}", text(container, "name"))) {
            let mut own = profile(container, "appArmorProfile");
            if own.is_null() {
                own = profile(spec, "appArmorProfile");
            }
            same(check, said, &own, path, "apparmor");
        }
    }
}

fn same(check: &mut Check, said: &str, profile: &Value, path: &str, what: &str) {
    let field = if what == "seccomp" {
        "seccompProfile"
    } else {
        "appArmorProfile"
    };
    let path = format!("{path}.securityContext.{field}");
    let (agrees, is_local) = match text(profile, "type") {
        "Unconfined" => (said == "unconfined", false),
        "RuntimeDefault" => (
            said == "runtime/default" || what == "seccomp" && said == "docker/default",
            false,
        ),
        "Localhost" => (said.starts_with(LOCAL), true),
        _ => return,
    };
    if !agrees {
        let detail = format!("{what} type in annotation and field must match");
        check.push(FieldError::forbidden(&format!("{path}.type"), detail));
    } else if is_local && said.strip_prefix(LOCAL) != profile["localhostProfile"].as_str() {
        let detail = format!("{what} profile in annotation and field must match");
        check.push(FieldError::forbidden(&format!("{path}.localhostProfile"), detail));
    }
}
