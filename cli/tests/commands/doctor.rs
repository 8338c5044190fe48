//! `kubewright doctor`, also with an embedded API server.

use std::{fs, path::Path, process::Command};

use kube::{
    Api, Client,
    api::{DynamicObject, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::GroupVersionKind,
};
use kubewright_apiserver::ApiServer;
use kubewright_cli::{exit, yaml};

use crate::support::{Sandbox, manifests, manifests_with};
use serde_json::{Value, json};

/// A project whose files are up to date.
fn healthy() -> Sandbox {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    project.fake_cargo("--version", "cargo 1.95.0 (f2d3ce0bd 2026-03-21)\n", "", 0);
    project
}

const HEALTHY: &str = "ok      toolchain: cargo 1.95.0
ok      versions: kubewright 0.1.0, kubewright.toml format 1
ok      build: the operator prints its manifests
ok      files: up to date
";

#[test]
fn healthy_project_has_no_findings_and_is_not_changed() {
    let project = healthy();
    let files = project.files();
    let found = project.kubewright("doctor").expect(0);
    assert_eq!((&*found.stdout, &*found.stderr), (HEALTHY, ""));
    assert_eq!(project.files(), files);
}

/// Fails unless doctor finds this problem.
#[track_caller]
fn expect_problem(project: &Sandbox, line: &str) {
    let found = project.kubewright("doctor").expect(exit::STALE);
    assert!(
        found.stdout.lines().any(|found| found == line),
        "{line}\n{}",
        found.stdout
    );
    assert!(found.stderr.ends_with("error: 1 problem\n"), "{}", found.stderr);
}

#[test]
fn wrong_toolchains_are_problems() {
    let project = healthy();
    let set = |text: &str| project.fake_cargo("--version", text, "", 0);
    set("cargo 1.94.1 (x)");
    expect_problem(
        &project,
        "problem toolchain: cargo is 1.94.1, and the project needs 1.95.0: run `rustup update`",
    );
    // An update of the toolchains does not change the pin.
    for (pinned, cargo) in [("1.94.1", "cargo 1.94.1 (x)"), ("1.94", "cargo 1.95.0 (x)")] {
        set(cargo);
        project.edit("rust-toolchain.toml", "\"1.95.0\"", &format!("{pinned:?}"));
        let line = format!(
            "problem toolchain: rust-toolchain.toml selects {pinned}, and the project needs 1.95.0: set `channel = \"1.95.0\"` there"
        );
        expect_problem(&project, &line);
        project.edit("rust-toolchain.toml", &format!("{pinned:?}"), "\"1.95.0\"");
    }
    set("cargo 1.96.0 (x)");
    let line = "problem toolchain: cargo is 1.96.0, and rust-toolchain.toml selects 1.95.0: install rustup, which switches by itself, or unset \
                CARGO and RUSTUP_TOOLCHAIN";
    expect_problem(&project, line);
    project.edit("rust-toolchain.toml", "\"1.95.0\"", "\"stable\"");
    project.kubewright("generate").expect(0);
    assert!(
        project
            .kubewright("doctor")
            .expect(0)
            .stdout
            .starts_with("ok      toolchain: cargo 1.96.0\n")
    );
    project.edit("Cargo.toml", "rust-version = \"1.95\"", "rust-version = \"1.97\"");
    expect_problem(
        &project,
        "problem toolchain: cargo is 1.96.0, and the project needs 1.97.0: run `rustup update`",
    );
}

#[test]
fn another_version_of_the_crate_is_a_problem_and_nothing_is_built() {
    let project = healthy();
    project.set_crate_version("0.0.9");
    project.fake_cargo("build", "", "built\n", 1);
    let found = project.kubewright("doctor --cluster none").expect(exit::STALE);
    let lines: Vec<_> = found.stdout.lines().collect();
    assert!(
        lines[1].starts_with("problem versions: the project uses version 0.0.9 of the kubewright crate"),
        "{lines:?}"
    );
    let skipped =
        "warning cluster: not checked, since the operator prints no manifests: fix the problems above";
    assert_eq!(lines[2..], [skipped]);
    assert!(!found.stderr.contains("built"), "{}", found.stderr);
}

#[test]
fn stale_edited_and_left_over_files_are_reported() {
    let project = healthy();
    let spec = json!({"type": "object", "properties": {"deploymentName": {"type": "string"}, "replicas": {"type": "integer"}}});
    project.set_manifests(&manifests_with(&spec));
    let stale =
        "problem files: stale: docs/api.md, manifests/crds/demo.dev_foos.yaml: run `kubewright generate`";
    expect_problem(&project, stale);
    project.kubewright("generate").expect(0);

    project.edit("manifests/rbac/role.yaml", "list", "get");
    let edited = "problem files: manifests/rbac/role.yaml was edited by hand: move the edit into the code, or run `kubewright generate \
                  --overwrite manifests/rbac/role.yaml`";
    expect_problem(&project, edited);
    project.edit("manifests/rbac/role.yaml", "get", "list");

    let mut none = manifests();
    none["kinds"] = json!([]);
    project.set_manifests(&none);
    let found = project.kubewright("doctor").expect(exit::STALE).stdout;
    let left = "warning files: src/api/foo.rs:";
    assert!(
        found.contains(left) && found.contains("kind Foo is not registered"),
        "{found}"
    );

    project.fake_cargo("build", "", "error[E0425]\n", 1);
    let found = project.kubewright("doctor").expect(exit::STALE);
    assert!(found.stderr.starts_with("error[E0425]"), "{}", found.stderr);
    assert!(
        found
            .stdout
            .contains("problem build: the operator does not compile"),
        "{}",
        found.stdout
    );
}

#[test]
fn packages_that_do_not_match_the_manifests_are_named() {
    let project = healthy();
    let commands = [
        "package install --image a.dev/shop:1",
        "package helm",
        "package bundle",
    ];
    let write = || {
        for command in commands {
            project.kubewright(command).expect(0);
        }
    };
    let found = |code| {
        let stdout = project.kubewright("doctor").expect(code).stdout;
        stdout.strip_prefix(HEALTHY).unwrap().to_owned()
    };
    write();
    let current = "ok      packages: up to date: dist/install.yaml, chart, bundle\n";
    assert_eq!(found(0), current);
    let file = "manifests/deploy/operator.yaml";
    project.edit(file, "path: /readyz", "path: /ready");
    let stale = ["dist/install.yaml", "chart", "bundle"]
        .iter()
        .zip(commands)
        .map(|(path, command)| {
            format!("warning packages: {path} does not match the manifests: run `kubewright {command}`\n")
        });
    assert_eq!(found(0), stale.collect::<String>());
    write();
    assert_eq!(found(0), current);

    project.edit("dist/install.yaml", "/ready", "/mine");
    project.edit("chart/templates/deploy/operator.yaml", "/ready", "/mine");
    project.edit(file, "path: /ready", "path: /readyz");
    let edited = "warning packages: dist/install.yaml was edited by hand: make the edit in the manifests, and run `kubewright package install --image \
                  a.dev/shop:1 --overwrite dist/install.yaml`\n\
                  warning packages: chart/templates/deploy/operator.yaml has a merge conflict: run `kubewright package helm`, which shows it\n\
                  warning packages: bundle does not match the manifests: run `kubewright package bundle`\n";
    assert_eq!(found(0), edited);

    // What `package` did not write is the user's own.
    project.write("dist/install.yaml", "# Mine.\n");
    for folder in ["chart", "bundle"] {
        fs::remove_dir_all(project.cwd.join(".kubewright/base").join(folder)).unwrap();
    }
    assert_eq!(found(0), "");
    project
        .kubewright("package install --overwrite dist/install.yaml")
        .expect(0);
    project.edit(
        "manifests/deploy/Kustomization",
        "images:",
        "namePrefix: x-\nimages:",
    );
    let refused = found(exit::STALE);
    assert!(
        refused.starts_with("problem packages: manifests/deploy/Kustomization:")
            && refused.contains("`namePrefix` is not supported")
            && !refused.contains("nothing was written"),
        "{refused}"
    );
}

/// Runs doctor as a process, whose kubeconfig is that of the server. Returns the lines about the cluster.
fn lines(project: &Sandbox, kubeconfig: &Path) -> (bool, Vec<String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .current_dir(&project.cwd)
        .args(["doctor", "--cluster", "kubewright"])
        .env("KUBECONFIG", kubeconfig)
        .env("CARGO", project.beside("cargo"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text
        .strip_prefix(HEALTHY)
        .unwrap_or_else(|| panic!("{text}\n{output:?}"));
    (
        output.status.success(),
        lines
            .lines()
            .filter(|line| !line.contains(" packages: "))
            .map(str::to_owned)
            .collect(),
    )
}

/// Creates objects with the server's kubeconfig.
async fn create_all(kubeconfig: &Path, objects: Vec<Value>) {
    let config = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
        .await
        .unwrap();
    let client = Client::try_from(config).unwrap();
    for object in objects {
        create(&client, object).await;
    }
}

/// Has a server store Foos in a further version, and then in the first again.
async fn store_in_v2(kubeconfig: &Path) {
    let config = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
        .await
        .unwrap();
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let resource = kube::core::ApiResource::from_gvk(&kind);
    let definitions: Api<DynamicObject> = Api::all_with(Client::try_from(config).unwrap(), &resource);
    for stored in ["v2", "v1"] {
        let mut definition = definitions.get("foos.demo.dev").await.unwrap();
        let versions = definition.data["spec"]["versions"].as_array_mut().unwrap();
        if versions.len() == 1 {
            let mut version = versions[0].clone();
            version["name"] = json!("v2");
            versions.push(version);
        }
        versions[0]["storage"] = json!(stored != "v2");
        versions[1]["storage"] = json!(stored == "v2");
        definitions
            .replace("foos.demo.dev", &PostParams::default(), &definition)
            .await
            .unwrap();
    }
}

async fn create(client: &Client, object: Value) {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let types = object.types.clone().unwrap();
    let (group, version) = types
        .api_version
        .rsplit_once('/')
        .unwrap_or(("", &types.api_version));
    let kind = GroupVersionKind::gvk(group, version, &types.kind);
    let (resource, _) = kube::discovery::pinned_kind(client, &kind).await.unwrap();
    let api = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    api.create(&PostParams::default(), &object).await.unwrap();
}

#[test]
fn missing_permissions_and_other_definitions_in_a_cluster_are_reported() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = runtime.block_on(ApiServer::start()).unwrap();
    let project = healthy();
    let kubeconfig = project.beside("kubeconfig");
    server.write_kubeconfig(&kubeconfig).unwrap();
    let apply = "run `kubectl apply --server-side -k manifests`";

    let (succeeded, found) = lines(&project, &kubeconfig);
    let expected = [
        format!("problem crds: foos.demo.dev is not installed: {apply}"),
        format!("problem permissions: the cluster has no ServiceAccount shop-system/shop: {apply}"),
    ];
    assert_eq!((succeeded, found), (false, expected.to_vec()));

    // The manifests, without a role, and with a field less.
    let install = || {
        project.kubewright("package install").expect(0);
        yaml::read_all(&project.read("dist/install.yaml")).unwrap()
    };
    let mut objects = install();
    objects.retain(|object| object["kind"] != "ClusterRole" || object["metadata"]["name"] != "shop");
    for object in &mut objects {
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
        if let Some(spec) = object.pointer_mut(spec) {
            spec["required"] = json!(["deploymentName"]);
            spec["properties"].as_object_mut().unwrap().remove("replicas");
        }
    }
    runtime.block_on(create_all(&kubeconfig, objects));
    let (succeeded, found) = lines(&project, &kubeconfig);
    let expected = [
        format!(
            "problem crds: foos.demo.dev in the cluster is not that of the code: BREAKING spec.replicas added and required: {apply}"
        ),
        format!(
            "problem permissions: shop-system/shop may not list, watch foos.demo.dev in the whole cluster (informer): {apply}"
        ),
    ];
    assert_eq!((succeeded, found), (false, expected.to_vec()));

    let whole = runtime.block_on(ApiServer::start()).unwrap();
    whole.write_kubeconfig(&kubeconfig).unwrap();
    runtime.block_on(create_all(&kubeconfig, install()));
    let expected = [
        "ok      crds: foos.demo.dev",
        "ok      permissions: shop-system/shop",
    ];
    assert_eq!(
        lines(&project, &kubeconfig),
        (true, expected.map(str::to_owned).to_vec())
    );

    // A version that the code removed, and one that it does not store.
    let mut other = manifests();
    let mut version = other["kinds"][0]["crd"]["spec"]["versions"][0].clone();
    version["name"] = json!("v2");
    version["storage"] = json!(false);
    let versions = other["kinds"][0]["crd"]["spec"]["versions"]
        .as_array_mut()
        .unwrap();
    versions.push(version);
    runtime.block_on(store_in_v2(&kubeconfig));
    let migrate = "run `kubewright migrate storage Foo --cluster kubewright`";
    let stored = "crds: foos.demo.dev may have objects that are stored in v2 (status.storedVersions)";
    assert_eq!(
        lines(&project, &kubeconfig).1[0],
        format!(
            "problem {stored}, which the code does not have: {migrate}; the API server refuses the manifests until then"
        )
    );
    project.set_manifests(&other);
    project.kubewright("generate").expect(0);
    let name = other["kinds"][0]["crd"]["spec"]["versions"][0]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        lines(&project, &kubeconfig).1[0],
        format!("warning {stored}, and the code stores {name}: {migrate} before you remove a version")
    );

    let mut foreign = manifests();
    let certificate = json!({"group": "cert-manager.io", "kind": "Certificate", "plural": "certificates", "namespaced": true, "external": true});
    foreign["kinds"].as_array_mut().unwrap().push(certificate);
    project.set_manifests(&foreign);
    project.kubewright("generate").expect(0);
    let missing =
        "problem crds: certificates.cert-manager.io is not installed: install the project that defines it";
    assert_eq!(lines(&project, &kubeconfig).1[0], missing);

    runtime.block_on(server.stop());
    let (succeeded, found) = lines(&project, &project.beside("missing"));
    assert!(!succeeded && found.len() == 1, "{found:?}");
    assert!(
        found[0].starts_with("problem cluster: cannot use the context \"kubewright\" of your kubeconfig"),
        "{found:?}"
    );
    runtime.block_on(whole.stop());
}
