use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::{Node, Pod},
};

use super::*;
use crate::Kind;

fn reference(api_version: &str, kind: &str) -> OwnerRef {
    OwnerRef {
        api_version: api_version.into(),
        kind: kind.into(),
        name: "owner".into(),
        uid: "1".into(),
        controller: true,
        block_owner_deletion: false,
    }
}

#[test]
fn owner_is_matched_by_group_and_kind() {
    let of = |api_version, kind| {
        owner_key(
            Some(&reference(api_version, kind)),
            Some("default"),
            &Deployment::info(),
        )
    };
    let found = Some(NamespacedName::namespaced("default", "owner"));
    assert_eq!(of("apps/v1", "Deployment"), found);
    assert_eq!(
        of("apps/v1beta1", "Deployment"),
        found,
        "another version of the same kind"
    );
    assert_eq!(of("demo.dev/v1", "Deployment"), None);
    assert_eq!(of("v1", "Deployment"), None);
    assert_eq!(of("apps/v1", "ReplicaSet"), None);
    assert_eq!(owner_key(None, Some("default"), &Deployment::info()), None);
}

#[test]
fn key_of_a_cluster_scoped_owner_has_no_namespace() {
    let node = reference("v1", "Node");
    assert_eq!(
        owner_key(Some(&node), Some("default"), &Node::info()),
        Some(NamespacedName::cluster("owner"))
    );
    let deployment = reference("apps/v1", "Deployment");
    assert_eq!(owner_key(Some(&deployment), None, &Deployment::info()), None);
}

#[test]
fn controller_reference_is_complete_and_control_is_compared_by_uid() {
    let mut owner = ReplicaSet::default();
    owner.metadata.name = Some("web".to_owned());
    owner.metadata.uid = Some("1".to_owned());
    let reference = controller_reference(&owner);
    assert_eq!(
        serde_json::to_value(&reference).unwrap(),
        serde_json::json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1",
            "controller": true, "blockOwnerDeletion": true,
        })
    );

    let mut pod = Pod::default();
    assert!(!is_controlled_by(&pod.metadata, &owner));
    pod.metadata.owner_references = Some(vec![reference]);
    assert!(is_controlled_by(&pod.metadata, &owner));
    owner.metadata.uid = Some("2".to_owned());
    assert!(
        !is_controlled_by(&pod.metadata, &owner),
        "recreated with the same name"
    );
    owner.metadata.uid = None;
    assert!(!is_controlled_by(&pod.metadata, &owner));
}
