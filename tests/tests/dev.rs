//! `kubewright dev`: from the scaffold to a reconciled sample, source edits, compile errors, crashes, and shutdown.

use std::{io::ErrorKind, net::TcpStream, path::Path, process::Command, time::Duration};

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{
    Api, Client, Config,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use kubewright_testkit::{ChildProcess, Cluster, Launch, eventually};
use kubewright_tests::{Project, new_object, on_both_servers};
use serde_json::{Value, json};

/// The file name that cargo gives a build script's executable.
const BUILD_SCRIPT: &str = "build-script-build";
/// Longest wait for a line in dev's log: it includes the first build of a scaffold.
const LOG_TIMEOUT: Duration = Duration::from_mins(10);

#[tokio::test(flavor = "multi_thread")]
async fn dev_runs_the_operator_and_restarts_it_on_source_changes() {
    let project = Project::scaffold("devloop", "Foo", &[]);
    let role = project.root().join("manifests/rbac/role.yaml");
    std::fs::remove_file(&role).expect("`new` has generated the role");
    // Samples that cannot be applied, before and after the one that can.
    let add_sample = |name: &str, text: &str| {
        let path = project.root().join("manifests/samples").join(name);
        std::fs::write(path, text).expect("the file is written");
    };
    let gone = "apiVersion: demo.dev/v1alpha1\nkind: Backup\nmetadata: {name: a}\n";
    let foreign = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\n";
    let rejected = "# Too many.\napiVersion: demo.dev/v1alpha1\nkind: Foo\nmetadata:\n  name: large\nspec:\n  deploymentName: large\n  \
                    replicas: 11\n";
    add_sample("backup.yaml", gone);
    add_sample("certificate.yaml", foreign);
    add_sample("large.yaml", rejected);
    let mut dev = project.dev(&[]);

    // The sample is applied, reconciled under the generated Role, and becomes ready on simulated pods.
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
        "without a terminal the output contains escape codes"
    );
    assert!(role.exists(), "dev did not generate the manifests");

    for line in [
        "dev | warning: manifests/samples/backup.yaml:2: kind Backup is gone: delete the sample, or register the kind\n",
        "dev | error: manifests/samples/certificate.yaml:2: the cluster has no kind Certificate in cert-manager.io/v1: install its CRD",
        "dev | warning: manifests/samples/large.yaml:8: spec.replicas is 11: must be at most 10\n",
        "dev | error: manifests/samples/large.yaml:8: cannot apply Foo large: ",
        "dev | waiting for the next change\n",
    ] {
        wait_for(&dev, line);
    }

    // Scale the object as kubectl would.
    let foos = foos(&kubeconfig(&dev)).await;
    let scaled = json!({ "spec": { "replicas": 2 } });
    foos.patch("example-foo", &PatchParams::default(), &Patch::Merge(&scaled))
        .await
        .expect("the Foo is scaled");
    wait_for(&dev, "objects | Foo default/example-foo: spec.replicas 1 → 2");
    wait_for(&dev, "status.availableReplicas 1 → 2");

    // A compile error is shown; the running operator keeps running until the code compiles again.
    let controller = "src/controllers/foo.rs";
    project.edit(controller, "{reason} Deployment", "{raison} Deployment");
    wait_for(&dev, "cargo | error[E0425]");
    wait_for(&dev, "error: the operator does not compile");
    project.edit(controller, "{raison} Deployment", "{reason} the Deployment");
    wait_for(&dev, "stopping the operator");

    // The new code works on the existing objects, and on the changed CRD.
    let scaled = json!({ "spec": { "replicas": 3 } });
    foos.patch("example-foo", &PatchParams::default(), &Patch::Merge(&scaled))
        .await
        .expect("the objects survive the restart");
    wait_for(&dev, "Updated the Deployment example-foo");
    project.edit("src/api/foo.rs", "max = 10", "max = 4");
    eventually("the CRD is regenerated", LOG_TIMEOUT, || {
        let text = project.read("manifests/crds/demo.dev_foos.yaml");
        text.contains("maximum: 4").then_some(())
    });
    eventually("the operator is started a third time", LOG_TIMEOUT, || {
        let starts = dev.log().matches("starting the operator").count();
        if starts == 3 { Ok(()) } else { Err(starts) }
    });

    // A crash is reported, and the operator is restarted.
    signal("KILL", &[running("debug/devloop")]);
    wait_for(
        &dev,
        "the operator exited (signal: 9 (SIGKILL)); restarting in 1s or on the next change",
    );
    wait_for(&dev, "restarting the operator");
    let scaled = json!({ "spec": { "replicas": 4 } });
    foos.patch("example-foo", &PatchParams::default(), &Patch::Merge(&scaled))
        .await
        .expect("the Foo is scaled");
    wait_for(&dev, "status.availableReplicas 3 → 4");

    assert_eq!(
        dev.log().matches("kind Backup is gone").count(),
        1,
        "the warning is repeated: {}",
        dev.log()
    );
    wait_for(&dev, "dev | 2 warnings as before\n");

    // A kind is added and removed again; its objects are deleted with it.
    project.kubewright(&["add", "kind", "Bar"]).expect_success();
    wait_for(&dev, "objects | Bar default/example-bar: created");
    // Only the regenerated Role permits the operator to create a Bar's Deployment.
    wait_for(&dev, "objects | Event Normal Created Bar/example-bar");
    remove_bar(&project);
    wait_for(
        &dev,
        "Bar was removed from the project: deleted its CRD and objects",
    );
    wait_for(&dev, "objects | Bar default/example-bar: deleted");

    let rejected = json!({ "spec": { "replicas": 5 } });
    let rejected = foos
        .patch("example-foo", &PatchParams::default(), &Patch::Merge(&rejected))
        .await;
    assert!(
        rejected.is_err(),
        "the API server validates with an outdated schema"
    );

    // The API server calls the operator's webhooks; dev prints a sample's denial, and removes the configuration with the webhook.
    project.edit(
        controller,
        "        let foos = setup.informers().foos();",
        "        setup.validator::<Foo>(Names);\n        let foos = setup.informers().foos();",
    );
    let validator = r#"
struct Names;

impl kubewright::webhooks::Validator<Foo> for Names {
    async fn create(
        &self,
        foo: &Foo,
        _: &kubewright::webhooks::AdmissionRequest,
    ) -> Result<kubewright::webhooks::Validation, kubewright::webhooks::AdmissionError> {
        let mut validation = kubewright::webhooks::Validation::new();
        if foo.metadata.name.as_deref() == Some("denied") {
            validation.forbidden("metadata.name", "such a name");
        }
        Ok(validation)
    }
}
"#;
    let written = project.read(controller);
    std::fs::write(project.root().join(controller), written + validator).expect("the file is written");
    add_sample(
        "denied.yaml",
        "apiVersion: demo.dev/v1alpha1\nkind: Foo\nmetadata:\n  name: denied\nspec:\n  deploymentName: denied\n  replicas: 1\n",
    );
    wait_for(&dev, "metadata.name: Forbidden: such a name");
    assert!(project.read("manifests/Kustomization").contains("- webhooks\n"));
    let configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let client = client(&kubeconfig(&dev)).await;
    let found = get(&client, configurations).await;
    assert!(
        found["items"][0]["webhooks"][0]["clientConfig"]["caBundle"].is_string(),
        "{found}"
    );
    std::fs::remove_file(project.root().join("manifests/samples/denied.yaml"))
        .expect("the sample is removed");
    project.edit(controller, "        setup.validator::<Foo>(Names);\n", "");
    eventually("the configuration is removed", LOG_TIMEOUT, || {
        (!project.root().join("manifests/webhooks/validating.yaml").exists()).then_some(())
    });
    let removed = async {
        while get(&client, configurations).await["items"] != json!([]) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LOG_TIMEOUT, removed)
        .await
        .expect("dev removes the configuration");

    convert_versions(&project, &dev, &client).await;

    let address = address(&kubeconfig(&dev)).await;
    assert!(TcpStream::connect(&address).is_ok(), "{address}");
    let ended = dev
        .interrupt(Duration::from_secs(30))
        .expect("dev exits")
        .expect("dev exits in time");
    assert!(ended.success(), "{ended}: {}", dev.log_tail());
    assert_eq!(process_ids("debug/devloop"), [0; 0], "the operator still runs");
    let rejected = TcpStream::connect(&address).expect_err("the API server still listens");
    assert_eq!(rejected.kind(), ErrorKind::ConnectionRefused);
}

/// A version with a field more: the API server calls the operator to convert objects.
async fn convert_versions(project: &Project, dev: &ChildProcess, client: &Client) {
    project
        .kubewright(&["add", "version", "Foo", "v1", "--allow-dirty"])
        .expect_success();
    project.edit(
        "src/api/foo/v1.rs",
        "    /// The desired number of replicas.",
        "    /// The color.\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub color: Option<String>,\n    \
         /// The desired number of replicas.",
    );
    // The compiler's error has the rule to add below it.
    wait_for(dev, "dev | help: src/api/foo/v1alpha1.rs:");
    wait_for(
        dev,
        ": add `hub_only(color)` to `#[convert(hub = …)]`, for fields that only the hub has",
    );
    project.edit(
        "src/api/foo/v1alpha1.rs",
        "#[convert(hub = super::v1::FooSpec)]",
        "#[convert(hub = super::v1::FooSpec, hub_only(color))]",
    );
    let path = |version: &str| format!("/apis/demo.dev/{version}/namespaces/default/foos/example-foo");
    let converted = async {
        loop {
            let change = json!({"spec": {"color": "red"}}).to_string();
            let request = http::Request::patch(path("v1"))
                .header("Content-Type", "application/merge-patch+json")
                .body(change.into_bytes())
                .expect("a request");
            match client.request::<Value>(request).await {
                Ok(patched) if patched["spec"]["color"] == "red" => return patched,
                _ => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    };
    let new = tokio::time::timeout(LOG_TIMEOUT, converted).await;
    let new = new.unwrap_or_else(|_| panic!("the operator converts: {}", dev.log_tail()));
    let old = get(client, &path("v1alpha1")).await;
    assert_eq!(old["spec"].get("color"), None, "{old}");
    assert_eq!(old["spec"]["replicas"], new["spec"]["replicas"], "{old}");
    assert_eq!(get(client, &path("v1")).await["spec"]["color"], "red");
}

/// `--no-simulation` creates no pods; `--pod-start` delays them. `--objects` and `--quiet` filter the object log, and the operator gets the
/// flags after `--`.
#[tokio::test(flavor = "multi_thread")]
async fn dev_simulation_and_output_follow_the_flags() {
    let project = Project::scaffold("devpods", "Foo", &[]);
    let mut dev = project.dev(&[
        "--no-simulation",
        "--objects",
        "Event,deploy.apps",
        "--",
        "--log-format=json",
    ]);
    wait_for(&dev, "objects | Event Normal Created Foo/example-foo");
    wait_for(&dev, "objects | Deployment default/example-foo: created");
    wait_for(&dev, "operator | {\"timestamp\":");
    assert!(!dev.log().contains("objects | Foo"), "{}", dev.log());
    // A simulation would have created its node before the operator was built.
    let client = client(&kubeconfig(&dev)).await;
    for path in ["/api/v1/nodes", "/api/v1/pods", "/apis/apps/v1/replicasets"] {
        assert_eq!(get(&client, path).await["items"], json!([]), "{path}");
    }
    // No controller makes service accounts, and pods need none.
    let pod =
        json!({"metadata": {"name": "alone"}, "spec": {"containers": [{"name": "main", "image": "main:1"}]}});
    let pod: Pod = serde_json::from_value(pod).expect("a pod");
    let pods: Api<Pod> = Api::namespaced(client, "default");
    pods.create(&PostParams::default(), &pod)
        .await
        .expect("the pod is created");
    terminate(&mut dev);

    let pod_start = Duration::from_secs(3);
    let mut dev = project.dev(&["--pod-start", &pod_start.as_millis().to_string()]);
    wait_for(&dev, "status.availableReplicas 0 → 1, Ready False → True");
    let client = self::client(&kubeconfig(&dev)).await;
    let pods = get(&client, "/api/v1/namespaces/default/pods").await;
    let status = &pods["items"][0]["status"];
    let time = |value: &Value| -> k8s_openapi::jiff::Timestamp {
        let time = value.as_str().and_then(|time| time.parse().ok());
        time.unwrap_or_else(|| panic!("not a time: {status}"))
    };
    let started = time(&status["containerStatuses"][0]["state"]["running"]["startedAt"]);
    let seconds = started.as_second() - time(&status["startTime"]).as_second();
    assert!((2..30).contains(&seconds), "{status}");

    // The patch in the project's README: the pods of that rollout run and do not become ready.
    let readme = project.read("README.md");
    let (_, patch) = readme.split_once("-n default -p").expect("the command");
    let patch = patch.split('\'').nth(1).expect("the patch");
    let patch: Value = serde_json::from_str(patch).expect("JSON");
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    deployments
        .patch("example-foo", &PatchParams::default(), &Patch::Strategic(&patch))
        .await
        .expect("the Deployment is patched");
    let never_ready = async || {
        let pods = get(&client, "/api/v1/namespaces/default/pods").await;
        let mut pods = pods["items"].as_array().expect("a list").iter();
        pods.find(|pod| pod["metadata"]["annotations"]["simulation.kubewright.dev/never-ready"] == "true")
            .cloned()
            .unwrap_or_default()
    };
    let is_ready = |pod: &Value| {
        let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        conditions
            .find(|condition| condition["type"] == "Ready")
            .map(|ready| ready["status"] == "True")
    };
    let running = async {
        loop {
            let pod = never_ready().await;
            if pod["status"]["phase"] == "Running" {
                return pod;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let running = tokio::time::timeout(LOG_TIMEOUT, running).await;
    let running = running.unwrap_or_else(|_| panic!("the pod runs: {}", dev.log_tail()));
    assert_eq!(is_ready(&running), Some(false), "{running}");
    tokio::time::sleep(pod_start).await;
    let later = never_ready().await;
    assert_eq!(later["metadata"]["uid"], running["metadata"]["uid"], "{later}");
    assert_eq!(later["status"]["phase"], "Running", "{later}");
    assert_eq!(is_ready(&later), Some(false), "{later}");
    let is_unavailable =
        |status: &Value| status["updatedReplicas"] == 1 && status["unavailableReplicas"] == 1;
    wait_for_deployment(&client, is_unavailable).await;
    terminate(&mut dev);

    // All runs append to the same log.
    std::fs::remove_file(project.root().join(".command.log")).expect("the log is removed");
    let mut dev = project.dev(&["--quiet"]);
    wait_for(&dev, "operator | ");
    wait_for(&dev, "applied manifests/samples/foo.yaml");
    let client = self::client(&kubeconfig(&dev)).await;
    wait_until_available(&client).await;
    assert!(!dev.log().contains("objects | "), "{}", dev.log());
    terminate(&mut dev);

    let unknown = project
        .kubewright(&["dev", "--objects", "foos,deploymets"])
        .expect_failure();
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
    assert!(
        unknown.stderr.ends_with(
            "error: nothing called \"deploymets\" is watched: did you mean deployments? --objects may name deployments, events, foos, \
             pods\n"
        ),
        "{}",
        unknown.stderr
    );
}

#[test]
fn operator_exits_when_dev_is_killed() {
    let project = Project::scaffold("devkilled", "Foo", &[]);
    // Leader election is off unless the environment switches it on.
    let dev = Project::command(project.root(), &["dev"]).env("LEADER_ELECT", "true");
    let mut dev = dev.start().expect("dev starts");
    wait_for(&dev, "acquired the leader lease");
    wait_for(&dev, "kubewright::controller::runner: starting workers");
    running("debug/devkilled");
    // A second replica, with the arguments in the project's README.
    let readme = project.read("README.md");
    let arguments = readme
        .lines()
        .find_map(|line| line.trim().strip_prefix("cargo run -- "));
    let second = Launch::new(project.build(), project.root().join(".second.log"))
        .args(arguments.expect("the command").split(' '))
        .env("KUBECONFIG", kubeconfig(&dev));
    let mut second = second.start().expect("it starts");
    wait_for(&second, "standing by");
    terminate(&mut second);
    // Signal only dev, not its process group: the operator must exit without a signal of its own.
    signal("KILL", &[dev.pid()]);
    eventually("the operator exits", LOG_TIMEOUT, || {
        process_ids("debug/devkilled").is_empty()
    });
    dev.kill().expect("dev is reaped");
}

/// The build runs a build script that sleeps for an hour.
#[test]
fn running_build_stops_when_dev_is_interrupted_or_killed() {
    let project = Project::scaffold("devbuilds", "Foo", &[]);
    let script = "fn main() { std::thread::sleep(std::time::Duration::from_secs(3600)) }\n";
    std::fs::write(project.root().join("build.rs"), script).expect("the file is written");
    let start_building = || {
        let mut dev = project.dev(&[]);
        eventually("the build script runs", LOG_TIMEOUT, || {
            let found = build_processes(&project);
            if found.iter().any(|program| program == BUILD_SCRIPT) {
                Ok(())
            } else {
                Err(format!("{found:?}: {}", dev.log()))
            }
        });
        assert_eq!(dev.exit_status().expect("an exit status"), None);
        dev
    };

    let mut dev = start_building();
    let ended = dev
        .interrupt(Duration::from_secs(30))
        .expect("dev exits")
        .expect("dev exits in time");
    assert!(ended.success(), "{ended}: {}", dev.log_tail());
    eventually("all build processes have exited", Duration::from_secs(5), || {
        check_no_build_process(&project)
    });

    let mut dev = start_building();
    signal("KILL", &[dev.pid()]);
    eventually("all build processes have exited", Duration::from_secs(5), || {
        check_no_build_process(&project)
    });
    dev.kill().expect("dev is reaped");
}

#[test]
fn dev_watches_path_dependencies_and_cargo_config() {
    let project = Project::scaffold("devparts", "Foo", &[]);
    let write = |path: &str, text: &str| {
        let path = project.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is created");
        std::fs::write(path, text).expect("the file is written");
    };
    let part = "[package]\nname = \"devpart\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    write("part/Cargo.toml", part);
    write("part/src/lib.rs", "//! A part.\n");
    let dependency = "[dependencies]\ndevpart = { path = \"part\" }";
    project.edit("Cargo.toml", "[dependencies]", dependency);
    let mut dev = project.dev(&[]);
    wait_for(&dev, "starting the operator");

    write("part/src/lib.rs", "//! Another part.\n");
    wait_for(&dev, "part/src/lib.rs changed");
    wait_for(&dev, "stopping the operator");
    // Cargo's configuration is watched too; this one is invalid, so an error is reported.
    write(".cargo/config.toml", "[build\n");
    wait_for(&dev, ".cargo/config.toml changed");
    wait_for(&dev, "error: cargo cannot read the project");
    terminate(&mut dev);
}

on_both_servers!(dev_uses_the_cluster_of_a_context);

/// `--cluster` takes a context of the user's kubeconfig: here an API server that dev did not start.
fn dev_uses_the_cluster_of_a_context(cluster: &Cluster) {
    let project = Project::scaffold("devcluster", "Foo", &[]);
    let mut dev = Project::command(project.root(), &["dev", "--cluster", "testkit"])
        .env("KUBECONFIG", cluster.admin().kubeconfig())
        .start()
        .expect("dev starts");
    wait_for(&dev, "objects | Event Normal Created Foo/example-foo");
    wait_for(&dev, "objects | Deployment default/example-foo: created");
    assert!(
        !dev.log().contains("KUBECONFIG="),
        "dev wrote a kubeconfig although the user has one"
    );

    // After an edit, the new code works on the existing objects.
    let foo = new_object("demo.dev/v1alpha1", "Foo", "default", "example-foo");
    project.edit(
        "src/controllers/foo.rs",
        "{reason} Deployment",
        "{reason} the Deployment",
    );
    wait_for(&dev, "stopping the operator");
    let scaled = json!({ "spec": { "replicas": 3 } });
    cluster.merge_patch(&foo, &scaled).expect("the Foo is scaled");
    wait_for(&dev, "Updated the Deployment example-foo");

    // The CRD of a removed kind stays in the user's cluster; the user must delete it.
    project.kubewright(&["add", "kind", "Bar"]).expect_success();
    wait_for(&dev, "objects | Event Normal Created Bar/example-bar");
    remove_bar(&project);
    wait_for(&dev, "Bar was removed from the project but not from the cluster");
    wait_for(&dev, "run `kubectl delete crd bars.demo.dev` to delete its");
    let bar = new_object("demo.dev/v1alpha1", "Bar", "default", "example-bar");
    assert!(cluster.get(&bar).expect("the request succeeds").is_some());
    terminate(&mut dev);
    // In a user's cluster nothing is simulated and nothing is cleaned up, and the operator used its own service account only.
    assert!(
        cluster.get(&foo).expect("the request succeeds").is_some(),
        "dev deleted the sample"
    );
    let audit = cluster.audit().expect("an audit log");
    let account = "system:serviceaccount:devcluster-system:devcluster";
    assert!(!audit.by_user(account).on_resource("demo.dev", "foos").is_empty());
    assert!(
        audit.on_resource("", "nodes").writes().is_empty(),
        "dev simulated nodes in the user's cluster"
    );
    audit.assert_nothing_forbidden(account);
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_rejects_an_unknown_context() {
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
fn new_with_dev_starts_dev_in_the_new_project() {
    let folder = tempfile::tempdir().expect("a folder");
    let clone = folder.path().join("clone");
    std::fs::create_dir(&clone).expect("a folder");
    // There is no cargo, so nothing is built: dev reports that and waits for changes.
    let mut dev = Project::command(
        &clone,
        &[
            "new",
            "../devnew",
            "--kind",
            "Foo",
            "--group",
            "demo.dev",
            "--dev",
        ],
    )
    .env("CARGO", folder.path().join("no-cargo"))
    .start()
    .expect("dev starts");
    wait_for(&dev, "created ../devnew with");
    wait_for(&dev, "error: cannot run");
    wait_for(&dev, "waiting for the next change");
    let kubeconfig = kubeconfig(&dev);
    assert!(
        kubeconfig.ends_with("/devnew/target/kubewright/kubeconfig") && !kubeconfig.contains(".."),
        "{kubeconfig}"
    );

    // A second session of the project leaves the first one's files alone.
    let read = || std::fs::read_to_string(&kubeconfig).expect("the kubeconfig");
    let before = read();
    let mut second = Project::command(&folder.path().join("devnew"), &["dev"])
        .env("CARGO", folder.path().join("no-cargo"))
        .start()
        .expect("dev starts");
    wait_for(&second, "waiting for the next change");
    wait_for(
        &second,
        "dev | another `kubewright dev` runs in this project (process ",
    );
    let other = self::kubeconfig(&second);
    assert!(
        other.ends_with("/devnew/target/kubewright/dev-2/kubeconfig"),
        "{other}"
    );
    terminate(&mut second);
    assert_eq!(read(), before);
    terminate(&mut dev);
}

/// The README's first command: one command leads to a ready sample.
#[test]
fn new_with_dev_brings_the_sample_to_ready() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dev = Project::command(
        folder.path(),
        &["new", "devfresh", "--kind", "Foo", "--group", "demo.dev", "--dev"],
    )
    .start()
    .expect("dev starts");
    wait_for(&dev, "created devfresh with");
    wait_for(
        &dev,
        "objects | Foo default/example-foo: status.availableReplicas 0 → 1, Ready False → True",
    );
    terminate(&mut dev);
}

/// Waits until the sample's Deployment is available: by then, its objects have changed.
async fn wait_until_available(client: &Client) {
    wait_for_deployment(client, |status| status["availableReplicas"] == 1).await;
}

/// Waits for a status of the sample's Deployment.
async fn wait_for_deployment(client: &Client, is_expected: impl Fn(&Value) -> bool) {
    let path = "/apis/apps/v1/namespaces/default/deployments";
    let timeout = tokio::time::Instant::now() + LOG_TIMEOUT;
    loop {
        let deployments = get(client, path).await;
        if is_expected(&deployments["items"][0]["status"]) {
            return;
        }
        assert!(tokio::time::Instant::now() < timeout, "{deployments}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Terminates dev with SIGTERM and checks that it exits successfully.
#[track_caller]
fn terminate(dev: &mut ChildProcess) {
    let ended = dev
        .terminate(Duration::from_secs(30))
        .expect("dev exits")
        .expect("dev exits in time");
    assert!(ended.success(), "{ended}: {}", dev.log_tail());
}

#[track_caller]
fn wait_for(dev: &ChildProcess, text: &str) {
    eventually(&format!("{text:?} in dev's log"), LOG_TIMEOUT, || {
        let log = dev.log();
        if log.contains(text) { Ok(()) } else { Err(log) }
    });
}

/// Returns the path of the kubeconfig that dev printed.
fn kubeconfig(dev: &ChildProcess) -> String {
    let log = dev.log();
    let path = log.lines().find_map(|line| line.strip_prefix("KUBECONFIG="));
    path.expect("the kubeconfig's path").to_owned()
}

/// Returns a client for a kubeconfig.
async fn client(kubeconfig: &str) -> Client {
    Client::try_from(config(kubeconfig).await).expect("a client")
}

/// Returns host and port of the API server of a kubeconfig.
async fn address(kubeconfig: &str) -> String {
    let url = config(kubeconfig).await.cluster_url;
    url.authority().expect("an address").to_string()
}

async fn config(kubeconfig: &str) -> Config {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a configuration")
}

async fn get(client: &Client, path: &str) -> Value {
    let request = http::Request::get(path).body(vec![]).expect("a request");
    client.request(request).await.expect("a response")
}

/// Returns the API of Foos in the default namespace, for a kubeconfig.
async fn foos(kubeconfig: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("demo.dev", "v1alpha1", "Foo");
    Api::namespaced_with(client(kubeconfig).await, "default", &ApiResource::from_gvk(&kind))
}

/// Removes the kind Bar from the project, as its author would.
fn remove_bar(project: &Project) {
    for file in ["src/api/mod.rs", "src/controllers/mod.rs", "src/main.rs"] {
        let text = project.read(file);
        let lines = text.lines().filter(|line| !line.to_lowercase().contains("bar"));
        let text: Vec<&str> = lines.collect();
        std::fs::write(project.root().join(file), text.join("\n") + "\n").expect("the file is written");
    }
    for file in [
        "src/api/bar.rs",
        "src/controllers/bar.rs",
        "manifests/samples/bar.yaml",
    ] {
        std::fs::remove_file(project.root().join(file)).expect("the file is removed");
    }
}

/// Returns the ids of the processes whose executable's path ends with `program`, read from `/proc`.
fn process_ids(program: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|process| {
            let executable = std::fs::read_link(process.path().join("exe"));
            executable.is_ok_and(|executable| executable.ends_with(Path::new(program)))
        })
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .collect()
}

/// Waits for the process of the program: dev logs that it starts an operator before it does.
fn running(program: &str) -> u32 {
    eventually(&format!("{program} runs"), LOG_TIMEOUT, || {
        <[u32; 1]>::try_from(process_ids(program))
            .map(|[process]| process)
            .map_err(|processes| format!("{processes:?}"))
    })
}

fn check_no_build_process(project: &Project) -> Result<(), String> {
    let found = build_processes(project);
    if found.is_empty() {
        Ok(())
    } else {
        Err(format!("{found:?}"))
    }
}

/// Returns the names of the processes that build the project, read from `/proc`: cargo, rustc and the build script, with the project's
/// folder as working directory.
fn build_processes(project: &Project) -> Vec<String> {
    let root = project.root().canonicalize().expect("a folder");
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|process| {
            let folder = std::fs::read_link(process.path().join("cwd"));
            folder.is_ok_and(|folder| folder.starts_with(&root))
        })
        .filter_map(|process| {
            let program = std::fs::read_link(process.path().join("exe")).ok()?;
            Some(program.file_name()?.to_string_lossy().into_owned())
        })
        .filter(|program| matches!(program.as_str(), "cargo" | "rustc" | BUILD_SCRIPT))
        .collect()
}

fn signal(name: &str, processes: &[u32]) {
    let processes = processes.iter().map(u32::to_string);
    let status = Command::new("kill").args(["-s", name]).args(processes).status();
    assert!(status.expect("kill runs").success());
}
