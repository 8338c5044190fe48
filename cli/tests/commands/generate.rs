//! `kubewright generate`, with an operator that is made up: no compiler runs.

use crate::support::{Sandbox, manifests, manifests_with, spec};
use kubewright_cli::exit;
use serde_json::json;

const CRD: &str = "manifests/crds/demo.dev_foos.yaml";

#[test]
fn writes_all_that_follows_from_the_code_and_then_nothing() {
    let project = Sandbox::project();
    let before = project.files();
    let first = project.kubewright("generate").expect(0);
    let after = project.files();
    let new: Vec<_> = after
        .keys()
        .filter(|name| !before.contains_key(*name))
        .map(String::as_str)
        .collect();
    assert_eq!(
        new,
        [
            "docs/api.md",
            "manifests/Kustomization",
            "manifests/crds/Kustomization",
            "manifests/crds/demo.dev_foos.yaml",
            "manifests/rbac/Kustomization",
            "manifests/rbac/leader_election.yaml",
            "manifests/rbac/role.yaml",
            "manifests/rbac/role_binding.yaml",
            "manifests/rbac/service_account.yaml",
        ]
    );
    assert!(
        first.stderr.contains("create manifests/crds/demo.dev_foos.yaml"),
        "{}",
        first.stderr
    );
    for (name, bytes) in &before {
        assert_eq!(after.get(name), Some(bytes), "{name} was touched");
    }

    let second = project.kubewright("generate").expect(0).says("up to date");
    assert_eq!(second.stdout, "");
    assert_eq!(project.files(), after);
    project.kubewright("generate --check").expect(0);
    project
        .in_folder("src/api")
        .kubewright("generate --check")
        .expect(0);
}

#[test]
fn check_fails_with_a_diff_and_writes_nothing() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let mut changed = spec();
    changed["properties"]["colour"] = json!({"type": "string"});
    project.answers(&manifests_with(&changed));
    let before = project.files();

    let stale = project
        .kubewright("generate --check")
        .expect(exit::STALE)
        .says("2 files are stale: run `kubewright generate`");
    assert!(
        stale.stdout.contains("--- a/manifests/crds/demo.dev_foos.yaml\n"),
        "{}",
        stale.stdout
    );
    assert!(
        stale
            .stdout
            .lines()
            .any(|line| line.starts_with('+') && line.contains("colour:")),
        "{}",
        stale.stdout
    );
    let planned = project.kubewright("generate --dry-run").expect(0);
    assert!(
        planned
            .stdout
            .contains("update manifests/crds/demo.dev_foos.yaml: spec.colour added\n"),
        "{}",
        planned.stdout
    );
    assert_eq!(project.files(), before);

    project.kubewright("generate").expect(0).says("spec.colour added");
    project.kubewright("generate --check").expect(0);
}

#[test]
fn says_what_breaks_whom() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let mut changed = spec();
    changed["properties"]["replicas"]["maximum"] = json!(5);
    project.answers(&manifests_with(&changed));
    project
        .kubewright("generate")
        .expect(0)
        .says("BREAKING spec.replicas: maximum 10 → 5");
}

#[test]
fn an_edited_file_is_refused_with_a_diff_until_it_is_given_up() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    project.edit(CRD, "maximum: 10", "maximum: 100");
    let mut changed = spec();
    changed["properties"]["replicas"]["maximum"] = json!(20);
    project.answers(&manifests_with(&changed));
    let before = project.files();

    for command in ["generate", "generate --check", "generate --dry-run"] {
        let refused = project
            .kubewright(command)
            .expect(exit::EDITED)
            .says("generate --overwrite manifests/crds/demo.dev_foos.yaml");
        assert!(
            refused
                .stderr
                .lines()
                .any(|line| line.starts_with('-') && line.contains("maximum: 100"))
        );
        assert!(
            refused
                .stderr
                .lines()
                .any(|line| line.starts_with('+') && line.contains("maximum: 20"))
        );
        assert_eq!(
            project.files(),
            before,
            "nothing is written, not even what was not edited"
        );
    }
    project
        .kubewright(&format!("generate --overwrite {CRD}"))
        .expect(0);
    assert!(project.read(CRD).contains("maximum: 20"));

    // An edit is refused even when the code did not change; so is a file without our header.
    project.write(CRD, "mine: true\n");
    project.kubewright("generate").expect(exit::EDITED);
    // The path may be relative to where one stands.
    let inside = project.in_folder("manifests");
    inside
        .kubewright("generate --overwrite crds/demo.dev_foos.yaml")
        .expect(0);
}

#[test]
fn other_line_endings_are_no_edit() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    for (name, bytes) in project.files() {
        let text = String::from_utf8(bytes).unwrap();
        project.write(&name, &text.replace('\n', "\r\n"));
    }
    project.kubewright("generate --check").expect(0);
}

#[test]
fn what_belongs_to_a_kind_goes_with_it() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let mut without = manifests();
    without["kinds"] = json!([]);
    project.answers(&without);
    project.write("manifests/crds/mine.yaml", "kind: CustomResourceDefinition\n");

    let edited = project.read(CRD);
    project.write(CRD, &format!("{edited}# mine\n"));
    project
        .kubewright("generate")
        .expect(exit::EDITED)
        .says("demo.dev_foos.yaml was edited");
    project.write(CRD, &edited);
    project
        .kubewright("generate")
        .expect(0)
        .says("delete manifests/crds/demo.dev_foos.yaml: BREAKING its kind is gone");

    let files = project.files();
    let left: Vec<_> = files
        .keys()
        .filter(|name| name.starts_with("manifests/crds/"))
        .collect();
    assert_eq!(left, ["manifests/crds/mine.yaml"]);
    assert!(
        files.contains_key("manifests/samples/foo.yaml"),
        "samples are the user's"
    );
    assert!(!project.read("manifests/Kustomization").contains("crds"));
}

#[test]
fn what_does_not_compile_is_shown_and_nothing_is_written() {
    let project = Sandbox::project();
    let before = project.files();
    project.tool(
        "build",
        "",
        "error[E0412]: cannot find type `i33`\n --> src/api/foo.rs:1:1\n",
        101,
    );
    let failed = project.kubewright("generate").expect(exit::COMPILE);
    assert!(
        failed
            .stderr
            .starts_with("error[E0412]: cannot find type `i33`\n --> src/api/foo.rs:1:1\n"),
        "{}",
        failed.stderr
    );
    assert_eq!(project.files(), before);

    project.compiles();
    project.tool(
        "manifests",
        "",
        "error: kind Foo has a schema that Kubernetes could not take\n",
        1,
    );
    project
        .kubewright("generate")
        .expect(exit::MANIFESTS)
        .says("kind Foo has a schema");
    project.tool("manifests", r#"{"manifestsVersion": 7}"#, "", 0);
    project
        .kubewright("generate")
        .expect(exit::MANIFESTS)
        .says("version 7");
    project.tool("manifests", "Hello, world!\n", "", 0);
    project
        .kubewright("generate")
        .expect(exit::MANIFESTS)
        .says("shop manifests");
    project.tool(
        "metadata",
        "",
        "error: failed to parse manifest at `Cargo.toml`\n",
        101,
    );
    project
        .kubewright("generate")
        .expect(exit::COMPILE)
        .says("failed to parse manifest");
    assert_eq!(project.files(), before);
}

#[test]
fn command_and_library_are_of_one_version() {
    let project = Sandbox::project();
    project.library("0.0.9");
    project
        .kubewright("generate")
        .expect(exit::PROJECT)
        .says("version 0.0.9")
        .says(concat!("version ", env!("CARGO_PKG_VERSION")))
        .says("cargo install kubewright-cli --version 0.0.9");
}

#[test]
fn without_a_readable_project_file_nothing_is_done() {
    Sandbox::new()
        .kubewright("generate")
        .expect(exit::PROJECT)
        .says("kubewright new");
    let project = Sandbox::project();
    project.write("kubewright.toml", "version = 1\nname = shop\n");
    project
        .kubewright("generate")
        .expect(exit::PROJECT)
        .says("damaged")
        .says("line 2");
    project.write("kubewright.toml", "version = 2\n");
    project
        .kubewright("generate")
        .expect(exit::PROJECT)
        .says("cargo install kubewright-cli");
}

#[test]
fn shared_files_merge_or_conflict() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let deploy = "manifests/deploy/operator.yaml";
    // Both sides change, apart from each other: the user the memory, kubewright the namespace.
    project.edit(deploy, "memory: 256Mi", "memory: 1Gi");
    project.edit(
        "kubewright.toml",
        "namespace = \"shop-system\"",
        "namespace = \"prod\"",
    );
    project.kubewright("generate").expect(0);
    let merged = project.read(deploy);
    assert!(
        merged.contains("memory: 1Gi") && merged.contains("  namespace: prod\n"),
        "{merged}"
    );
    assert!(
        project
            .read("manifests/rbac/service_account.yaml")
            .contains("namespace: prod")
    );

    // Both sides change the same line.
    project.edit(deploy, "  namespace: prod\n", "  namespace: mine\n");
    project.edit("kubewright.toml", "namespace = \"prod\"", "namespace = \"stage\"");
    let before = project.files();
    let conflict = project
        .kubewright("generate")
        .expect(exit::CONFLICT)
        .says("generate --keep manifests/deploy/operator.yaml");
    for line in [
        "<<<<<<<",
        "  namespace: mine",
        "  namespace: prod",
        "  namespace: stage",
        ">>>>>>>",
    ] {
        assert!(
            conflict.stderr.lines().any(|found| found.starts_with(line)),
            "{line}: {}",
            conflict.stderr
        );
    }
    assert_eq!(project.files(), before);
    project.kubewright(&format!("generate --keep {deploy}")).expect(0);
    assert!(project.read(deploy).contains("namespace: mine"));
    project.kubewright("generate --check").expect(0);

    // What the user deleted stays deleted, and is no longer deployed.
    std::fs::remove_file(project.cwd.join("Dockerfile")).unwrap();
    std::fs::remove_dir_all(project.cwd.join("manifests/deploy")).unwrap();
    project.kubewright("generate").expect(0);
    let files = project.files();
    assert!(!files.contains_key("Dockerfile") && !files.contains_key(deploy));
    assert!(!project.read("manifests/Kustomization").contains("deploy"));
}

#[test]
fn samples_are_made_once_and_checked_ever_after() {
    let project = Sandbox::project();
    project.write(
        "manifests/samples/foo.yaml",
        "# mine\napiVersion: demo.dev/v1alpha1\nkind: Foo\nmetadata: {name: a}\n\
        spec: {deploymentName: a, replicas: 11, replica: 1}\n---\napiVersion: v1\nkind: ConfigMap\n",
    );
    let sample = project.read("manifests/samples/foo.yaml");
    project
        .kubewright("generate")
        .expect(exit::SAMPLE)
        .says("manifests/samples/foo.yaml: spec.replicas is 11: must be at most 10")
        .says("spec.replica is unknown: did you mean replicas?");
    assert_eq!(project.read("manifests/samples/foo.yaml"), sample);
    project.kubewright("generate --check").expect(exit::SAMPLE);
    project.edit("manifests/samples/foo.yaml", "v1alpha1", "v2");
    project
        .kubewright("generate")
        .expect(exit::SAMPLE)
        .says("v1alpha1: use one of these");
    project.write("manifests/samples/foo.yaml", "a: [\n");
    project
        .kubewright("generate")
        .expect(exit::SAMPLE)
        .says("manifests/samples/foo.yaml is no YAML");

    std::fs::remove_file(project.cwd.join("manifests/samples/foo.yaml")).unwrap();
    project
        .kubewright("generate")
        .expect(0)
        .says("create manifests/samples/foo.yaml");
    let made = project.read("manifests/samples/foo.yaml");
    assert_eq!(
        made,
        "apiVersion: demo.dev/v1alpha1\nkind: Foo\nmetadata:\n  name: example-foo\n  namespace: default\n\
         spec:\n  deploymentName: example\n  replicas: 1\n"
    );
}

#[test]
fn warns_of_what_will_not_go_well() {
    let project = Sandbox::project();
    let mut manifests = manifests_with(
        &json!({"type": "object", "description": "x".repeat(250_000), "properties": spec()["properties"]}),
    );
    manifests["warnings"] = json!(["client of Deployment has All"]);
    manifests["operator"] = json!("store");
    project.answers(&manifests);
    project
        .kubewright("generate")
        .expect(0)
        .says("warning: client of Deployment has All")
        .says("kubectl apply --server-side")
        .says("make them equal");
}

#[test]
fn roles_follow_the_scope() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    assert!(
        project
            .read("manifests/rbac/role.yaml")
            .contains("kind: ClusterRole\n")
    );
    project.edit("kubewright.toml", "scope = \"cluster\"", "scope = \"namespaced\"");
    project.edit("kubewright.toml", "# namespaces = ", "namespaces = ");
    project.kubewright("generate").expect(0);
    let role = project.read("manifests/rbac/role.yaml");
    assert!(
        !role.contains("ClusterRole")
            && role.contains("namespace: team-a\n")
            && role.contains("namespace: team-b\n"),
        "{role}"
    );
    assert!(
        project
            .read("manifests/deploy/operator.yaml")
            .contains("- --watch-namespace=team-a,team-b\n")
    );
}
