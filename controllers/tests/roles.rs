//! The permissions of each controller are among those of upstream's role, which every API server has. Informers and events run as the manager
//! itself: what they need is in the manager's role.
#![cfg(all(feature = "core", feature = "gc", feature = "workloads"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{collections::BTreeSet, sync::Arc};

use kubewright::testing::TestOperator;
use kubewright_controllers::{Options, catalog::CONTROLLERS, register};
use kubewright_testkit::Cluster;
use serde_json::{Value, json};

fn options(name: &str) -> Options {
    Options {
        root_ca: Some(Arc::from(&b"the CA"[..])),
        ..Options::default().select(name).unwrap()
    }
}

/// The items of a list in a rule; one empty text stands for a list that is missing.
fn items(list: &Value) -> BTreeSet<&str> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| item.as_str().unwrap()).collect()
}

fn covers(granted: &Value, needed: &Value, field: &str) -> bool {
    let (granted, needed) = (items(&granted[field]), items(&needed[field]));
    granted.contains("*") || needed.is_subset(&granted)
}

#[tokio::test]
async fn permissions_are_among_those_of_upstreams_roles() {
    let cluster = Cluster::embedded().unwrap();
    let role = |name: &str| {
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}});
        let role = cluster
            .get(&role)
            .unwrap()
            .unwrap_or_else(|| panic!("there is no role {name}"));
        role["rules"].as_array().unwrap().clone()
    };
    let of_manager = role("system:kube-controller-manager");
    let mut problems = Vec::new();
    for controller in CONTROLLERS {
        // The token controller runs as the manager itself, here and upstream.
        let Some(account) = controller.service_account else {
            continue;
        };
        let (name, rules) = (controller.name, role(&format!("system:controller:{account}")));
        let permissions = TestOperator::permissions(|setup| register(setup, &options(name)));
        let permissions = serde_json::to_value(&permissions).unwrap();
        let permissions = permissions.as_array().unwrap();
        assert!(!permissions.is_empty(), "{name}");
        for permission in permissions {
            for verb in items(&permission["verbs"]) {
                let needed = json!({"verbs": [verb], "apiGroups": permission["apiGroups"], "resources": permission["resources"]});
                let fields = ["verbs", "apiGroups", "resources"];
                let rules = if permission["component"].is_null() {
                    &of_manager
                } else {
                    &rules
                };
                let is_granted = rules
                    .iter()
                    .any(|rule| fields.iter().all(|field| covers(rule, &needed, field)));
                if !is_granted {
                    problems.push(format!("{name}: {needed}"));
                }
            }
        }
    }
    assert!(
        problems.is_empty(),
        "not in upstream's roles:\n{}",
        problems.join("\n")
    );
}
