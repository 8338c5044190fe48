//! `kubewright dev`: from the scaffold to a reconciled sample, live; an edit; a mistake; the end. Without a cluster.

use std::{io::ErrorKind, net::TcpStream, path::Path, process::Command, time::Duration};

use kube::{
    Api, Client, Config,
    api::{DynamicObject, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use kubewright_testkit::{ChildProcess, Cluster, eventually};
use kubewright_tests::{Project, named, on_both_servers};
use serde_json::{Value, json};

/// What cargo calls a build script's program.
const SCRIPT: &str = "build-script-build";
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
    project.edit(controller, "reason} Deployment", "reeson} Deployment");
    wait_for(&dev, "cargo | error[E0425]");
    wait_for(&dev, "error: the operator does not compile");
    project.edit(controller, "reeson} Deployment", "reason} the Deployment");
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
        "the operator exited (signal: 9 (SIGKILL)); restarting in 1s or on the next change",
    );
    wait_for(&dev, "restarting the operator");
    let scaled = json!({ "spec": { "replicas": 4 } });
    foos.patch("example-foo", &PatchParams::default(), &Patch::Merge(&scaled))
        .await
        .expect("scaled");
    wait_for(&dev, "status.availableReplicas 3 → 4");

    // Another kind comes and goes; its objects go with it.
    project.kubewright(&["add", "kind", "Bar"]).expect_success();
    wait_for(&dev, "objects | Bar default/example-bar: created");
    // Only the new Role lets it own for a Bar.
    wait_for(&dev, "objects | Event Normal Created Bar/example-bar");
    remove_bar(&project);
    wait_for(&dev, "Bar was removed from the project");
    wait_for(&dev, "objects | Bar default/example-bar: deleted");

    let refused = json!({ "spec": { "replicas": 5 } });
    let refused = foos
        .patch("example-foo", &PatchParams::default(), &Patch::Merge(&refused))
        .await;
    assert!(refused.is_err(), "the API server has the new schema");

    let address = address(&kubeconfig(&dev)).await;
    assert!(TcpStream::connect(&address).is_ok(), "{address}");
    let ended = dev
        .interrupt(Duration::from_secs(30))
        .expect("it ends")
        .expect("in time");
    assert!(ended.success(), "{ended}: {}", dev.log_tail());
    assert_eq!(runs("debug/devloop"), [0; 0], "no operator is left");
    let refused = TcpStream::connect(&address).expect_err("no API server is left");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

/// How long pods take is told, and that there are none.
#[tokio::test(flavor = "multi_thread")]
async fn dev_simulates_as_it_is_told() {
    let project = Project::scaffold("devpods", "Foo", &[]);
    let mut dev = project.dev(&["--no-simulation"]);
    wait_for(&dev, "objects | Event Normal Created Foo/example-foo");
    // With a simulation the node would be there since before the operator was built.
    let client = client(&kubeconfig(&dev)).await;
    for path in ["/api/v1/nodes", "/api/v1/pods", "/apis/apps/v1/replicasets"] {
        assert_eq!(get(&client, path).await["items"], json!([]), "{path}");
    }
    end(&mut dev);

    let mut dev = project.dev(&["--pod-start", "3000"]);
    wait_for(&dev, "status.availableReplicas 0 → 1, Ready False → True");
    let client = self::client(&kubeconfig(&dev)).await;
    let pods = get(&client, "/api/v1/namespaces/default/pods").await;
    let status = &pods["items"][0]["status"];
    let time = |value: &Value| -> k8s_openapi::jiff::Timestamp {
        let time = value.as_str().and_then(|time| time.parse().ok());
        time.unwrap_or_else(|| panic!("no time: {status}"))
    };
    let started = time(&status["containerStatuses"][0]["state"]["running"]["startedAt"]);
    let seconds = started.as_second() - time(&status["startTime"]).as_second();
    assert!((2..30).contains(&seconds), "{status}");
    end(&mut dev);
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

/// Whatever cargo does by then: here a build script that takes an hour.
#[test]
fn a_build_ends_with_dev_however_that_ends() {
    let project = Project::scaffold("devbuilds", "Foo", &[]);
    let script = "fn main() { std::thread::sleep(std::time::Duration::from_secs(3600)) }\n";
    std::fs::write(project.root().join("build.rs"), script).expect("written");
    let building = || {
        let mut dev = project.dev(&[]);
        eventually("a build script runs", PATIENCE, || {
            let found = builders(&project);
            if found.iter().any(|program| program == SCRIPT) {
                Ok(())
            } else {
                Err(format!("{found:?}: {}", dev.log()))
            }
        });
        assert_eq!(dev.exit_status().expect("a status"), None);
        dev
    };

    let mut dev = building();
    let ended = dev
        .interrupt(Duration::from_secs(30))
        .expect("it ends")
        .expect("in time");
    assert!(ended.success(), "{ended}: {}", dev.log_tail());
    eventually("nothing is built", Duration::from_secs(5), || {
        nobody_builds(&project)
    });

    let mut dev = building();
    signal("KILL", &[dev.pid()]);
    eventually("nothing is built", Duration::from_secs(5), || {
        nobody_builds(&project)
    });
    dev.kill().expect("it is gone");
}

#[test]
fn dev_follows_what_else_is_built_in() {
    let project = Project::scaffold("devparts", "Foo", &[]);
    let write = |path: &str, text: &str| {
        let path = project.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
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
    // What cargo is told, too: this is seen, and is a mistake.
    write(".cargo/config.toml", "[build\n");
    wait_for(&dev, ".cargo/config.toml changed");
    wait_for(&dev, "error: cargo cannot read the project");
    end(&mut dev);
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

    // An edit goes there, too: the new code works on what was there.
    let foo = named("demo.dev/v1alpha1", "Foo", "default", "example-foo");
    project.edit(
        "src/controllers/foo.rs",
        "reason} Deployment",
        "reason} the Deployment",
    );
    wait_for(&dev, "stopping the operator");
    let scaled = json!({ "spec": { "replicas": 3 } });
    cluster.merge_patch(&foo, &scaled).expect("scaled");
    wait_for(&dev, "Updated the Deployment example-foo");

    // What is no longer a kind is the user's to delete.
    project.kubewright(&["add", "kind", "Bar"]).expect_success();
    wait_for(&dev, "objects | Event Normal Created Bar/example-bar");
    remove_bar(&project);
    wait_for(
        &dev,
        "Bar was removed from the project but not from the cluster",
    );
    wait_for(&dev, "`kubectl delete crd bars.demo.dev` deletes its");
    let bar = named("demo.dev/v1alpha1", "Bar", "default", "example-bar");
    assert!(cluster.get(&bar).expect("asked").is_some());
    end(&mut dev);
    // The cluster is the user's: nothing was simulated, nothing is swept away, and the operator was nobody but its account.
    assert!(
        cluster.get(&foo).expect("asked").is_some(),
        "the sample is still there"
    );
    let audit = cluster.audit().expect("an audit log");
    let account = "system:serviceaccount:devcluster-system:devcluster";
    assert!(!audit.by_user(account).on_resource("demo.dev", "foos").is_empty());
    assert!(
        audit.on_resource("", "nodes").writes().is_empty(),
        "no node was made"
    );
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
    end(&mut dev);
}

/// The README's first command: one command, and there is a sample that is ready.
#[test]
fn new_with_dev_ends_in_a_sample_that_is_ready() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dev = Project::command(
        folder.path(),
        &["new", "devfresh", "--kind", "Foo", "--group", "demo.dev", "--dev"],
    )
    .start()
    .expect("it starts");
    wait_for(&dev, "created devfresh with");
    wait_for(
        &dev,
        "objects | Foo default/example-foo: status.availableReplicas 0 → 1, Ready False → True",
    );
    end(&mut dev);
}

/// A dev that is asked to end does so, in good order.
#[track_caller]
fn end(dev: &mut ChildProcess) {
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

/// A client by that kubeconfig.
async fn client(kubeconfig: &str) -> Client {
    Client::try_from(config(kubeconfig).await).expect("a client")
}

/// Where the API server of that kubeconfig listens.
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
    client.request(request).await.expect("an answer")
}

/// The kind's API, by that kubeconfig.
async fn foos(kubeconfig: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("demo.dev", "v1alpha1", "Foo");
    Api::namespaced_with(client(kubeconfig).await, "default", &ApiResource::from_gvk(&kind))
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

fn nobody_builds(project: &Project) -> Result<(), String> {
    let found = builders(project);
    if found.is_empty() {
        Ok(())
    } else {
        Err(format!("{found:?}"))
    }
}

/// What builds the project, where the system says it: cargo, and what that runs in the project's folder.
fn builders(project: &Project) -> Vec<String> {
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
        .filter(|program| matches!(program.as_str(), "cargo" | "rustc" | SCRIPT))
        .collect()
}

fn signal(name: &str, processes: &[u32]) {
    assert!(!processes.is_empty(), "nobody to signal");
    let processes = processes.iter().map(u32::to_string);
    let status = Command::new("kill").args(["-s", name]).args(processes).status();
    assert!(status.expect("kill runs").success());
}
