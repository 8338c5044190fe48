//! `kubewright generate` after the scaffold: the struct changes, kinds are added, and users edit generated files.

use std::{fs, time::Duration};

use http::{Method, Request, header::ACCEPT};
use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::{DeployedProject, Project, new_object, on_both_servers, read_manifests};
use serde_json::json;

#[path = "regenerate/cluster_steps.rs"]
mod cluster_steps;
#[path = "../../cli/tests/commands/name_forms_project.rs"]
mod name_forms_project;

use cluster_steps::OldKind;

/// The exit code of `generate --check` when generated files are stale.
const STALE: i32 = 1;
/// The exit code of `generate` when a managed file has a merge conflict.
const CONFLICT: i32 = 6;

on_both_servers!(
    struct_change_reaches_the_api_server,
    added_kinds_compile_and_reconcile
);

/// After `rename group` the project compiles, and the printed steps move what a cluster has.
#[test]
#[ignore = "needs a real control plane, and builds one more project: it is part of .ci/nightly"]
fn renamed_group_is_taken_over_on_the_real_server() {
    let cluster = kubewright_tests::real();
    let project = Project::scaffold("moving", "Herb", &[]);
    project.kubewright(&["generate"]).expect_success();
    let renamed = cluster_steps::rename_group(&project);
    project.kubewright(&["generate"]).expect_success();
    project.cargo(&["fmt", "--check"]).expect_success();
    project.test_with_clippy();
    let deployed = DeployedProject::new(cluster, &project, "moving");
    cluster.create_namespace("moving").expect("a namespace");
    cluster_steps::create_old(cluster, &renamed, "moving");
    let operator = deployed.start("only", &[]);
    let plane = cluster.control_plane().expect("a control plane");
    cluster_steps::run(cluster, plane, &renamed, "moving", &|| {
        operator.process.log_tail()
    });
}

/// What is added to a project: the second webhook of the Pods by a command of its own, and a controller of a kind that lost its own.
const ADDED: [&[&str]; 9] = [
    &["kind", "Plant"],
    &["kind", "Tree"],
    &["controller", "Node", "--owns", "Pod", "--owns", "Plant"],
    &["controller", "Rock", "--owns", "Deployment"],
    &["controller", "Event.events.k8s.io"],
    &["webhook", "Plant", "--validating", "--defaulting"],
    &["webhook", "Pod", "--validating"],
    &["webhook", "Pod", "--defaulting"],
    &["kind", "Rock"],
];

fn struct_change_reaches_the_api_server(cluster: &Cluster) {
    let project = Project::scaffold("changing", "Page", &[]);
    project.kubewright(&["generate"]).expect_success();
    let deployed = DeployedProject::new(cluster, &project, "changing");

    // Add a validated field, a printer column and an index.
    project.edit(
        "src/api/page.rs",
        "    /// The desired number of replicas.",
        "    /// The colour of the page.\n    #[schemars(regex(pattern = \"^(red|green)$\"))]\n    #[serde(default = \"colour\")]\n    \
         pub colour: String,\n    /// The desired number of replicas.",
    );
    project.edit(
        "src/api/page.rs",
        "#[informer(index(by_deployment",
        "#[informer(index(by_colour = \"spec.colour\"))]\n#[informer(index(by_deployment",
    );
    project.edit(
        "src/api/page.rs",
        "    printcolumn(name = \"Wanted\"",
        "    printcolumn(name = \"Colour\", type_ = \"string\", json_path = \".spec.colour\"),\n    printcolumn(name = \"Wanted\"",
    );
    let code = project.read("src/api/page.rs") + "\nfn colour() -> String {\n    \"green\".to_owned()\n}\n";
    fs::write(project.root().join("src/api/page.rs"), code).expect("the file is written");

    let before = project.files();
    let stale = project.kubewright(&["generate", "--check"]);
    assert_eq!(stale.code, STALE, "{}{}", stale.stdout, stale.stderr);
    let output = stale.stdout + &stale.stderr;
    assert!(
        output
            .lines()
            .any(|line| line.starts_with('+') && line.contains("Colour")),
        "the output contains no diff: {output}"
    );
    assert_eq!(project.files(), before, "--check wrote files");

    project.kubewright(&["generate"]).expect_success();
    project.kubewright(&["generate", "--check"]).expect_success();
    deployed.apply_folder(&project.root().join("manifests/crds"));

    cluster.create_namespace("changing").expect("a namespace");
    let page = |colour: &str| {
        let mut page = new_object("demo.dev/v1alpha1", "Page", "changing", colour);
        page["spec"] = json!({"deploymentName": colour, "replicas": 1, "colour": colour});
        page
    };
    eventually(
        "the API server enforces the new rule",
        Duration::from_secs(20),
        || match cluster.apply(&page("blue")) {
            Err(rejected) if rejected.to_string().contains("spec.colour") => Ok(()),
            Err(rejected) => Err(rejected.to_string()),
            Ok(accepted) => {
                cluster.delete(&accepted).expect("the object is deleted");
                Err(accepted.to_string())
            }
        },
    );
    cluster.apply(&page("red")).expect("the object is accepted");
    let table = cluster
        .send(
            Request::get("/apis/demo.dev/v1alpha1/namespaces/changing/pages")
                .header(ACCEPT, "application/json;as=Table;v=v1;g=meta.k8s.io")
                .body(vec![])
                .expect("a request"),
        )
        .expect("a table");
    let columns = table["columnDefinitions"].as_array().expect("columns");
    let colour = columns.iter().position(|column| column["name"] == "Colour");
    assert_eq!(
        table["rows"][0]["cells"][colour.expect("the new column")],
        "red",
        "{table}"
    );

    // Samples belong to the user. The old sample is still valid, and a sample that is generated for the changed struct is valid, too.
    assert_samples_are_accepted(cluster, &project);
    fs::remove_dir_all(project.root().join("manifests/samples")).expect("the folder is removed");
    project.kubewright(&["generate"]).expect_success();
    assert_samples_are_accepted(cluster, &project);
}

fn added_kinds_compile_and_reconcile(cluster: &Cluster) {
    let project = Project::scaffold("growing", "Seed", &[]);
    project.kubewright(&["add", "kind", "Rock"]).expect_success();
    for file in ["src/controllers/rock.rs", "tests/rock.rs"] {
        fs::remove_file(project.root().join(file)).expect("the file is removed");
    }
    let add_all = || {
        for arguments in ADDED {
            let command = [&["add"], arguments].concat();
            project.kubewright(&command).expect_success();
        }
    };
    add_all();
    kind_is_removed_without_a_trace(&project);
    parts_are_removed(&project);
    let once = project.files();
    project.kubewright(&["generate"]).expect_success();
    let generated = project.files();
    for (file, text) in &once {
        assert!(
            file.contains("manifests/") || file == "docs/api.md" || generated.get(file) == Some(text),
            "generate changed {file}"
        );
    }
    add_all();
    let again = project.kubewright(&["generate"]).expect_success();
    assert_eq!(
        project.files(),
        generated,
        "a second run changed files: {}",
        again.stderr
    );
    change_versions(&project);
    let renamed = rename_and_import(&project);
    project.cargo(&["fmt", "--check"]).expect_success();
    let tested = project.test_with_clippy().stdout;
    for test in ["conversion_loses_nothing", "v1alpha1_is_converted"] {
        let passed = tested.matches(&format!("test {test} ... ok")).count();
        assert_eq!(passed, 2, "{test}: {tested}");
    }
    for test in ["existing_objects_are_read", "deleted_objects_are_ignored"] {
        let passed = tested.matches(&format!("test {test} ... ok")).count();
        assert_eq!(passed, 4, "{test}: {tested}");
    }
    assert_eq!(
        tested.matches("api_server_calls_the_webhooks ... ok").count(),
        3,
        "{tested}"
    );
    let objects = read_manifests(&project.root().join("manifests/webhooks"));
    let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str()).collect();
    let expected = [
        "MutatingWebhookConfiguration",
        "Secret",
        "Service",
        "ValidatingWebhookConfiguration",
    ];
    assert_eq!(kinds, expected.map(Some));
    assert_eq!(
        objects[0]["webhooks"].as_array().map(Vec::len),
        Some(3),
        "{objects:?}"
    );
    assert!(
        project
            .read("manifests/deploy/operator.yaml")
            .contains("containerPort: 9443")
    );

    // The setting of the certificate reaches the real operator's manifests.
    let with_versions = project.files();
    let setting = ("certificates = \"own\"", "certificates = \"cert-manager\"");
    project.edit("kubewright.toml", setting.0, setting.1);
    project.kubewright(&["generate"]).expect_success();
    for role in ["manifests/rbac/role.yaml", "manifests/rbac/leader_election.yaml"] {
        let text = project.read(role);
        assert!(
            !text.contains("secrets") && !text.contains("webhookconfigurations"),
            "{text}"
        );
    }
    project.edit("kubewright.toml", setting.1, setting.0);
    project.kubewright(&["generate"]).expect_success();
    assert!(project.files() == with_versions, "the settings left traces");

    let deployed = DeployedProject::new(cluster, &project, "growing");
    cluster.create_namespace("growing").expect("a namespace");
    for definition in read_manifests(&project.root().join("manifests/imported")) {
        cluster.install_crd(&definition).expect("the CRD is installed");
    }
    cluster_steps::create_old(cluster, &renamed, "growing");
    let operator = deployed.start("only", &[]);
    // The API server cannot call this operator to convert the third kind.
    for (kind, version) in [("Seed", "v1beta1"), ("Shrub", "v1alpha1")] {
        let name = kind.to_lowercase();
        let mut object = new_object(&format!("demo.dev/{version}"), kind, "growing", &name);
        object["spec"] = json!({"deploymentName": name, "replicas": 1});
        cluster.apply(&object).expect("the object is accepted");
        eventually(&format!("{kind} is reconciled"), Duration::from_mins(1), || {
            let found = cluster
                .get(&object)
                .expect("the request succeeds")
                .unwrap_or_default();
            if found["status"]["observedGeneration"] == 1 {
                Ok(())
            } else {
                Err(found.to_string() + &operator.process.log_tail())
            }
        });
    }
    if let Some(plane) = cluster.control_plane() {
        cluster_steps::run(cluster, plane, &renamed, "growing", &|| {
            operator.process.log_tail()
        });
    }
    drop(operator);
    cluster
        .audit()
        .expect("an audit log")
        .assert_nothing_forbidden(deployed.user());
    cluster_is_read(cluster, &project);
    stored_version_is_not_removed(cluster, &project);
}

/// `remove kind` removes what the other commands wrote.
fn kind_is_removed_without_a_trace(project: &Project) {
    let before = project.files();
    for command in [
        &["add", "kind", "Moss"][..],
        &["add", "webhook", "Moss", "--validating", "--defaulting"],
        &["add", "version", "Moss", "v1"],
        &["remove", "kind", "Moss", "--allow-dirty"],
    ] {
        project.kubewright(command).expect_success();
    }
    assert_eq!(project.files(), before);
}

/// `remove webhook` and `remove controller` invert the commands that add. A kind stays that has no controller, and one of its two webhooks.
fn parts_are_removed(project: &Project) {
    let before = project.files();
    for command in [
        &["add", "controller", "Secret", "--owns", "Pod"][..],
        &["add", "webhook", "Secret", "--validating"],
        &["remove", "webhook", "Secret", "--allow-dirty"],
        &["remove", "controller", "Secret", "--allow-dirty"],
    ] {
        project.kubewright(command).expect_success();
    }
    assert_eq!(project.files(), before);
    for command in [
        &["add", "kind", "Fern"][..],
        &["add", "webhook", "Fern", "--validating", "--defaulting"],
        &["remove", "webhook", "Fern", "--validating", "--allow-dirty"],
        &["remove", "controller", "Fern", "--allow-dirty"],
    ] {
        project.kubewright(command).expect_success();
    }
}

/// Writes code that names the kind Tree in all forms.
fn write_name_forms(project: &Project) {
    fs::create_dir(project.root().join("src/forms")).expect("a new folder");
    for (path, text) in name_forms_project::FILES {
        // Each further test program has to be linked.
        if path.starts_with("src/") {
            fs::write(project.root().join(path), text).expect("the file is written");
        }
    }
    let library = project.read("src/lib.rs") + name_forms_project::LIBRARY;
    fs::write(project.root().join("src/lib.rs"), library).expect("the file is written");
}

/// Adds versions: that of Tree is a copy, and those of Plant differ. Seed's old one is removed again.
fn change_versions(project: &Project) {
    for kind in ["Seed", "Plant", "Tree"] {
        project
            .kubewright(&["add", "version", kind, "v1beta1"])
            .expect_success();
    }
    project
        .kubewright(&["add", "version", "Plant", "v1"])
        .expect_success();
    let field = "    /// The colour of the plant.\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    \
                 pub colour: Option<String>,\n    /// The desired number of replicas.";
    project.edit(
        "src/api/plant/v1.rs",
        "    /// The desired number of replicas.",
        field,
    );
    for version in ["v1alpha1", "v1beta1"] {
        let file = format!("src/api/plant/{version}.rs");
        project.edit(
            &file,
            "super::v1::PlantSpec)",
            "super::v1::PlantSpec, hub_only(colour))",
        );
    }
    project.edit(
        "tests/plant.rs",
        "        replicas: 3,",
        "        colour: None,\n        replicas: 3,",
    );
    project.edit(
        "tests/plant_versions.rs",
        "\"demo.dev/v1beta1\"",
        "\"demo.dev/v1\"",
    );
    project.edit("tests/plant_versions.rs", "\"v1beta1\"", "\"v1\"");

    let early = project
        .kubewright(&["remove", "version", "Seed", "v1alpha1"])
        .expect_failure();
    assert!(
        early.stderr.contains("kubewright migrate storage Seed"),
        "{}",
        early.stderr
    );
    project.edit(
        "src/api/seed/mod.rs",
        ".stored::<v1alpha1::Seed>",
        ".stored::<v1beta1::Seed>",
    );
    project
        .kubewright(&["remove", "version", "Seed", "v1alpha1", "--allow-dirty"])
        .expect_success();

    project.kubewright(&["generate"]).expect_success();
    project.kubewright(&["generate", "--check"]).expect_success();
    let definitions = read_manifests(&project.root().join("manifests/crds"));
    for (plural, versions, is_converted) in [
        ("seeds", &["v1beta1"][..], false),
        ("plants", &["v1", "v1beta1", "v1alpha1"], true),
        ("trees", &["v1beta1", "v1alpha1"], false),
    ] {
        let name = format!("{plural}.demo.dev");
        let definition = definitions
            .iter()
            .find(|found| found["metadata"]["name"] == *name);
        let spec = &definition.expect("a definition")["spec"];
        let all = spec["versions"].as_array().expect("versions");
        let names: Vec<_> = all
            .iter()
            .filter_map(|version| version["name"].as_str())
            .collect();
        assert_eq!(names, versions);
        let deprecated = all.iter().filter(|version| version["deprecated"] == true);
        assert_eq!(deprecated.count(), versions.len() - 1, "{spec}");
        assert_eq!(
            spec["conversion"]["strategy"] == "Webhook",
            is_converted,
            "{spec}"
        );
    }
    assert!(project.read("manifests/Kustomization").contains("- webhooks\n"));
}

/// Renames a kind with two versions, and adds a controller of another project's kind.
fn rename_and_import(project: &Project) -> OldKind {
    write_name_forms(project);
    let renamed = cluster_steps::rename_kind(project);
    let definitions = concat!(env!("CARGO_MANIFEST_DIR"), "/imported/definitions.yaml");
    for command in [
        &["import", definitions, "--kind", "Certificate"][..],
        &["add", "controller", "Certificate", "--owns", "ConfigMap"],
        &["generate"],
        &["generate", "--check"],
    ] {
        project.kubewright(command).expect_success();
    }
    renamed
}

/// Runs a command that reads the cluster. Returns whether it succeeded, and its output.
fn with_cluster(cluster: &Cluster, project: &Project, command: &[&str]) -> (bool, String) {
    let mut running = Project::command(project.root(), command)
        .env("KUBECONFIG", cluster.admin().kubeconfig())
        .start()
        .expect("it starts");
    let ended = running
        .wait(Duration::from_mins(2))
        .expect("it runs")
        .expect("it ends");
    (ended.success(), running.log())
}

/// `import --cluster` and `doctor --cluster`.
fn cluster_is_read(cluster: &Cluster, project: &Project) {
    let name = "certificates.cert-manager.io";
    let import = ["import", "--cluster", "testkit", name];
    // The file, from which the definition was installed, has the same.
    let (succeeded, log) = with_cluster(cluster, project, &import);
    assert!(
        succeeded && log.contains("already imported, nothing to do"),
        "{log}"
    );
    // Another project gets what the file gives.
    let other = Project::scaffold("importing", "Seed", &[]);
    let (succeeded, log) = with_cluster(cluster, &other, &import);
    assert!(
        succeeded && log.contains("kubewright add controller Certificate"),
        "{log}"
    );
    for file in [
        "src/api/imported/cert_manager_io/certificate.rs",
        "src/api/imported/cert_manager_io/mod.rs",
        "src/api/imported/mod.rs",
        "manifests/imported/cert-manager.io_certificates.yaml",
    ] {
        assert_eq!(other.read(file), project.read(file), "{file}");
    }
    let missing = ["import", "--cluster", "testkit", "nothings.demo.dev"];
    let (succeeded, log) = with_cluster(cluster, project, &missing);
    assert!(
        !succeeded && log.contains("the cluster has no definition nothings.demo.dev"),
        "{log}"
    );

    let doctor = ["doctor", "--cluster", "testkit"];
    let (_, healthy) = with_cluster(cluster, project, &doctor);
    let expected = [
        "ok      crds: plants.demo.dev",
        "ok      permissions: growing-system/growing",
    ];
    for line in expected {
        assert!(
            healthy.lines().any(|found| found == line),
            "{line} is not in {healthy}"
        );
    }
    // Without its role the account may do nothing.
    let role = new_object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "growing");
    let role = cluster
        .get(&role)
        .expect("the request succeeds")
        .expect("the role");
    cluster.delete(&role).expect("it is deleted");
    let (succeeded, log) = with_cluster(cluster, project, &doctor);
    assert!(
        !succeeded && log.contains("problem permissions: growing-system/growing may not list, watch"),
        "{log}"
    );
}

/// `remove version --cluster` reads the definition in the cluster.
fn stored_version_is_not_removed(cluster: &Cluster, project: &Project) {
    let remove = |kind: &str, version: &str| {
        let command = [
            "remove",
            "version",
            kind,
            version,
            "--cluster",
            "testkit",
            "--dry-run",
            "--allow-dirty",
        ];
        with_cluster(cluster, project, &command)
    };
    project.edit(
        "src/api/shrub/mod.rs",
        ".stored::<v1alpha1::Shrub>",
        ".stored::<v1beta1::Shrub>",
    );
    let (removed, log) = remove("Shrub", "v1alpha1");
    assert!(
        !removed && log.contains("run `kubewright migrate storage Shrub --cluster testkit` first"),
        "{log}"
    );
    let (removed, log) = remove("Plant", "v1beta1");
    assert!(
        removed && log.contains("delete src/api/plant/v1beta1.rs"),
        "{log}"
    );
}

#[test]
fn edited_files_are_rejected_merged_or_left_alone() {
    let project = Project::scaffold("owned", "Thing", &[]);
    project.kubewright(&["generate"]).expect_success();

    // A generated file that was edited by hand: rejected with a diff, and the error names the command that fixes it.
    let crd = "manifests/crds/demo.dev_things.yaml";
    project.edit(crd, "things", "thingies");
    project.edit(
        "src/api/thing.rs",
        "The desired number of replicas.",
        "The number of replicas.",
    );
    let before = project.files();
    let rejected = project.kubewright(&["generate"]).expect_failure();
    let output = rejected.stdout + &rejected.stderr;
    assert!(
        output.contains(crd) && output.contains("generate --overwrite"),
        "{output}"
    );
    assert!(
        output
            .lines()
            .any(|line| line.starts_with('-') && line.contains("thingies")),
        "the output contains no diff: {output}"
    );
    assert_eq!(
        project.files(),
        before,
        "generate wrote files although it rejected one"
    );
    project
        .kubewright(&["generate", "--overwrite", crd])
        .expect_success();
    assert!(!project.read(crd).contains("thingies"));
    assert!(project.read(crd).contains("The number of replicas."));

    // Files of the user stay byte-identical whatever command runs.
    let is_user_file = |file: &str| {
        ["src/", "tests/", "manifests/samples/"]
            .iter()
            .any(|folder| file.starts_with(folder))
            || ["Cargo.toml", "README.md", ".gitignore", "kubewright.toml"].contains(&file)
    };
    let user_files = |project: &Project| {
        project
            .files()
            .into_iter()
            .filter(|(file, _)| is_user_file(file))
            .collect::<Vec<_>>()
    };
    project.edit("README.md", "# owned", "# mine");
    project.edit("Cargo.toml", "publish = false", "publish = false # never");
    let before = user_files(&project);
    for command in [
        &["generate"][..],
        &["generate", "--check"],
        &["generate", "--dry-run"],
    ] {
        project.kubewright(command).expect_success();
        assert_eq!(user_files(&project), before, "{command:?}");
    }

    // A managed file: this Dockerfile was scaffolded by an older kubewright with an older base image, and the user changed another line.
    // The merge contains both changes.
    let (older, newer) = ("static-debian11", "static-debian12");
    project.edit(".kubewright/base/Dockerfile", newer, older);
    project.edit("Dockerfile", newer, older);
    project.edit("Dockerfile", "FROM rust:", "FROM mirror.example/rust:");
    project.kubewright(&["generate"]).expect_success();
    let merged = project.read("Dockerfile");
    assert!(
        merged.contains(newer) && merged.contains("FROM mirror.example/rust:"),
        "{merged}"
    );
    assert!(project.read(".kubewright/base/Dockerfile").contains(newer));

    // Both sides changed the same line: a conflict. Nothing is written, and the line is shown.
    project.edit(".kubewright/base/Dockerfile", newer, older);
    project.edit("Dockerfile", newer, "my-own-base");
    let before = project.files();
    let rejected = project.kubewright(&["generate"]);
    assert_eq!(rejected.code, CONFLICT, "{}", rejected.stderr);
    let output = rejected.stdout + &rejected.stderr;
    assert!(
        output.contains("Dockerfile") && output.contains("my-own-base") && output.contains(newer),
        "{output}"
    );
    assert_eq!(
        project.files(),
        before,
        "generate wrote files despite the conflict"
    );
    project.edit(".kubewright/base/Dockerfile", older, newer);

    // A type that contains itself: the error names the field, the types, the fix and the place.
    let code = project.read("src/api/thing.rs");
    let field = "    pub replicas: i32,\n";
    let tree = format!("{field}    pub tree: Tree,\n");
    let status = "/// The observed state.";
    let definition = "#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]\npub struct Tree {\n    pub branches: Vec<Tree>,\n}\n\n";
    project.edit("src/api/thing.rs", field, &tree);
    project.edit("src/api/thing.rs", status, &format!("{definition}{status}"));
    let before = project.files();
    let rejected = project.kubewright(&["generate"]).expect_failure();
    let line = code
        .lines()
        .position(|line| line.contains("pub struct ThingSpec"))
        .expect("the struct")
        + 1;
    for expected in [
        "kind Thing (demo.dev/v1alpha1) has a schema that Kubernetes does not accept: spec.tree.branches[]: type Tree contains itself (Tree → \
         Tree), and schemas of custom resources cannot: accept any value in this field with `#[schemars(with = ",
        &format!("help: src/api/thing.rs:{line}: Thing (demo.dev/v1alpha1) is defined here"),
    ] {
        assert!(rejected.stderr.contains(expected), "{}", rejected.stderr);
    }
    assert_eq!(project.files(), before);
    project.edit("src/api/thing.rs", &tree, field);
    project.edit("src/api/thing.rs", definition, "");
    assert_eq!(project.read("src/api/thing.rs"), code);

    // Code that does not compile: the compiler's error is shown, and nothing is written.
    project.edit("src/api/thing.rs", "pub replicas: i32", "pub replicas: i33");
    let before = project.files();
    let rejected = project.kubewright(&["generate"]).expect_failure();
    assert!(
        rejected.stderr.contains("cannot find type `i33`"),
        "{}",
        rejected.stderr
    );
    assert_eq!(project.files(), before);
}

/// Checks with strict field validation that the API server accepts every sample.
fn assert_samples_are_accepted(cluster: &Cluster, project: &Project) {
    for mut sample in read_manifests(&project.root().join("manifests/samples")) {
        sample["metadata"]["namespace"] = "changing".into();
        let name = sample["metadata"]["name"].as_str().expect("a name");
        let path = format!(
            "/apis/demo.dev/v1alpha1/namespaces/changing/pages/{name}?fieldManager=user&fieldValidation=Strict"
        );
        let accepted = cluster.request(
            Method::PATCH,
            &path,
            "application/apply-patch+yaml",
            Some(&sample),
        );
        accepted.unwrap_or_else(|error| panic!("{sample}: {error}"));
    }
}
