//! Who pods and containers run as, and within which bounds.

use super::{Check, container, items, text, windows};
use crate::field::FieldError;
use crate::types;
use serde_json::Value;
use std::collections::BTreeSet;

/// What holds for all containers of a pod. Who shares what with the host stands in the pod itself.
pub(super) fn of_pod(check: &mut Check, spec: &Value, path: &str) {
    let (context, path) = (&spec["securityContext"], format!("{path}.securityContext"));
    ids(check, context, &["fsGroup", "runAsUser", "runAsGroup"], &path);
    for (id, path) in items(context, "supplementalGroups", &path) {
        self::id(check, id, &path);
    }
    if spec["shareProcessNamespace"] == true && spec["hostPID"] == true {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        let field = format!("{path}.shareProcessNamespace");
        check.push(FieldError::invalid(&field, true, detail));
    }
    sysctls(check, spec, context, &path);
    let policies = ["Always", "OnRootMismatch"];
    check.one_of(context, "fsGroupChangePolicy", &path, &policies);
    seccomp(check, context, &path);
    windows::options(check, context, &path);
    app_armor(check, context, &path);
    check.one_of(context, "supplementalGroupsPolicy", &path, &["Merge", "Strict"]);
    // What else there is to choose comes with a feature that is off.
    check.one_of(context, "seLinuxChangePolicy", &path, &["Recursive"]);
}

/// What holds for one container; whether it shares its users with the host.
pub(super) fn of_container(check: &mut Check, context: &Value, path: &str, host_users: bool) {
    ids(check, context, &["runAsUser", "runAsGroup"], path);
    check.one_of(context, "procMount", path, &["Default", "Unmasked"]);
    if host_users && context["procMount"] == "Unmasked" {
        let detail = "`hostUsers` must be false to use `Unmasked`";
        let field = format!("{path}.procMount");
        check.push(FieldError::invalid(&field, "Unmasked", detail));
    }
    seccomp(check, context, path);
    if context["allowPrivilegeEscalation"] == false {
        let mut refuse = |other: &str| {
            let detail = format!("cannot set `allowPrivilegeEscalation` to false and {other}");
            let shown = check.shown(context, path, "core.SecurityContext");
            check.push(FieldError::invalid(path, "", detail).showing(shown));
        };
        if context["privileged"] == true {
            refuse("`privileged` to true");
        }
        for capability in context["capabilities"]["add"].as_array().into_iter().flatten() {
            if capability == "CAP_SYS_ADMIN" {
                refuse("`capabilities.Add` CAP_SYS_ADMIN");
            }
        }
    }
    windows::options(check, context, path);
    app_armor(check, context, path);
}

pub(super) fn ids(check: &mut Check, context: &Value, names: &[&str], path: &str) {
    for name in names {
        id(check, &context[*name], &format!("{path}.{name}"));
    }
}

pub(super) fn id(check: &mut Check, id: &Value, path: &str) {
    if let Some(id) = id.as_i64().filter(|id| !(0..=i64::from(i32::MAX)).contains(id)) {
        let detail = "must be between 0 and 2147483647, inclusive";
        check.push(FieldError::invalid(path, id, detail));
    }
}

/// Settings of the kernel; none that the pod shares with its host.
fn sysctls(check: &mut Check, spec: &Value, context: &Value, path: &str) {
    const DETAIL: &str = "must have at most 253 characters and match regex \
                          ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let ends = [part.bytes().next(), part.bytes().last()];
        ends.iter().all(|end| end.as_ref().is_some_and(plain))
            && part.bytes().all(|byte| plain(&byte) || b"-_".contains(&byte))
    };
    let mut seen = BTreeSet::new();
    for (setting, path) in items(context, "sysctls", path) {
        let (name, path) = (text(setting, "name"), format!("{path}.name"));
        let is_name = name.len() <= 253 && name.split(['.', '/']).all(is_part);
        if check.required(&setting["name"], &path) {
            if !is_name {
                check.push(FieldError::invalid(&path, name, DETAIL));
            } else if seen.contains(name) {
                check.push(FieldError::duplicate(&path, name));
            }
        }
        seen.insert(name);
        let dotted = name.replace('/', ".");
        let of_network = dotted.starts_with("net.");
        let between_processes = dotted.starts_with("fs.mqueue.") || BETWEEN_PROCESSES.contains(&&*dotted);
        for (shared, is_shared) in [("hostNetwork", of_network), ("hostIPC", between_processes)] {
            if is_shared && spec[shared] == true {
                let detail = format!("may not be specified when '{shared}' is true");
                check.push(FieldError::invalid(&path, name, detail));
            }
        }
    }
}

const BETWEEN_PROCESSES: &[&str] = &[
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

const KINDS: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

fn kind(check: &mut Check, profile: &Value, name: &str, path: &str) {
    let (kind, path) = (text(profile, "type"), format!("{path}.type"));
    if kind.is_empty() {
        let detail = format!("type is required when {name} is set");
        check.push(FieldError::required(&path, detail));
    } else if !KINDS.contains(&kind) {
        check.push(FieldError::not_supported(&path, kind, KINDS));
    }
}

fn seccomp(check: &mut Check, context: &Value, path: &str) {
    let (profile, path) = (&context["seccompProfile"], format!("{path}.seccompProfile"));
    if !profile.is_object() {
        return;
    }
    kind(check, profile, "seccompProfile", &path);
    let (file, field) = (
        profile["localhostProfile"].as_str(),
        format!("{path}.localhostProfile"),
    );
    match (text(profile, "type"), file) {
        ("Localhost", Some(file)) => check.descending(file, &field),
        ("Localhost", None) => {
            let detail = "must be set when seccomp type is Localhost";
            check.push(FieldError::required(&field, detail));
        }
        (_, Some(file)) => {
            let detail = "can only be set when seccomp type is Localhost";
            let shown = types::internal(profile, "core.SeccompProfile");
            check.push(FieldError::invalid(&field, file, detail).showing(shown));
        }
        (_, None) => {}
    }
}

fn app_armor(check: &mut Check, context: &Value, path: &str) {
    const MOST: usize = 4095;
    let (profile, path) = (&context["appArmorProfile"], format!("{path}.appArmorProfile"));
    if !profile.is_object() {
        return;
    }
    kind(check, profile, "appArmorProfile", &path);
    let field = format!("{path}.localhostProfile");
    match (text(profile, "type"), profile["localhostProfile"].as_str()) {
        ("Localhost", None | Some("")) => {
            let detail = "must be set when AppArmor type is Localhost";
            check.push(FieldError::required(&field, detail));
        }
        ("Localhost", Some(file)) => {
            if file.trim() != file {
                let detail = "must not be padded with whitespace";
                check.push(FieldError::invalid(&field, file, detail));
            }
            check.no_longer(file, MOST, &field);
        }
        ("RuntimeDefault" | "Unconfined", Some(file)) => {
            let detail = "can only be set when AppArmor type is Localhost";
            check.push(FieldError::invalid(&field, file, detail));
        }
        _ => {}
    }
}

/// The system that the pod is made for, and what that does not have.
pub(super) fn system(check: &mut Check, spec: &Value, path: &str) {
    let (name, field) = (&spec["os"]["name"], format!("{path}.os"));
    let containers = || container::all(spec, path);
    match name.as_str().unwrap_or_default() {
        _ if !spec["os"].is_object() => {}
        "" => drop(check.required(name, &format!("{field}.name"))),
        "linux" => {
            for (holder, path) in [(spec, path.to_owned())].into_iter().chain(containers()) {
                if holder["securityContext"]["windowsOptions"].is_object() {
                    let field = format!("{path}.securityContext.windowsOptions");
                    let detail = "windows options cannot be set for a linux pod";
                    check.push(FieldError::forbidden(&field, detail));
                }
            }
        }
        "windows" => {
            absent(check, spec, NOT_WINDOWS_HOST, path);
            let below = |path: &str| format!("{path}.securityContext");
            absent(check, &spec["securityContext"], NOT_WINDOWS_POD, &below(path));
            for (container, path) in containers() {
                absent(
                    check,
                    &container["securityContext"],
                    NOT_WINDOWS_CONTAINER,
                    &below(&path),
                );
            }
        }
        other => check.push(FieldError::not_supported(&field, other, ["linux", "windows"])),
    }
}

fn absent(check: &mut Check, holder: &Value, names: &[&str], path: &str) {
    for name in names.iter().filter(|name| !holder[**name].is_null()) {
        let detail = "cannot be set for a windows pod";
        check.push(FieldError::forbidden(&format!("{path}.{name}"), detail));
    }
}

const NOT_WINDOWS_HOST: &[&str] = &["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"];
const NOT_WINDOWS_POD: &[&str] = &[
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
const NOT_WINDOWS_CONTAINER: &[&str] = &[
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
