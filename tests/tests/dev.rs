//! `kubewright dev`: from the scaffold to a reconciled sample, live; an edit; a mistake; the end. Without a cluster.

use std::{path::Path, time::Duration};

use kube::{
    Api, Client, Config,
    api::{DynamicObject, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use kubewright_testkit::{ChildProcess, eventually};
use kubewright_tests::Project;
use serde_json::json;

/// The first build of a scaffold takes a while.
const PATIENCE: Duration = Duration::from_mins(10);

#[tokio::test(flavor = "multi_thread")]
async fn dev_runs_the_operator_and_follows_the_source() {
    let project = Project::scaffold("devloop", "Foo", &[]);
    let mut dev = project.dev(&[]);

    // The sample becomes ready: applied, reconciled under the generated Role, its pods simulated.
    wait_for(&dev, "KUBECONFIG=");
    wait_for(&dev, "applied manifests/samples/foo.yaml");
    wait_for(&dev, "objects | Foo default/example-foo: created");
    wait_for(&dev, "objects | Event Normal Created Foo/example-foo");
    wait_for(&dev, "operator | ");
    wait_for(
        &dev,
        "objects | Foo default/example-foo: status.availableReplicas 0 → 1, Ready False → True",
    );
    assert!(
        !dev.log().contains('\x1b'),
        "plain lines where there is no terminal"
    );
    assert!(
        project.root().join("manifests/rbac/role.yaml").exists(),
        "the files follow, too"
    );

    // What kubectl would do beside it.
    let foos = foos(&kubeconfig(&dev)).await;
    let scaled = json!({ "spec": { "replicas": 2 } });
    foos.patch("example-foo", &PatchParams::default(), &Patch::Merge(&scaled))
        .await
        .expect("scaled");
    wait_for(&dev, "objects | Foo default/example-foo: spec.replicas 1 → 2");
    wait_for(&dev, "status.availableReplicas 1 → 2");

    // A mistake is shown, and waited out; the operator goes on.
    let controller = "src/controllers/foo.rs";
    project.edit(controller, "what} Deployment", "whit} Deployment");
    wait_for(&dev, "cargo | error[E0425]");
    wait_for(&dev, "error: the operator does not compile");
    project.edit(controller, "whit} Deployment", "what} the Deployment");
    wait_for(&dev, "stopping the operator");

    // The new code works on what was there, and on the new definition.
    let scaled = json!({ "spec": { "replicas": 3 } });
    foos.patch("example-foo", &PatchParams::default(), &Patch::Merge(&scaled))
        .await
        .expect("the state is kept");
    wait_for(&dev, "Updated the Deployment example-foo");
    project.edit("src/api/foo.rs", "max = 10", "max = 4");
    eventually("the definition follows", PATIENCE, || {
        let text = project.read("manifests/crds/demo.dev_foos.yaml");
        text.contains("maximum: 4").then_some(())
    });
    eventually("the operator started a third time", PATIENCE, || {
        let starts = dev.log().matches("starting the operator").count();
        if starts == 3 { Ok(()) } else { Err(starts) }
    });
    let refused = json!({ "spec": { "replicas": 5 } });
    let refused = foos
        .patch("example-foo", &PatchParams::default(), &Patch::Merge(&refused))
        .await;
    assert!(refused.is_err(), "the API server has the new schema");

    let ended = dev
        .terminate(Duration::from_secs(30))
        .expect("it ends")
        .expect("in time");
    assert!(ended.success(), "{ended}: {}", dev.log_tail());
    assert!(!runs("debug/devloop"), "no operator is left");
}

/// A user's cluster is one of a kubeconfig's contexts: here an API server that is not dev's own.
#[tokio::test(flavor = "multi_thread")]
async fn dev_uses_the_cluster_of_a_context() {
    let server = kubewright_apiserver::ApiServer::start()
        .await
        .expect("an API server");
    let project = Project::scaffold("devcluster", "Foo", &[]);
    let theirs = project.root().join("target/their.kubeconfig");
    std::fs::create_dir_all(project.root().join("target")).expect("a folder");
    server.write_kubeconfig(&theirs).expect("written");
    let mut dev = Project::command(project.root(), &["dev", "--cluster", "kubewright"])
        .env("KUBECONFIG", &theirs)
        .start()
        .expect("it starts");
    wait_for(&dev, "objects | Event Normal Created Foo/example-foo");
    wait_for(&dev, "objects | Deployment default/example-foo: created");
    assert!(
        !dev.log().contains("KUBECONFIG="),
        "people have a kubeconfig of their own"
    );
    let ended = dev
        .terminate(Duration::from_secs(30))
        .expect("it ends")
        .expect("in time");
    assert!(ended.success(), "{ended}: {}", dev.log_tail());
    // The cluster is the user's: nothing was simulated, nothing is swept away, and the operator was nobody but its account.
    let foos = foos(&theirs.to_string_lossy()).await;
    foos.get("example-foo").await.expect("the sample is still there");
    let account = "system:serviceaccount:devcluster-system:devcluster";
    let requests = server.audit().records();
    assert!(
        requests
            .iter()
            .any(|record| record.user == account && record.resource == "foos")
    );
    assert!(
        requests.iter().all(|record| record.resource != "nodes"),
        "no node was made"
    );
    assert!(
        requests
            .iter()
            .all(|record| record.user != account || record.code != 403),
        "its Role is enough"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_needs_a_project_and_a_cluster_that_is_there() {
    let project = Project::scaffold("devnowhere", "Foo", &[]);
    let outcome = project
        .kubewright(&["dev", "--cluster", "no-such-context"])
        .expect_failure();
    assert_eq!(outcome.code, 13, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("no-such-context") && outcome.stderr.contains("kubectl config get-contexts"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn new_goes_on_with_dev_in_the_new_project() {
    let folder = tempfile::tempdir().expect("a folder");
    // No cargo, so that nothing is built: dev says so, and waits.
    let mut dev = Project::command(
        folder.path(),
        &["new", "devnew", "--kind", "Foo", "--group", "demo.dev", "--dev"],
    )
    .env("CARGO", folder.path().join("no-cargo"))
    .start()
    .expect("it starts");
    wait_for(&dev, "created devnew with");
    wait_for(&dev, "error: cannot run");
    wait_for(&dev, "waiting for the next change");
    let kubeconfig = kubeconfig(&dev);
    assert!(
        kubeconfig.ends_with("devnew/target/kubewright/kubeconfig"),
        "{kubeconfig}"
    );
    let ended = dev
        .terminate(Duration::from_secs(30))
        .expect("it ends")
        .expect("in time");
    assert!(ended.success(), "{ended}: {}", dev.log_tail());
}

#[track_caller]
fn wait_for(dev: &ChildProcess, text: &str) {
    eventually(&format!("{text:?} from dev"), PATIENCE, || {
        let log = dev.log();
        if log.contains(text) { Ok(()) } else { Err(log) }
    });
}

/// The path of the kubeconfig that was printed.
fn kubeconfig(dev: &ChildProcess) -> String {
    let log = dev.log();
    let path = log.lines().find_map(|line| line.strip_prefix("KUBECONFIG="));
    path.expect("the kubeconfig's path").to_owned()
}

/// The kind's API, by that kubeconfig.
async fn foos(kubeconfig: &str) -> Api<DynamicObject> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a configuration");
    let client = Client::try_from(config).expect("a client");
    let kind = GroupVersionKind::gvk("demo.dev", "v1alpha1", "Foo");
    Api::namespaced_with(client, "default", &ApiResource::from_gvk(&kind))
}

/// Whether a program whose path ends so runs, where the system says it.
fn runs(program: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| std::fs::read_link(process.path().join("exe")).ok())
        .any(|executable| executable.ends_with(Path::new(program)))
}
