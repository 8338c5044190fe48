//! The checks of the level restricted, by name. The version matters to some: from 1.25 on, pods for Windows need not set what Windows does not
//! have, and from 1.35 on, pods in a user namespace may run as root.

use super::baseline::{added_capabilities, collect, seccomp_profile};
use super::levels::Version::{self, Minor};
use super::pod::{PodView, items, named, quoted_list, uses};
use super::standards::Violation;
use crate::meta::text;
use serde_json::Value;
use std::collections::BTreeSet;

/// The volumes that restricted pods may have.
const VOLUME_TYPES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

pub(super) fn allow_privilege_escalation(pod: &PodView<'_>, version: Version) -> Option<Violation> {
    if is_exempt_on_windows(pod, version) {
        return None;
    }
    let bad =
        pod.bad_containers(|container| container["securityContext"]["allowPrivilegeEscalation"] != false);
    Violation::of_containers("allowPrivilegeEscalation != false", &bad, || {
        "must set securityContext.allowPrivilegeEscalation=false".to_owned()
    })
}

pub(super) fn capabilities(pod: &PodView<'_>, version: Version) -> Option<Violation> {
    if is_exempt_on_windows(pod, version) {
        return None;
    }
    let keeps_some = |container: &Value| {
        let mut dropped = items(&container["securityContext"]["capabilities"]["drop"]);
        !dropped.any(|name| *name == "ALL")
    };
    let mut added = BTreeSet::new();
    let keeping = pod.bad_containers(keeps_some);
    let adding = pod.bad_containers(|container| {
        collect(&mut added, added_capabilities(container, &["NET_BIND_SERVICE"]))
    });
    let keeping = (!keeping.is_empty()).then(|| {
        let containers = named("container", &keeping);
        format!("{containers} must set securityContext.capabilities.drop=[\"ALL\"]")
    });
    let adding = (!adding.is_empty()).then(|| {
        let (containers, added) = (named("container", &adding), quoted_list(&added));
        format!("{containers} must not include {added} in securityContext.capabilities.add")
    });
    let details: Vec<String> = keeping.into_iter().chain(adding).collect();
    Violation::unless_empty("unrestricted capabilities", &details, || details.join("; "))
}

pub(super) fn volumes(pod: &PodView<'_>, _: Version) -> Option<Violation> {
    let mut types = BTreeSet::new();
    let mut bad = vec![];
    for volume in pod.volumes() {
        let sources = volume.as_object().into_iter().flatten();
        let mut sources = sources.filter(|(key, source)| *key != "name" && !source.is_null());
        if let Some((source, _)) = sources.find(|(key, _)| !VOLUME_TYPES.contains(&key.as_str())) {
            types.insert(source);
            bad.push(text(volume, "name"));
        }
    }
    Violation::unless_empty("restricted volume types", &bad, || {
        let (volumes, types) = (named("volume", &bad), named("restricted volume type", types));
        format!("{volumes} {} {types}", uses(bad.len()))
    })
}

pub(super) fn run_as_non_root(pod: &PodView<'_>, version: Version) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    if may_run_as_root(pod, version) {
        return None;
    }
    let setters = pod.bad_contexts(|context| context["runAsNonRoot"] == false);
    let explicit = Violation::of_setters(REASON, &setters, || {
        "must not set securityContext.runAsNonRoot=false".to_owned()
    });
    explicit.or_else(|| {
        let lacking = lacking_containers(pod, "runAsNonRoot");
        Violation::unless_empty(REASON, &lacking, || {
            let containers = named("container", &lacking);
            format!("pod or {containers} must set securityContext.runAsNonRoot=true")
        })
    })
}

pub(super) fn run_as_user(pod: &PodView<'_>, version: Version) -> Option<Violation> {
    if may_run_as_root(pod, version) {
        return None;
    }
    let setters = pod.bad_contexts(|context| context["runAsUser"] == 0);
    Violation::of_setters("runAsUser=0", &setters, || "must not set runAsUser=0".to_owned())
}

pub(super) fn required_seccomp_profile(pod: &PodView<'_>, version: Version) -> Option<Violation> {
    if is_exempt_on_windows(pod, version) {
        return None;
    }
    seccomp_profile(pod, version).or_else(|| {
        let lacking = lacking_containers(pod, "seccompProfile");
        Violation::unless_empty("seccompProfile", &lacking, || {
            let containers = named("container", &lacking);
            format!(
                "pod or {containers} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""
            )
        })
    })
}

/// Returns the containers that lack a field of the security context which the pod lacks, too.
fn lacking_containers<'a>(pod: &PodView<'a>, field: &str) -> Vec<&'a str> {
    let is_set = !pod.context()[field].is_null();
    pod.bad_containers(|container| !is_set && container["securityContext"][field].is_null())
}

fn is_exempt_on_windows(pod: &PodView<'_>, version: Version) -> bool {
    version >= Minor(25) && pod.is_windows()
}

fn may_run_as_root(pod: &PodView<'_>, version: Version) -> bool {
    version >= Minor(35) && pod.has_user_namespace()
}
