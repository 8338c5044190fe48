//! The steps that `kubewright rename` prints for clusters, with bash, jq and the control plane's kubectl.

use std::{process::Command, time::Duration};

use kubewright_testkit::{Cluster, ControlPlane, binaries::Binaries, eventually};
use kubewright_tests::{Project, new_object, read_manifests};
use serde_json::{Value, json};

/// An API version, and a kind.
type VersionedKind = [&'static str; 2];

/// What a cluster has of a kind before it is renamed.
pub(crate) struct OldKind {
    /// Its definition.
    definition: Value,
    /// What the command printed.
    printed: String,
    old: VersionedKind,
    new: VersionedKind,
}

/// Renames the kind `Tree`.
pub(crate) fn rename_kind(project: &Project) -> OldKind {
    let (old, new) = (["demo.dev/v1beta1", "Tree"], ["demo.dev/v1beta1", "Shrub"]);
    rename(project, ["kind", old[1], new[1]], old, new)
}

/// Renames the group of the kind `Herb`.
pub(crate) fn rename_group(project: &Project) -> OldKind {
    let (old, new) = (["demo.dev/v1alpha1", "Herb"], ["green.dev/v1alpha1", "Herb"]);
    rename(project, ["group", "demo.dev", "green.dev"], old, new)
}

fn rename(project: &Project, arguments: [&str; 3], old: VersionedKind, new: VersionedKind) -> OldKind {
    let definitions = read_manifests(&project.root().join("manifests/crds"));
    let mut of_kind = definitions
        .into_iter()
        .filter(|definition| definition["spec"]["names"]["kind"] == old[1]);
    let definition = of_kind.next().expect("a definition");
    let [what, from, to] = arguments;
    let renamed = project.kubewright(&["rename", what, from, to, "--allow-dirty"]);
    OldKind {
        definition,
        printed: renamed.expect_success().stderr,
        old,
        new,
    }
}

/// Creates an object of the old kind, and the Deployment that its operator made for it.
pub(crate) fn create_old(cluster: &Cluster, old: &OldKind, namespace: &str) {
    cluster
        .install_crd(&old.definition)
        .expect("the CRD is installed");
    let [api_version, kind] = old.old;
    let mut owner = new_object(api_version, kind, namespace, "oak");
    owner["spec"] = json!({"deploymentName": "oak", "replicas": 1});
    let owner = cluster.apply(&owner).expect("the object is accepted");
    let mut deployment = new_object("apps/v1", "Deployment", namespace, "oak");
    deployment["metadata"]["ownerReferences"] = json!([{
        "apiVersion": api_version, "kind": kind, "name": "oak", "uid": owner["metadata"]["uid"],
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

    let [api_version, kind] = old.new;
    let moved = new_object(api_version, kind, namespace, "oak");
    let deployment = new_object("apps/v1", "Deployment", namespace, "oak");
    let get = |object: &Value| {
        cluster
            .get(object)
            .expect("the request succeeds")
            .unwrap_or_default()
    };
    eventually("the new operator takes over", Duration::from_mins(1), || {
        let (moved, deployment) = (get(&moved), get(&deployment));
        let owners = &deployment["metadata"]["ownerReferences"];
        let is_owner = owners.as_array().is_some_and(|owners| owners.len() == 1)
            && owners[0]["kind"] == kind
            && owners[0]["uid"] == moved["metadata"]["uid"];
        if is_owner && moved["status"]["observedGeneration"] == 1 {
            Ok(())
        } else {
            Err(format!("{moved}\n{deployment}\n{}", log()))
        }
    });
}
