//! The steps by which the objects of a renamed kind become objects of the new kind in a cluster. They are printed for bash; no command runs them.

use std::{collections::BTreeSet, fmt::Write as _};

use crate::{plan::IoError, project::Project, yaml};

/// A kind with its old and new names.
pub(super) struct MovedKind {
    /// The kind.
    pub(super) kinds: [String; 2],
    /// The API group.
    pub(super) groups: [String; 2],
    /// The resource with its group, which is the definition's name.
    pub(super) resources: [String; 2],
    /// The version that the API server stores. The operator writes it into owner references, and may not change them everywhere.
    pub(super) stored: String,
}

/// Returns the steps for each cluster.
pub(super) fn steps(project: &Project, moved: &[MovedKind]) -> Result<String, IoError> {
    let owned = owned_resources(project, moved)?;
    let new_kinds: BTreeSet<&str> = moved.iter().map(|moved| &*moved.kinds[1]).collect();
    let new_kinds = new_kinds.into_iter().collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "  kubectl apply --server-side -k manifests  # the new definitions, and the operator of {new_kinds}\n"
    );
    for moved in moved {
        let MovedKind {
            kinds,
            groups,
            resources,
            ..
        } = moved;
        let [old, new] = resources;
        let rename = if kinds[0] == kinds[1] {
            format!(".apiVersion |= sub(\"^[^/]*\"; \"{}\")", groups[1])
        } else {
            format!(".kind = \"{}\"", kinds[1])
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "  kubectl get {old} -A -o json | jq '.items[] |= ({rename} | .metadata |= {{name, namespace, labels, annotations}} | \
             del(.status))' | kubectl create -f -\n  \
             kubectl get {new} -A  # check the copies\n"
        );
        if !owned.is_empty() {
            text += &owner_step(moved, &owned);
        }
        let _ = write!(
            text,
            "  kubectl delete {old} -A --all --cascade=orphan  # remove finalizers of the old operator first\n  \
             kubectl delete crd {old}\n"
        );
    }
    Ok(text)
}

/// Returns the step that makes the copies the owners of what the old objects own. Without it the operator would refuse to change these.
fn owner_step(moved: &MovedKind, owned: &[String]) -> String {
    let (kind, group) = (&moved.kinds[0], &moved.groups[0]);
    let (new, owned) = (&moved.resources[1], owned.join(","));
    let version = format!("{}/{}", moved.groups[1], moved.stored);
    let is_old = format!(".kind == \"{kind}\" and (.apiVersion | startswith(\"{group}/\"))");
    // An owner is in the namespace of the object, or in none.
    format!(
        "  kubectl get {owned} -A -o json | jq -c --slurpfile new <(kubectl get {new} -A -o json) \
         '.items[] | .metadata.namespace as $namespace | select(any(.metadata.ownerReferences[]?; {is_old})) | \
         .metadata.ownerReferences |= map(if {is_old} then . as $old | \
         [$new[0].items[] | select(.metadata.name == $old.name and (.metadata.namespace // $namespace) == $namespace)][0] as $copy | \
         if $copy then $old + {{apiVersion: \"{version}\", kind: $copy.kind, uid: $copy.metadata.uid}} else $old end else . end)' | \
         kubectl replace -f -  # the copies own what the old objects own\n"
    )
}

/// Returns the resources that the operator may apply, from its generated role: it owns objects of these.
fn owned_resources(project: &Project, moved: &[MovedKind]) -> Result<Vec<String>, IoError> {
    let text = project.read("manifests/rbac/role.yaml")?.unwrap_or_default();
    let mut found = BTreeSet::new();
    // `generate` reports a role that does not parse.
    for role in yaml::read_all(&text).unwrap_or_default() {
        for rule in role["rules"].as_array().into_iter().flatten() {
            let texts = |key: &str| {
                let values = rule[key].as_array().into_iter().flatten();
                values.filter_map(|value| value.as_str()).collect::<Vec<_>>()
            };
            if !texts("verbs").contains(&"patch") {
                continue;
            }
            for group in texts("apiGroups") {
                for resource in texts("resources") {
                    let name = if group.is_empty() {
                        resource.to_owned()
                    } else {
                        format!("{resource}.{group}")
                    };
                    let is_moved = moved.iter().any(|moved| moved.resources.contains(&name));
                    if resource != "events" && !resource.contains('/') && !is_moved {
                        found.insert(name);
                    }
                }
            }
        }
    }
    Ok(found.into_iter().collect())
}
