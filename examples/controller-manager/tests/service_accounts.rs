//! With `--use-service-account-credentials` each controller acts as the service account of upstream's, with at most the permissions that the
//! program prints for it.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

use std::{process::Command, time::Duration};

use kubewright_testkit::{Cluster, ControlPlane, PermissionUnit, eventually};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_controller-manager");
const TIMEOUT: Duration = Duration::from_mins(1);

/// Component and service account.
const ACCOUNTS: [(&str, &str); 3] = [
    ("deployment-controller", "deployment-controller"),
    ("replicaset-controller", "replicaset-controller"),
    ("daemonset-controller", "daemon-set-controller"),
];

/// Returns the units of the program's permissions, each with its component.
fn units() -> Vec<(Option<String>, PermissionUnit)> {
    let printed = Command::new(PROGRAM)
        .args(["--use-service-account-credentials", "manifests"])
        .output()
        .unwrap();
    let manifests: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let mut units = Vec::new();
    for permission in manifests["permissions"].as_array().unwrap() {
        let texts = |field: &str| {
            let values = permission[field].as_array().unwrap().iter();
            values
                .map(|value| value.as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let component = permission["component"].as_str().map(str::to_owned);
        for group in texts("apiGroups") {
            for resource in texts("resources") {
                let unit = PermissionUnit::new(&group, resource, texts("verbs"));
                let unit = match permission["scope"].as_str().unwrap() {
                    "operator" => unit.in_namespace("kube-system"),
                    "default" => unit.in_namespace("default"),
                    _ => unit,
                };
                units.push((component.clone(), unit));
            }
        }
    }
    units
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "default", "name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "web"}]},
        }},
    })
}

fn daemon_set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"namespace": "default", "name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {
            "metadata": {"labels": {"app": "agent"}},
            "spec": {"containers": [{"name": "main", "image": "agent"}]},
        }},
    })
}

/// What a request needs: verb, group, resource.
type Need = (String, String, String);

fn check(cluster: &Cluster) {
    let units = units();
    let own: Vec<_> = units
        .iter()
        .filter(|(component, _)| component.is_none())
        .map(|(_, unit)| unit.clone())
        .collect();
    let identity = cluster.operator("controller-manager", &own).unwrap();
    let manager = cluster
        .launch(&identity, PROGRAM)
        .args([
            "--controllers=deployment,replicaset,daemonset",
            "--use-service-account-credentials=true",
            "--leader-elect-retry-period=200ms",
            "--secure-port=0",
        ])
        .start()
        .unwrap();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}});
    for object in [&node, &deployment(), &daemon_set()] {
        cluster.apply(object).unwrap();
    }
    // The API server taints new nodes as not ready.
    let untainted = json!({"spec": {"taints": null}});
    cluster.merge_patch(&node, &untainted).unwrap();
    eventually("both statuses count the pods", TIMEOUT, || {
        let field = |object: &Value, field: &str| {
            let found = cluster.get(object).map_err(|error| error.to_string())?;
            Ok::<_, String>(found.unwrap_or_default()["status"][field].clone())
        };
        let replicas = field(&deployment(), "updatedReplicas")?;
        let scheduled = field(&daemon_set(), "desiredNumberScheduled")?;
        if (&replicas, &scheduled) == (&json!(2), &json!(1)) {
            Ok(())
        } else {
            Err(format!("{replicas}, {scheduled}: {}", manager.log_tail()))
        }
    });

    let audit = cluster.audit().unwrap();
    let needs_of = |user: &str| -> Vec<Need> {
        let requests = audit.by_user(user);
        let needs = requests
            .iter()
            .map(|event| (event.verb.clone(), event.api_group.clone(), event.rbac_resource()));
        needs.collect()
    };
    for (component, account) in ACCOUNTS {
        let user = format!("system:serviceaccount:kube-system:{account}");
        audit.check_nothing_forbidden(&user).unwrap();
        let needs = needs_of(&user);
        assert!(
            needs
                .iter()
                .any(|(verb, ..)| verb == "create" || verb == "update"),
            "{user}: {needs:?}"
        );
        for (verb, group, resource) in &needs {
            let covers = |(of, unit): &(Option<String>, PermissionUnit)| {
                of.as_deref() == Some(component)
                    && (&unit.group, &unit.resource) == (group, resource)
                    && unit.verbs.contains(verb)
            };
            assert!(
                units.iter().any(covers),
                "{component} sent {verb} {group} {resource}, which it prints no permission for"
            );
        }
    }
    audit.check_nothing_forbidden(identity.user()).unwrap();
    let by_manager = needs_of(identity.user());
    let writes: Vec<_> = by_manager
        .iter()
        .filter(|(verb, ..)| !matches!(&**verb, "get" | "list" | "watch"))
        .filter(|(_, _, resource)| {
            !matches!(
                &**resource,
                "leases" | "events" | "serviceaccounts" | "serviceaccounts/token"
            )
        })
        .collect();
    assert!(writes.is_empty(), "{writes:?}");
}

#[test]
fn controllers_act_as_their_service_accounts() {
    check(&Cluster::embedded().unwrap());
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn controllers_act_as_their_service_accounts_on_the_real_api_server() {
    let plane = ControlPlane::builder();
    check(&Cluster::start_real(plane).unwrap());
}
