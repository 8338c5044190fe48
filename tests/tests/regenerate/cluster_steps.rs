//! The steps that `kubewright rename kind` prints for clusters, with bash, jq and the control plane's kubectl.

use std::{process::Command, time::Duration};

use kubewright_testkit::{Cluster, ControlPlane, binaries::Binaries, eventually};
use kubewright_tests::{Project, new_object, read_manifests};
use serde_json::{Value, json};

/// What a cluster has of a kind before it is renamed.
pub(crate) struct OldKind {
    /// Its definition.
    pub(crate) definition: Value,
    /// What the command printed.
    pub(crate) printed: String,
}

/// Renames a kind.
pub(crate) fn rename(project: &Project, old: &str, new: &str) -> OldKind {
    let definitions = read_manifests(&project.root().join("manifests/crds"));
    let mut of_kind = definitions
        .into_iter()
        .filter(|definition| definition["spec"]["names"]["kind"] == *old);
    let definition = of_kind.next().expect("a definition");
    let renamed = project.kubewright(&["rename", "kind", old, new, "--allow-dirty"]);
    OldKind {
        definition,
        printed: renamed.expect_success().stderr,
    }
}

/// Creates an object of the old kind `Tree`, and the Deployment that its operator made for it.
pub(crate) fn create_old(cluster: &Cluster, old: &OldKind, namespace: &str) {
    cluster
        .install_crd(&old.definition)
        .expect("the CRD is installed");
    let mut tree = new_object("demo.dev/v1beta1", "Tree", namespace, "oak");
    tree["spec"] = json!({"deploymentName": "oak", "replicas": 1});
    let tree = cluster.apply(&tree).expect("the object is accepted");
    let mut deployment = new_object("apps/v1", "Deployment", namespace, "oak");
    deployment["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "demo.dev/v1beta1", "kind": "Tree", "name": "oak", "uid": tree["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    let labels = json!({"app.kubernetes.io/name": "nginx", "app.kubernetes.io/instance": "oak"});
    deployment["spec"] = json!({
        "replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "nginx", "image": "nginx:1.29"}]}},
    });
    cluster.apply(&deployment).expect("the object is accepted");
}

/// Runs the printed steps, but for the installation of the manifests. Then the new operator has taken over what the old one made.
pub(crate) fn run(
    cluster: &Cluster,
    plane: &ControlPlane,
    old: &OldKind,
    namespace: &str,
    log: &dyn Fn() -> String,
) {
    let steps: Vec<&str> = old
        .printed
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| line.starts_with("kubectl ") && !line.contains("-k manifests"))
        .collect();
    assert_eq!(steps.len(), 5, "{}", old.printed);
    let kubectl = Binaries::find()
        .and_then(|binaries| binaries.kubectl())
        .expect("kubectl");
    let mut path = kubectl.parent().expect("a folder").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let script = steps.join("\n");
    let ran = Command::new("bash")
        .args(["-e", "-o", "pipefail", "-c", &script])
        .env("PATH", path)
        .env("KUBECONFIG", plane.admin().kubeconfig())
        .output()
        .expect("bash runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        ran.status.success(),
        "{script}\n{}{}",
        text(&ran.stdout),
        text(&ran.stderr)
    );

    let shrub = new_object("demo.dev/v1beta1", "Shrub", namespace, "oak");
    let deployment = new_object("apps/v1", "Deployment", namespace, "oak");
    let get = |object: &Value| {
        cluster
            .get(object)
            .expect("the request succeeds")
            .unwrap_or_default()
    };
    eventually("the new operator takes over", Duration::from_mins(1), || {
        let (shrub, deployment) = (get(&shrub), get(&deployment));
        let owners = &deployment["metadata"]["ownerReferences"];
        let is_owner = owners.as_array().is_some_and(|owners| owners.len() == 1)
            && owners[0]["kind"] == "Shrub"
            && owners[0]["uid"] == shrub["metadata"]["uid"];
        if is_owner && shrub["status"]["observedGeneration"] == 1 {
            Ok(())
        } else {
            Err(format!("{shrub}\n{deployment}\n{}", log()))
        }
    });
}
