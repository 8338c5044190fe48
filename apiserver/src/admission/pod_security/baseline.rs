//! The checks of the level baseline, by name. The version matters to some.

use super::levels::Version::{self, Minor};
use super::pod::{PodView, items, named, plural, quoted_list, uses};
use super::standards::Violation;
use crate::meta::text;
use crate::quote::quoted;
use crate::strategy::{APP_ARMOR_ANNOTATION_PREFIX, SECCOMP_ANNOTATION_PREFIX, SECCOMP_POD_ANNOTATION};
use serde_json::Value;
use std::collections::BTreeSet;

/// The profiles of seccomp and AppArmor that confine a container.
const CONFINING_PROFILES: [&str; 2] = ["RuntimeDefault", "Localhost"];
const LOCALHOST_PREFIX: &str = "localhost/";

/// The capabilities that container runtimes add by default.
const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The allowed SELinux types, and the versions from which they are.
const SELINUX_TYPES: [(Version, &str); 5] = [
    (Minor(0), ""),
    (Minor(0), "container_t"),
    (Minor(0), "container_init_t"),
    (Minor(0), "container_kvm_t"),
    (Minor(31), "container_engine_t"),
];

/// The sysctls that affect only the pod, and the versions from which they are allowed.
const SAFE_SYSCTLS: [(Version, &str); 12] = [
    (Minor(0), "kernel.shm_rmid_forced"),
    (Minor(0), "net.ipv4.ip_local_port_range"),
    (Minor(0), "net.ipv4.tcp_syncookies"),
    (Minor(0), "net.ipv4.ping_group_range"),
    (Minor(0), "net.ipv4.ip_unprivileged_port_start"),
    (Minor(27), "net.ipv4.ip_local_reserved_ports"),
    (Minor(29), "net.ipv4.tcp_keepalive_time"),
    (Minor(29), "net.ipv4.tcp_fin_timeout"),
    (Minor(29), "net.ipv4.tcp_keepalive_intvl"),
    (Minor(29), "net.ipv4.tcp_keepalive_probes"),
    (Minor(32), "net.ipv4.tcp_rmem"),
    (Minor(32), "net.ipv4.tcp_wmem"),
];

pub(super) fn app_armor_profile(pod: &PodView<'_>, _: Version) -> Option<Violation> {
    let mut types = BTreeSet::new();
    let mut setters = pod.bad_contexts(|context| bad_profile(&context["appArmorProfile"], &mut types));
    let annotations = pod.annotations.as_object().into_iter().flatten();
    let annotations: BTreeSet<String> = annotations
        .filter(|(key, _)| key.starts_with(APP_ARMOR_ANNOTATION_PREFIX))
        .map(|(key, value)| (key, value.as_str().unwrap_or_default()))
        .filter(|(_, value)| {
            !matches!(*value, "" | "runtime/default") && !value.starts_with(LOCALHOST_PREFIX)
        })
        .map(|(key, value)| format!("{key}={}", quoted(value)))
        .collect();
    if !annotations.is_empty() {
        setters.push(plural("annotation", annotations.len()));
    }
    let reason = match types.len() + annotations.len() {
        1 => "forbidden AppArmor profile",
        _ => "forbidden AppArmor profiles",
    };
    let values = types.into_iter().chain(annotations.iter().map(String::as_str));
    Violation::of_setters(reason, &setters, || {
        format!("must not set AppArmor profile type to {}", quoted_list(values))
    })
}

pub(super) fn capabilities(pod: &PodView<'_>, _: Version) -> Option<Violation> {
    let mut added = BTreeSet::new();
    let bad = pod.bad_containers(|container| {
        collect(&mut added, added_capabilities(container, &DEFAULT_CAPABILITIES))
    });
    Violation::of_containers("non-default capabilities", &bad, || {
        let added = quoted_list(&added);
        format!("must not include {added} in securityContext.capabilities.add")
    })
}

/// Returns the capabilities that a container adds although they are not allowed.
pub(super) fn added_capabilities<'a>(
    container: &'a Value,
    allowed: &'a [&str],
) -> impl Iterator<Item = &'a str> {
    let added = items(&container["securityContext"]["capabilities"]["add"]);
    added
        .filter_map(Value::as_str)
        .filter(|name| !allowed.contains(name))
}

pub(super) fn host_namespaces(pod: &PodView<'_>, _: Version) -> Option<Violation> {
    let fields = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let shared = fields.filter(|field| pod.spec[field] == true);
    let shared: Vec<String> = shared.map(|field| format!("{field}=true")).collect();
    Violation::unless_empty("host namespaces", &shared, || shared.join(", "))
}

pub(super) fn host_path_volumes(pod: &PodView<'_>, _: Version) -> Option<Violation> {
    let bad = pod.volumes().filter(|volume| !volume["hostPath"].is_null());
    let bad: Vec<&str> = bad.map(|volume| text(volume, "name")).collect();
    Violation::unless_empty("hostPath volumes", &bad, || named("volume", &bad))
}

pub(super) fn host_ports(pod: &PodView<'_>, _: Version) -> Option<Violation> {
    let mut ports = BTreeSet::new();
    let bad = pod.bad_containers(|container| {
        let used = items(&container["ports"]).map(|port| &port["hostPort"]);
        let used = used.filter(|port| !port.is_null() && **port != 0);
        collect(&mut ports, used.map(Value::to_string))
    });
    Violation::of_containers("hostPort", &bad, || {
        let texts: Vec<&str> = ports.iter().map(String::as_str).collect();
        let word = plural("hostPort", ports.len());
        format!("{} {word} {}", uses(bad.len()), texts.join(", "))
    })
}

pub(super) fn host_probes_and_lifecycle(pod: &PodView<'_>, _: Version) -> Option<Violation> {
    let mut hosts = BTreeSet::new();
    let mut bad = pod.bad_containers(|container| {
        let lifecycle = &container["lifecycle"];
        let handlers = ["livenessProbe", "readinessProbe", "startupProbe"].map(|probe| &container[probe]);
        let handlers = handlers
            .into_iter()
            .chain(["postStart", "preStop"].map(|at| &lifecycle[at]));
        let actions = handlers.flat_map(|handler| [&handler["httpGet"], &handler["tcpSocket"]]);
        let used = actions.map(|action| text(action, "host"));
        collect(&mut hosts, used.filter(|host| !host.is_empty()))
    });
    bad.sort_unstable();
    Violation::of_containers("probe or lifecycle host", &bad, || {
        format!("{} {}", uses(bad.len()), named("probe or lifecycle host", &hosts))
    })
}

pub(super) fn privileged(pod: &PodView<'_>, _: Version) -> Option<Violation> {
    let bad = pod.bad_containers(|container| container["securityContext"]["privileged"] == true);
    Violation::of_containers("privileged", &bad, || {
        "must not set securityContext.privileged=true".to_owned()
    })
}

/// From version 1.35 on, any value is allowed in a user namespace.
pub(super) fn proc_mount_in_host_users(pod: &PodView<'_>, version: Version) -> Option<Violation> {
    if version >= Minor(35) && pod.has_user_namespace() {
        return None;
    }
    proc_mount(pod, version)
}

pub(super) fn proc_mount(pod: &PodView<'_>, _: Version) -> Option<Violation> {
    let mut types = BTreeSet::new();
    let bad = pod.bad_containers(|container| {
        let set = container["securityContext"]["procMount"].as_str();
        collect(&mut types, set.filter(|set| *set != "Default"))
    });
    Violation::of_containers("procMount", &bad, || {
        format!(
            "must not set securityContext.procMount to {}",
            quoted_list(&types)
        )
    })
}

pub(super) fn selinux_options(pod: &PodView<'_>, version: Version) -> Option<Violation> {
    let (mut types, mut sets_user, mut sets_role) = (BTreeSet::new(), false, false);
    let setters = pod.bad_contexts(|context| {
        let options = &context["seLinuxOptions"];
        let [kind, user, role] = ["type", "user", "role"].map(|field| text(options, field));
        let is_bad_type = collect(
            &mut types,
            Some(kind).filter(|kind| !allows(&SELINUX_TYPES, version, kind)),
        );
        sets_user |= !user.is_empty();
        sets_role |= !role.is_empty();
        is_bad_type || !user.is_empty() || !role.is_empty()
    });
    Violation::of_setters("seLinuxOptions", &setters, || {
        let types = (!types.is_empty()).then(|| named("type", &types));
        let user = sets_user.then(|| "user may not be set".to_owned());
        let role = sets_role.then(|| "role may not be set".to_owned());
        let set: Vec<String> = types.into_iter().chain(user).chain(role).collect();
        format!("set forbidden securityContext.seLinuxOptions: {}", set.join("; "))
    })
}

/// Before version 1.19, the profile is in annotations.
pub(super) fn seccomp_profile(pod: &PodView<'_>, version: Version) -> Option<Violation> {
    if version < Minor(19) {
        return seccomp_annotations(pod);
    }
    let mut types = BTreeSet::new();
    let setters = pod.bad_contexts(|context| bad_profile(&context["seccompProfile"], &mut types));
    Violation::of_setters("seccompProfile", &setters, || {
        let types = quoted_list(&types);
        format!("must not set securityContext.seccompProfile.type to {types}")
    })
}

fn seccomp_annotations(pod: &PodView<'_>) -> Option<Violation> {
    let of_containers = pod
        .containers()
        .map(|container| format!("{SECCOMP_ANNOTATION_PREFIX}{}", text(container, "name")));
    let keys = of_containers.chain([SECCOMP_POD_ANNOTATION.to_owned()]);
    let bad = keys.filter_map(|key| {
        let value = pod.annotations.get(&key)?.as_str().unwrap_or_default();
        let is_allowed =
            matches!(value, "runtime/default" | "docker/default") || value.starts_with(LOCALHOST_PREFIX);
        (!is_allowed).then(|| format!("{key}={}", quoted(value)))
    });
    let bad: BTreeSet<String> = bad.collect();
    let bad: Vec<String> = bad.into_iter().collect();
    Violation::unless_empty("seccompProfile", &bad, || {
        format!("forbidden {} {}", plural("annotation", bad.len()), bad.join(", "))
    })
}

pub(super) fn sysctls(pod: &PodView<'_>, version: Version) -> Option<Violation> {
    let set = items(&pod.context()["sysctls"]).map(|sysctl| text(sysctl, "name"));
    let bad: Vec<&str> = set.filter(|name| !allows(&SAFE_SYSCTLS, version, name)).collect();
    Violation::unless_empty("forbidden sysctls", &bad, || bad.join(", "))
}

pub(super) fn windows_host_process(pod: &PodView<'_>, _: Version) -> Option<Violation> {
    let setters = pod.bad_contexts(|context| context["windowsOptions"]["hostProcess"] == true);
    Violation::of_setters("hostProcess", &setters, || {
        "must not set securityContext.windowsOptions.hostProcess=true".to_owned()
    })
}

/// True if a profile is set and does not confine; adds its type.
pub(super) fn bad_profile<'a>(profile: &'a Value, types: &mut BTreeSet<&'a str>) -> bool {
    let kind = Some(text(profile, "type"));
    collect(
        types,
        kind.filter(|kind| !profile.is_null() && !CONFINING_PROFILES.contains(kind)),
    )
}

/// Adds the values to a set; true if there are any.
pub(super) fn collect<T: Ord>(set: &mut BTreeSet<T>, values: impl IntoIterator<Item = T>) -> bool {
    let mut values = values.into_iter().peekable();
    let is_any = values.peek().is_some();
    set.extend(values);
    is_any
}

/// True if a table with versions has the value by this version.
fn allows(table: &[(Version, &str)], version: Version, value: &str) -> bool {
    table
        .iter()
        .any(|(since, allowed)| *since <= version && *allowed == value)
}
