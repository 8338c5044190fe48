//! Validation of security contexts and of the pod's operating system.

use super::{Check, Constraint, FieldRule, array, container, items, text, windows};
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) const ID: Constraint =
    Constraint::Within(0, 2_147_483_647, "must be between 0 and 2147483647, inclusive");
#[rustfmt::skip]
const POD_CONTEXT: &[FieldRule] = &[
    ("fsGroup", ID),
    ("runAsUser", ID),
    ("runAsGroup", ID),
    ("supplementalGroups[]", ID),
    ("fsGroupChangePolicy", Constraint::OneOf(&["Always", "OnRootMismatch"])),
    ("supplementalGroupsPolicy", Constraint::OneOf(&["Merge", "Strict"])),
    // The other policies require a feature gate that is off.
    ("seLinuxChangePolicy", Constraint::OneOf(&["Recursive"])),
];
const CONTAINER_CONTEXT: &[FieldRule] = &[
    ("runAsUser", ID),
    ("runAsGroup", ID),
    ("procMount", Constraint::OneOf(&["Default", "Unmasked"])),
];

/// Validates the pod's security context. Fields about host namespaces are in the pod spec itself.
pub(super) fn validate_pod_security_context(check: &mut Check, spec: &Value, path: &str) {
    let (context, path) = (&spec["securityContext"], format!("{path}.securityContext"));
    check.apply(POD_CONTEXT, context, None, &path);
    if spec["shareProcessNamespace"] == true && spec["hostPID"] == true {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        let field = format!("{path}.shareProcessNamespace");
        check.invalid(&field, true, detail);
    }
    validate_sysctls(check, spec, context, &path);
    validate_seccomp(check, context, &path);
    windows::validate_windows_options(check, context, &path);
    validate_app_armor(check, context, &path);
}

/// Validates the security context of a container. `host_users`: it uses the host's user namespace.
pub(super) fn validate_container_security_context(
    check: &mut Check,
    context: &Value,
    path: &str,
    host_users: bool,
) {
    check.apply(CONTAINER_CONTEXT, context, None, path);
    if host_users && context["procMount"] == "Unmasked" {
        let detail = "`hostUsers` must be false to use `Unmasked`";
        let field = format!("{path}.procMount");
        check.invalid(&field, "Unmasked", detail);
    }
    validate_seccomp(check, context, path);
    if context["allowPrivilegeEscalation"] == false {
        let mut reject = |other: &str| {
            let detail = format!("cannot set `allowPrivilegeEscalation` to false and {other}");
            check.invalid(path, context.clone(), detail);
        };
        if context["privileged"] == true {
            reject("`privileged` to true");
        }
        for capability in array(&context["capabilities"]["add"]) {
            if capability == "CAP_SYS_ADMIN" {
                reject("`capabilities.Add` CAP_SYS_ADMIN");
            }
        }
    }
    windows::validate_windows_options(check, context, path);
    validate_app_armor(check, context, path);
}

/// Validates sysctls; those of a namespace that the pod shares with the host are rejected.
fn validate_sysctls(check: &mut Check, spec: &Value, context: &Value, path: &str) {
    const DETAIL: &str = "must have at most 253 characters and match regex \
                          ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
    let is_lower_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_part = |part: &str| {
        part.starts_with(is_lower_alphanumeric)
            && part.ends_with(is_lower_alphanumeric)
            && part.chars().all(|c| is_lower_alphanumeric(c) || "-_".contains(c))
    };
    let mut seen = BTreeSet::new();
    for (setting, path) in items(context, "sysctls", path) {
        let (name, path) = (text(setting, "name"), format!("{path}.name"));
        let is_name = name.len() <= 253 && name.split(['.', '/']).all(is_part);
        if check.require(&setting["name"], &path) {
            if !is_name {
                check.invalid(&path, name, DETAIL);
            } else if seen.contains(name) {
                check.duplicate(&path, name);
            }
        }
        seen.insert(name);
        let dotted = name.replace('/', ".");
        let is_net = dotted.starts_with("net.");
        let is_ipc = dotted.starts_with("fs.mqueue.") || IPC_SYSCTLS.contains(&&*dotted);
        for (shared, is_shared) in [("hostNetwork", is_net), ("hostIPC", is_ipc)] {
            if is_shared && spec[shared] == true {
                let detail = format!("may not be specified when '{shared}' is true");
                check.invalid(&path, name, detail);
            }
        }
    }
}

const IPC_SYSCTLS: &[&str] = &[
    "kernel.sem",
    "kernel.shm",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.msg",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
];

const PROFILE_TYPES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

fn validate_profile_type(check: &mut Check, profile: &Value, name: &str, path: &str) {
    let (profile_type, path) = (text(profile, "type"), format!("{path}.type"));
    if profile_type.is_empty() {
        let detail = format!("type is required when {name} is set");
        check.required(&path, detail);
    } else if !PROFILE_TYPES.contains(&profile_type) {
        check.not_supported(&path, profile_type, PROFILE_TYPES);
    }
}

fn validate_seccomp(check: &mut Check, context: &Value, path: &str) {
    let (profile, path) = (&context["seccompProfile"], format!("{path}.seccompProfile"));
    if !profile.is_object() {
        return;
    }
    validate_profile_type(check, profile, "seccompProfile", &path);
    let (file, field) = (
        profile["localhostProfile"].as_str(),
        format!("{path}.localhostProfile"),
    );
    match (text(profile, "type"), file) {
        ("Localhost", Some(file)) => check.validate_local_path(file, &field),
        ("Localhost", None) => {
            check.required(&field, "must be set when seccomp type is Localhost");
        }
        (_, Some(_)) => {
            let detail = "can only be set when seccomp type is Localhost";
            check.invalid(&field, profile.clone(), detail);
        }
        (_, None) => {}
    }
}

fn validate_app_armor(check: &mut Check, context: &Value, path: &str) {
    const MAX_PROFILE_BYTES: usize = 4095;
    let (profile, path) = (&context["appArmorProfile"], format!("{path}.appArmorProfile"));
    if !profile.is_object() {
        return;
    }
    validate_profile_type(check, profile, "appArmorProfile", &path);
    let field = format!("{path}.localhostProfile");
    match (text(profile, "type"), profile["localhostProfile"].as_str()) {
        ("Localhost", None | Some("")) => {
            check.required(&field, "must be set when AppArmor type is Localhost");
        }
        ("Localhost", Some(file)) => {
            if file.trim() != file {
                check.invalid(&field, file, "must not be padded with whitespace");
            }
            check.limit_bytes(file, MAX_PROFILE_BYTES, &field);
        }
        ("RuntimeDefault" | "Unconfined", Some(file)) => {
            check.invalid(&field, file, "can only be set when AppArmor type is Localhost");
        }
        _ => {}
    }
}

/// Validates `os` and fields that the operating system does not support.
pub(super) fn validate_os(check: &mut Check, spec: &Value, path: &str) {
    let (name, field) = (&spec["os"]["name"], format!("{path}.os"));
    let containers = || container::all_containers(spec, path);
    match name.as_str().unwrap_or_default() {
        _ if !spec["os"].is_object() => {}
        "" => drop(check.require(name, &format!("{field}.name"))),
        "linux" => {
            for (holder, path) in [(spec, path.to_owned())].into_iter().chain(containers()) {
                if holder["securityContext"]["windowsOptions"].is_object() {
                    let field = format!("{path}.securityContext.windowsOptions");
                    check.forbidden(&field, "windows options cannot be set for a linux pod");
                }
            }
        }
        "windows" => {
            reject_windows_fields(check, spec, WINDOWS_FORBIDDEN_POD_FIELDS, path);
            let context_path = |path: &str| format!("{path}.securityContext");
            reject_windows_fields(
                check,
                &spec["securityContext"],
                WINDOWS_FORBIDDEN_POD_CONTEXT_FIELDS,
                &context_path(path),
            );
            for (container, path) in containers() {
                reject_windows_fields(
                    check,
                    &container["securityContext"],
                    WINDOWS_FORBIDDEN_CONTAINER_CONTEXT_FIELDS,
                    &context_path(&path),
                );
            }
        }
        other => check.not_supported(&field, other, ["linux", "windows"]),
    }
}

fn reject_windows_fields(check: &mut Check, holder: &Value, names: &[&str], path: &str) {
    for name in names.iter().filter(|name| !holder[**name].is_null()) {
        check.forbidden(&format!("{path}.{name}"), "cannot be set for a windows pod");
    }
}

const WINDOWS_FORBIDDEN_POD_FIELDS: &[&str] = &["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"];
const WINDOWS_FORBIDDEN_POD_CONTEXT_FIELDS: &[&str] = &[
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
const WINDOWS_FORBIDDEN_CONTAINER_CONTEXT_FIELDS: &[&str] = &[
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];
