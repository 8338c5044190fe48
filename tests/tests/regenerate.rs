//! After the first day: the struct changes, kinds are added, people edit what was generated.

use std::{fs, time::Duration};

use http::{Method, Request, header::ACCEPT};
use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::{Deployed, Project, named, objects, on_both_servers};
use serde_json::json;

/// The exit code of `generate --check` on what is stale.
const STALE: i32 = 1;
/// The exit code of `generate` when a managed file was changed on both sides.
const CONFLICT: i32 = 6;

on_both_servers!(
    changed_struct_reaches_the_api_server,
    added_kinds_compile_and_reconcile
);

fn changed_struct_reaches_the_api_server(cluster: &Cluster) {
    let project = Project::scaffold("changing", "Page", &[]);
    project.kubewright(&["generate"]).expect_success();
    let deployed = Deployed::new(cluster, &project, "changing");

    // A validated field, a printer column and an index.
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
    fs::write(project.root().join("src/api/page.rs"), code).expect("written");

    let before = project.files();
    let stale = project.kubewright(&["generate", "--check"]);
    assert_eq!(stale.code, STALE, "{}{}", stale.stdout, stale.stderr);
    let said = stale.stdout + &stale.stderr;
    assert!(
        said.lines()
            .any(|line| line.starts_with('+') && line.contains("Colour")),
        "a diff: {said}"
    );
    assert_eq!(project.files(), before, "--check writes nothing");

    project.kubewright(&["generate"]).expect_success();
    project.kubewright(&["generate", "--check"]).expect_success();
    deployed.apply_folder(&project.root().join("manifests/crds"));

    cluster.create_namespace("changing").expect("a namespace");
    let page = |colour: &str| {
        let mut page = named("demo.dev/v1alpha1", "Page", "changing", colour);
        page["spec"] = json!({"deploymentName": colour, "replicas": 1, "colour": colour});
        page
    };
    eventually(
        "the new rule is enforced",
        Duration::from_secs(20),
        || match cluster.apply(&page("blue")) {
            Err(refused) if refused.to_string().contains("spec.colour") => Ok(()),
            Err(refused) => Err(refused.to_string()),
            Ok(accepted) => {
                cluster.delete(&accepted).expect("deleted");
                Err(accepted.to_string())
            }
        },
    );
    cluster.apply(&page("red")).expect("accepted");
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

    // Samples are the user's: the old one is still valid; one made anew for the new struct is accepted, too.
    accept_samples(cluster, &project);
    fs::remove_dir_all(project.root().join("manifests/samples")).expect("removed");
    project.kubewright(&["generate"]).expect_success();
    accept_samples(cluster, &project);
}

fn added_kinds_compile_and_reconcile(cluster: &Cluster) {
    let project = Project::scaffold("growing", "Seed", &[]);
    for kind in ["Plant", "Tree"] {
        project.kubewright(&["add", "kind", kind]).expect_success();
    }
    let once = project.files();
    project.kubewright(&["generate"]).expect_success();
    let generated = project.files();
    for (file, text) in &once {
        assert!(
            file.starts_with("manifests/") || generated.get(file) == Some(text),
            "generate touched {file}"
        );
    }
    for kind in ["Plant", "Tree"] {
        project.kubewright(&["add", "kind", kind]).expect_success();
    }
    let again = project.kubewright(&["generate"]).expect_success();
    assert_eq!(
        project.files(),
        generated,
        "a second run changes nothing: {}",
        again.stderr
    );
    project
        .cargo(&["clippy", "--offline", "--all-targets", "--", "-D", "warnings"])
        .expect_success();
    project.cargo(&["fmt", "--check"]).expect_success();
    project.cargo(&["test", "--offline"]).expect_success();

    let deployed = Deployed::new(cluster, &project, "growing");
    cluster.create_namespace("growing").expect("a namespace");
    let operator = deployed.start("only", &[]);
    for kind in ["Seed", "Plant", "Tree"] {
        let name = kind.to_lowercase();
        let mut object = named("demo.dev/v1alpha1", kind, "growing", &name);
        object["spec"] = json!({"deploymentName": name, "replicas": 1});
        cluster.apply(&object).expect("accepted");
        eventually(&format!("{kind} is reconciled"), Duration::from_mins(1), || {
            let found = cluster.get(&object).expect("asked").unwrap_or_default();
            if found["status"]["observedGeneration"] == 1 {
                Ok(())
            } else {
                Err(found.to_string() + &operator.process.log_tail())
            }
        });
    }
    drop(operator);
    cluster
        .audit()
        .expect("an audit log")
        .assert_nothing_forbidden(deployed.user());
}

#[test]
fn edited_files_are_refused_merged_or_left_alone() {
    let project = Project::scaffold("owned", "Thing", &[]);
    project.kubewright(&["generate"]).expect_success();

    // Generated, and edited by hand: refused with a diff, and the mend named.
    let crd = "manifests/crds/demo.dev_things.yaml";
    project.edit(crd, "things", "thingies");
    project.edit(
        "src/api/thing.rs",
        "The desired number of replicas.",
        "The number of replicas.",
    );
    let before = project.files();
    let refused = project.kubewright(&["generate"]).expect_failure();
    let said = refused.stdout + &refused.stderr;
    assert!(
        said.contains(crd) && said.contains("generate --overwrite"),
        "{said}"
    );
    assert!(
        said.lines()
            .any(|line| line.starts_with('-') && line.contains("thingies")),
        "a diff: {said}"
    );
    assert_eq!(project.files(), before, "refused means that nothing is written");
    project
        .kubewright(&["generate", "--overwrite", crd])
        .expect_success();
    assert!(!project.read(crd).contains("thingies"));
    assert!(project.read(crd).contains("The number of replicas."));

    // The user's: byte-identical whatever is run.
    let is_users = |file: &str| {
        ["src/", "tests/", "manifests/samples/"]
            .iter()
            .any(|folder| file.starts_with(folder))
            || ["Cargo.toml", "README.md", ".gitignore", "kubewright.toml"].contains(&file)
    };
    let mine = |project: &Project| {
        project
            .files()
            .into_iter()
            .filter(|(file, _)| is_users(file))
            .collect::<Vec<_>>()
    };
    project.edit("README.md", "# owned", "# mine");
    project.edit("Cargo.toml", "publish = false", "publish = false # never");
    let before = mine(&project);
    for command in [
        &["generate"][..],
        &["generate", "--check"],
        &["generate", "--dry-run"],
    ] {
        project.kubewright(command).expect_success();
        assert_eq!(mine(&project), before, "{command:?}");
    }

    // Managed: this Dockerfile was scaffolded by a kubewright whose base image was older, and its owner changed another
    // line. Both changes are in the result.
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

    // Both changed the same line: nothing is written, and the line is shown.
    project.edit(".kubewright/base/Dockerfile", newer, older);
    project.edit("Dockerfile", newer, "my-own-base");
    let before = project.files();
    let refused = project.kubewright(&["generate"]);
    assert_eq!(refused.code, CONFLICT, "{}", refused.stderr);
    let said = refused.stdout + &refused.stderr;
    assert!(
        said.contains("Dockerfile") && said.contains("my-own-base") && said.contains(newer),
        "{said}"
    );
    assert_eq!(project.files(), before, "a conflict writes nothing");
    project.edit(".kubewright/base/Dockerfile", older, newer);

    // What does not compile: the compiler's own words, nothing written.
    project.edit("src/api/thing.rs", "pub replicas: i32", "pub replicas: i33");
    let before = project.files();
    let refused = project.kubewright(&["generate"]).expect_failure();
    assert!(
        refused.stderr.contains("cannot find type `i33`"),
        "{}",
        refused.stderr
    );
    assert_eq!(project.files(), before);
}

/// Every field of the samples is known, and every value allowed.
fn accept_samples(cluster: &Cluster, project: &Project) {
    for mut sample in objects(&project.root().join("manifests/samples")) {
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
