//! `kubewright dev`: from the scaffold to a reconciled sample, live; an edit; a mistake; the end. Without a cluster.

use std::{path::Path, process::Command, time::Duration};

use kube::{
    Api, Client, Config,
    api::{DynamicObject, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use kubewright_testkit::{ChildProcess, Cluster, eventually};
use kubewright_tests::{Project, named, on_both_servers};
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

    // A crash is said, and mended by a new start.
    signal("KILL", &runs("debug/devloop"));
    wait_for(
        &dev,
        "the operator ended (signal: 9 (SIGKILL)); it starts again in 1s, or at the next change",
    );
    wait_for(&dev, "starting the operator again");
    let scaled = json!({ "spec": { "replicas": 4 } });
    foos.patch("example-foo", &PatchParams::default(), &Patch::Merge(&scaled))
        .await
        .expect("scaled");
    wait_for(&dev, "status.availableReplicas 3 → 4");

    // Another kind comes and goes; its objects go with it.
    project.kubewright(&["add", "kind", "Bar"]).expect_success();
    wait_for(&dev, "objects | Bar default/example-bar: created");
    remove_bar(&project);
    wait_for(&dev, "Bar is no longer a kind of the project");
    wait_for(&dev, "objects | Bar default/example-bar: deleted");

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
    assert_eq!(runs("debug/devloop"), [0; 0], "no operator is left");
}

#[test]
fn an_operator_ends_with_a_dev_that_is_killed() {
    let project = Project::scaffold("devkilled", "Foo", &[]);
    let mut dev = project.dev(&[]);
    wait_for(&dev, "kubewright::controller::runner: starting workers");
    assert_eq!(runs("debug/devkilled").len(), 1);
    // Dev alone: not its group, whose members it could not tell either.
    signal("KILL", &[dev.pid()]);
    eventually("no operator is left", PATIENCE, || {
        runs("debug/devkilled").is_empty()
    });
    dev.kill().expect("it is gone");
}

on_both_servers!(dev_uses_the_cluster_of_a_context);

/// A user's cluster is one of a kubeconfig's contexts: here an API server that is not dev's own.
fn dev_uses_the_cluster_of_a_context(cluster: &Cluster) {
    let project = Project::scaffold("devcluster", "Foo", &[]);
    let mut dev = Project::command(project.root(), &["dev", "--cluster", "testkit"])
        .env("KUBECONFIG", cluster.admin().kubeconfig())
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
    let foo = named("demo.dev/v1alpha1", "Foo", "default", "example-foo");
    assert!(
        cluster.get(&foo).expect("asked").is_some(),
        "the sample is still there"
    );
    let audit = cluster.audit().expect("an audit log");
    let account = "system:serviceaccount:devcluster-system:devcluster";
    assert!(!audit.by_user(account).on("demo.dev", "foos").is_empty());
    assert!(audit.on("", "nodes").writes().is_empty(), "no node was made");
    audit.assert_nothing_forbidden(account);
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

/// As its author would.
fn remove_bar(project: &Project) {
    for file in ["src/api/mod.rs", "src/controllers/mod.rs", "src/main.rs"] {
        let text = project.read(file);
        let lines = text.lines().filter(|line| !line.to_lowercase().contains("bar"));
        let text: Vec<&str> = lines.collect();
        std::fs::write(project.root().join(file), text.join("\n") + "\n").expect("written");
    }
    for file in [
        "src/api/bar.rs",
        "src/controllers/bar.rs",
        "manifests/samples/bar.yaml",
    ] {
        std::fs::remove_file(project.root().join(file)).expect("removed");
    }
}

/// The processes of a program whose path ends so, where the system says it.
fn runs(program: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|process| {
            let executable = std::fs::read_link(process.path().join("exe"));
            executable.is_ok_and(|executable| executable.ends_with(Path::new(program)))
        })
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .collect()
}

fn signal(name: &str, processes: &[u32]) {
    assert!(!processes.is_empty(), "nobody to signal");
    let processes = processes.iter().map(u32::to_string);
    let status = Command::new("kill").args(["-s", name]).args(processes).status();
    assert!(status.expect("kill runs").success());
}
