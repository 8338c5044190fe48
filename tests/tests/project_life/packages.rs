//! kubectl and helm install the packages in `tests/golden/packages` on both API servers.

use std::{path::Path, process::Command};

use kubewright_testkit::{Cluster, ControlPlane, binaries::Binaries};
use kubewright_tests::new_object;
use serde_json::{Value, json};

/// The namespace of the release. It is not the one in the manifests.
const NAMESPACE: &str = "production";

/// Objects of the snapshot `customized` that the others do not have.
const SWITCHED_ON: [(&str, &str, &str); 3] = [
    ("monitoring.coreos.com/v1", "ServiceMonitor", "shop"),
    ("networking.k8s.io/v1", "NetworkPolicy", "shop"),
    ("v1", "ConfigMap", "shop-dashboard"),
];

#[test]
#[ignore = "needs helm, which cargo xtask check-packages --all builds"]
fn packages_are_installed_on_the_embedded_server() {
    install(&kubewright_tests::embedded());
}

#[test]
#[ignore = "needs a real control plane, and helm, which cargo xtask check-packages --all builds"]
fn packages_are_installed_on_the_real_server() {
    // Of its own: the other tests have the same kinds.
    install(&Cluster::start_real(ControlPlane::builder()).expect("a control plane"));
}

fn install(cluster: &Cluster) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let kubeconfig = cluster.admin().kubeconfig();
    // For the caches of kubectl and helm.
    let home = tempfile::tempdir().unwrap();
    let run = |program: &Path, arguments: &[&str], folder: &str| {
        let output = Command::new(program)
            .current_dir(root.join("tests/golden/packages").join(folder))
            .envs([("KUBECONFIG", kubeconfig), ("HOME", home.path())])
            .args(arguments)
            .output()
            .unwrap_or_else(|error| {
                panic!(
                    "{}: {error}; build it by `cargo xtask check-packages --all`",
                    program.display()
                )
            });
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {stdout}{stderr}");
        stdout
    };
    for namespace in ["a", "b"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        cluster.apply(&namespace).expect("it is created");
    }
    let definitions = kubewright_tests::read_manifests(&root.join("tests/imported"));
    let is_service_monitor =
        |crd: &&Value| crd["metadata"]["name"] == "servicemonitors.monitoring.coreos.com";
    let definition = definitions
        .iter()
        .find(is_service_monitor)
        .expect("its definition");
    cluster.install_crd(definition).expect("it is established");
    let deployment = |namespace: &str| cluster.get(&new_object("apps/v1", "Deployment", namespace, "shop"));
    let helm = root.join("target/packages/helm");
    for (chart, values) in [
        ("webhooks", "crds.keep=false"),
        // With what is off by default.
        ("customized", "crds.keep=false"),
    ] {
        let helm = |arguments: &[&str]| run(&helm, &[arguments, &["--namespace", NAMESPACE]].concat(), chart);
        helm(&["install", "shop", "chart", "--create-namespace", "--set", values]);
        let found = deployment(NAMESPACE).unwrap().expect("the Deployment exists");
        assert_eq!(operator(&found)["image"], "registry.example/shop:0.1.0");
        for (api_version, kind, name) in SWITCHED_ON {
            let object = new_object(api_version, kind, NAMESPACE, name);
            let found = cluster.get(&object).unwrap();
            assert_eq!(found.is_some(), chart == "customized", "{kind}");
        }
        let values = format!("{values},replicas=3,watchNamespaces={{a,b}}");
        helm(&["upgrade", "shop", "chart", "--set", &values]);
        let found = deployment(NAMESPACE).unwrap().expect("the Deployment exists");
        let args = operator(&found)["args"].as_array().cloned().unwrap_or_default();
        assert_eq!(found["spec"]["replicas"], 3);
        assert!(args.contains(&json!("--watch-namespace=a,b")), "{args:?}");
        helm(&["uninstall", "shop", "--wait"]);
        assert!(deployment(NAMESPACE).unwrap().is_none());
    }

    // The chapter's commands, word for word.
    let helm_install = commands_of_the_chapter("helm");
    assert_eq!(helm_install.len(), 1);
    run(&helm, &words(&helm_install[0]), "webhooks");
    assert!(deployment("shop-system").unwrap().is_some());
    run(
        &helm,
        &["uninstall", "shop", "--namespace", "shop-system", "--wait"],
        "webhooks",
    );
    let kubectl = Binaries::find()
        .and_then(|programs| programs.kubectl())
        .expect("kubectl");
    let apply = commands_of_the_chapter("kubectl");
    assert_eq!(apply.len(), 1);
    let first = run(&kubectl, &words(&apply[0]), "webhooks");
    assert!(deployment("shop-system").unwrap().is_some());
    assert_eq!(
        run(&kubectl, &words(&apply[0]), "webhooks"),
        first,
        "it can be applied again"
    );
}

/// The arguments of the book's commands about packages that run this program.
fn commands_of_the_chapter(program: &str) -> Vec<String> {
    let chapter = include_str!("../../../docs/src/packages.md").lines();
    let commands =
        chapter.filter_map(|line| line.strip_prefix("$ ")?.strip_prefix(program)?.strip_prefix(' '));
    commands.map(str::to_owned).collect()
}

fn words(arguments: &str) -> Vec<&str> {
    arguments.split(' ').collect()
}

/// Returns the operator's container.
fn operator(deployment: &Value) -> &Value {
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array();
    let mut containers = containers.into_iter().flatten();
    containers
        .find(|container| container["name"] == "operator")
        .unwrap_or(&Value::Null)
}
