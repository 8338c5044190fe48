//! `kubewright rename kind` and `kubewright rename group`.

use crate::support::Sandbox;
use kubewright_cli::exit;

/// Runs two commands: every file is as before, and the first command is repeated with the same result.
#[track_caller]
fn there_and_back(project: &Sandbox, [there, back]: [&str; 2]) {
    let before = project.files();
    project.kubewright(there).expect(0);
    let renamed = project.files();
    assert_ne!(renamed, before);
    project
        .kubewright(there)
        .expect(0)
        .stderr_contains("nothing to do");
    assert_eq!(project.files(), renamed);
    project.kubewright(back).expect(0);
    let after = project.files();
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    for file in before.keys() {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&after[file]), text(&before[file]), "{file} after {there}");
    }
    project.kubewright(there).expect(0);
    assert_eq!(project.files(), renamed);
    project.kubewright(back).expect(0);
}

/// A project with everything that commands add for a kind.
fn project() -> Sandbox {
    let project = Sandbox::project().with_rustfmt();
    for command in [
        "add kind BackupPlan",
        "add webhook BackupPlan --validating --defaulting",
        "add version BackupPlan v1",
        "add controller Node --owns BackupPlan",
    ] {
        project.kubewright(command).expect(0);
    }
    project
}

#[test]
fn renaming_there_and_back_changes_nothing() {
    let project = project();
    there_and_back(
        &project,
        [
            "rename kind BackupPlan Zone --allow-dirty",
            "rename kind Zone BackupPlan --allow-dirty",
        ],
    );
    there_and_back(
        &project,
        [
            "rename kind Foo ArchiveOfThings --allow-dirty",
            "rename kind ArchiveOfThings Foo --allow-dirty",
        ],
    );
    there_and_back(
        &project,
        [
            "rename group demo.dev zones.example.com --allow-dirty",
            "rename group zones.example.com demo.dev --allow-dirty",
        ],
    );
}

/// A renamed kind is what `new` writes for a kind of this name, but for the text of its sample.
#[test]
fn renamed_scaffold_is_that_of_the_new_name() {
    for (new, arguments) in [("Gizmo", ""), ("DNSRecord", " --cluster-scoped")] {
        let renamed = Sandbox::new().with_rustfmt();
        let written = Sandbox::new().with_rustfmt();
        let create =
            |kind| format!("new shop --kind {kind} --group demo.dev --kubewright-version 0.1.0{arguments}");
        renamed.kubewright(&create("Foo")).expect(0);
        written.kubewright(&create(new)).expect(0);
        let renamed = renamed.in_folder("shop");
        renamed
            .kubewright(&format!("rename kind Foo {new} --allow-dirty"))
            .expect(0);
        let expected = written.in_folder("shop").files();
        let found = renamed.files();
        let is_code = |file: &&String| file.starts_with("src/") || file.starts_with("tests/");
        for file in expected.keys().filter(is_code) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(
                found.get(file).map(|found| text(found)),
                Some(text(&expected[file])),
                "{file}"
            );
        }
        let sample = renamed.read(&format!(
            "manifests/samples/{}.yaml",
            if new == "Gizmo" { "gizmo" } else { "dns_record" }
        ));
        assert!(sample.contains(&format!("kind: {new}\n")), "{sample}");
    }
}

#[test]
fn steps_for_clusters_and_places_that_are_not_changed_are_printed() {
    let project = Sandbox::project();
    project.write("README.md", "# shop\n\nIt keeps a Foo.\n");
    project.edit(
        "src/main.rs",
        "    Manager::from_args",
        "    // Starts with foos.\n    Manager::from_args",
    );
    project
        .kubewright("rename kind Foo Bar --allow-dirty")
        .expect(0)
        .stderr_contains("these name Foo and are not changed:\nREADME.md:3\nCargo.toml:23\nsrc/main.rs:9\n")
        .stderr_contains("delete src/api/foo.rs: renamed to src/api/bar.rs")
        .stderr_contains("kubectl delete foos.demo.dev -A --all --cascade=orphan")
        .stderr_contains("kubectl delete crd foos.demo.dev");
    project
        .kubewright("rename group demo.dev net.demo.dev --allow-dirty")
        .expect(0)
        .stderr_contains("update kubewright.toml")
        .stderr_contains("kubectl delete crd bars.demo.dev");
    assert!(
        project
            .read("kubewright.toml")
            .contains("\ngroup = \"net.demo.dev\"\n")
    );
    assert!(
        project
            .read("manifests/samples/bar.yaml")
            .starts_with("apiVersion: net.demo.dev/v1alpha1\nkind: Bar\n")
    );
}

#[test]
fn names_of_fields_stay() {
    let project = Sandbox::project();
    let field = "    pub replicas: i32,\n";
    project.edit(
        "src/api/foo.rs",
        field,
        &format!("{field}    /// Foos.\n    pub foo_count: i32,\n"),
    );
    project.edit(
        "src/controllers/foo.rs",
        "let name = key",
        "let foo_copy = foo.spec.foo_count;\n        let name = key",
    );
    project.kubewright("rename kind Foo Bar --allow-dirty").expect(0);
    assert!(
        project
            .read("src/api/bar.rs")
            .contains("    pub foo_count: i32,\n")
    );
    assert!(
        project
            .read("src/controllers/bar.rs")
            .contains("let bar_copy = bar.spec.foo_count;")
    );
}

#[test]
fn refusals_write_nothing() {
    let project = Sandbox::project();
    project.kubewright("add kind Other --group other.dev").expect(0);
    project.write(
        "src/extra.rs",
        "pub fn f(_: crate::api::foo::Foo) {\n    struct Bar;\n}\n",
    );
    project.write("tests/groups.rs", "const A: &str = \"taken.dev/v1\";\n");
    project.write("tests/used.rs", "fn f() {}\n");
    let before = project.files();
    for (arguments, expected) in [
        (
            "kind Foo Bar",
            "Bar is in use, so the renaming could not be undone:\nsrc/extra.rs:2\n",
        ),
        ("kind Foo Other", "kind Other already exists in src/api/other.rs"),
        ("kind Foo foo", "a kind has 1 to 50 characters"),
        ("kind Missing Bar", "Missing"),
        ("kind Foo Used", "tests/used.rs already exists"),
        ("group demo.dev k8s.io", "groups under `k8s.io` are protected"),
        (
            "group missing.dev new.dev",
            "no kind of the project has the group missing.dev: its groups are demo.dev, other.dev",
        ),
        ("group demo.dev other.dev", "other.dev is in use"),
        ("group demo.dev taken.dev", "tests/groups.rs:1"),
    ] {
        project
            .kubewright(&format!("rename {arguments}"))
            .expect(exit::USAGE)
            .stderr_contains(expected);
    }
    assert_eq!(project.files(), before);
}

#[test]
fn uncommitted_changes_are_not_overwritten() {
    let project = Sandbox::project();
    project.git(&["init", "-q"]);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "start"]);
    project.edit("src/api/foo.rs", "The desired state.", "The wanted state.");
    project
        .kubewright("rename kind Foo Bar")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("src/api/foo.rs");
    project
        .kubewright("rename kind Foo Bar --allow-dirty --dry-run")
        .expect(0);
    project.kubewright("rename kind Foo Bar --allow-dirty").expect(0);
    assert!(project.read("src/api/bar.rs").contains("The wanted state."));
}

#[test]
fn only_names_of_the_group_change() {
    let project = Sandbox::project();
    for command in [
        "add kind DNSPolicy --cluster-scoped --group net.demo.dev",
        "add webhook DNSPolicy --defaulting",
        "add webhook Pod --validating --defaulting",
    ] {
        project.kubewright(command).expect(0);
    }
    let texts = "const A: [&str; 4] = [\n    \"demo.dev/cleanup\",\n    \"foos.demo.dev\",\n    \"demo.dev/v1alpha1\",\n    \
                 \"foo.demo.dev\",\n];\n";
    project.write("src/names.rs", texts);
    project.write(
        "docs/guide.md",
        "# Guide\n\nA Foo of demo.dev, and net.demo.dev.\n",
    );
    project.write(
        "manifests/extra/foo.yaml",
        "apiVersion: demo.dev/v1alpha1\nkind: Foo\n",
    );
    let others = [
        "src/api/dns_policy.rs",
        "tests/dns_policy_webhook.rs",
        "src/webhooks/pod.rs",
    ];
    let before = others.map(|file| project.read(file));
    let pod = before[2]
        .lines()
        .position(|line| line.contains("demo.dev/team"))
        .unwrap()
        + 1;
    project
        .kubewright("rename group demo.dev shop.example --allow-dirty")
        .expect(0)
        .stderr_contains("src/names.rs:2\nsrc/names.rs:5\n")
        .stderr_contains(&format!("src/webhooks/pod.rs:{pod}\n"))
        .stderr_contains("docs/guide.md:3\n")
        .stderr_contains("manifests/extra/foo.yaml:1\n");
    assert_eq!(others.map(|file| project.read(file)), before);
    let renamed = project.read("src/names.rs");
    assert_eq!(
        renamed,
        texts
            .replace("foos.demo.dev", "foos.shop.example")
            .replace("demo.dev/v1alpha1", "shop.example/v1alpha1")
    );
}

/// A scaffold of a kind with the name of a field, a module, or another type: only its own names change, and no change is left out.
#[test]
fn names_of_other_types_stay() {
    for (old, new) in [
        ("Image", "Picture"),
        ("Host", "Machine"),
        ("Node", "Machine"),
        ("Secret", "Hidden"),
        ("Volume", "Disk"),
        ("Worker", "Agent"),
        ("Template", "Form"),
        ("Job", "Task"),
    ] {
        let renamed = Sandbox::new().with_rustfmt();
        let written = Sandbox::new().with_rustfmt();
        for (project, kind) in [(&renamed, old), (&written, new)] {
            project
                .kubewright(&format!(
                    "new shop --kind {kind} --group demo.dev --kubewright-version 0.1.0"
                ))
                .expect(0);
        }
        let (renamed, written) = (renamed.in_folder("shop"), written.in_folder("shop"));
        renamed
            .kubewright(&format!("rename kind {old} {new} --allow-dirty"))
            .expect(0);
        let expected = written.files();
        let is_code = |file: &&String| file.starts_with("src/") || file.starts_with("tests/");
        for file in expected.keys().filter(is_code) {
            let text = String::from_utf8_lossy(&expected[file]).into_owned();
            // A plural that Kubernetes has needs the group: the comment keeps it.
            let found = renamed.read(file).replace(".demo.dev`. Run", "`. Run");
            assert_eq!(found, text, "{file} of {new}");
        }
    }
}

#[test]
fn fields_and_types_of_other_crates_stay() {
    let project = Sandbox::project();
    project.kubewright("add kind Job").expect(0);
    let foreign = "\nuse k8s_openapi::api::batch::v1 as batch;\nuse k8s_openapi::api::batch::v1::{Job as BatchJob, JobSpec as BatchSpec};\n\n\
                   fn other(spec: batch::JobSpec, job: &Job) -> (k8s_openapi::api::batch::v1::Job, BatchJob) {\n    \
                   let job_name = job.metadata.name.clone();\n    \
                   let k8s_openapi::api::batch::v1::JobSpec { template, .. } = spec;\n    \
                   let list = Other { job_name, jobs: 1, job_image: job.spec.job_image };\n    \
                   status.jobs.len() + informers.jobs().len() + pool.jobs(2)\n}\n";
    let text = project.read("src/controllers/job.rs") + foreign;
    project.write("src/controllers/job.rs", &text);
    project.write(
        "src/extra.rs",
        "use k8s_openapi::api::batch::v1::Job;\n\npub fn f(_: Job, _: crate::api::job::Job) {}\n",
    );
    project
        .kubewright("rename kind Job Task --allow-dirty")
        .expect(0)
        .stderr_contains("src/controllers/task.rs:")
        .stderr_contains("src/extra.rs:1\nsrc/extra.rs:3\n");
    let expected = "\nuse k8s_openapi::api::batch::v1 as batch;\nuse k8s_openapi::api::batch::v1::{Job as BatchJob, JobSpec as BatchSpec};\n\n\
                   fn other(spec: batch::JobSpec, task: &Task) -> (k8s_openapi::api::batch::v1::Job, BatchJob) {\n    \
                   let job_name = task.metadata.name.clone();\n    \
                   let k8s_openapi::api::batch::v1::JobSpec { template, .. } = spec;\n    \
                   let list = Other { job_name, jobs: 1, job_image: task.spec.job_image };\n    \
                   status.jobs.len() + informers.tasks().len() + pool.jobs(2)\n}\n";
    let found = project.read("src/controllers/task.rs");
    assert!(found.ends_with(expected), "{found}");
    assert_eq!(
        project.read("src/extra.rs"),
        "use k8s_openapi::api::batch::v1::Job;\n\npub fn f(_: Job, _: crate::api::task::Task) {}\n"
    );
}

#[test]
fn imported_kinds_of_the_same_name_stay() {
    let project = Sandbox::project();
    project.kubewright("add kind Thing").expect(0);
    project.write(
        "thing.yaml",
        &crate::import::definition("integer").replace("demo.dev", "other.dev"),
    );
    project.kubewright("import thing.yaml").expect(0);
    let imported = "src/api/imported/other_dev/thing.rs";
    let before = project.read(imported);
    let text = "use crate::api::imported::other_dev::thing::{self, Thing};\n\npub fn f(_: &Thing, _: thing::Thing) {}\n";
    project.write("src/extra.rs", text);
    project
        .kubewright("rename kind Thing Gadget --allow-dirty")
        .expect(0);
    assert_eq!(project.read(imported), before);
    assert_eq!(project.read("src/extra.rs"), text);
    assert!(
        project
            .read("src/api/imported/other_dev/mod.rs")
            .contains("pub mod thing;")
    );
    assert!(project.read("src/api/mod.rs").contains("pub mod gadget;"));
}

/// The new operator refuses objects that have no owner of the new kind.
#[test]
fn steps_for_clusters_replace_owners() {
    let project = Sandbox::new();
    project
        .kubewright("new shop --kind Foo --group demo.dev --kubewright-version 0.1.0")
        .expect(0);
    let project = project.in_folder("shop");
    project.kubewright("package helm").expect(0);
    let kind = project.kubewright("rename kind Foo Bar --allow-dirty").expect(0);
    let owner_step = "  kubectl get deployments.apps -A -o json | jq -c --slurpfile new <(kubectl get bars.demo.dev -A -o json) '";
    kind.stderr_contains("documentation of Foo\n  kubewright package helm\n\nclusters")
        .stderr_contains(owner_step)
        .stderr_contains(".kind == \"Foo\" and (.apiVersion | startswith(\"demo.dev/\"))")
        .stderr_contains("{apiVersion: \"demo.dev/v1alpha1\", kind: $copy.kind, uid: $copy.metadata.uid}")
        .stderr_contains("' | kubectl replace -f -  # the copies own what the old objects own\n  kubectl delete foos.demo.dev -A");
    let group = project
        .kubewright("rename group demo.dev new.dev --allow-dirty")
        .expect(0);
    group
        .stderr_contains("<(kubectl get bars.new.dev -A -o json)")
        .stderr_contains(".kind == \"Bar\" and (.apiVersion | startswith(\"demo.dev/\"))");
}
