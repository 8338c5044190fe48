//! `kubewright generate`, with a fake operator: no compiler runs.

use crate::support::{Sandbox, manifests, manifests_with, spec};
use kubewright_cli::exit;
use serde_json::json;

const CRD: &str = "manifests/crds/demo.dev_foos.yaml";

#[test]
fn writes_all_generated_files_and_then_is_idempotent() {
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
            "manifests/rbac/metrics.yaml",
            "manifests/rbac/role.yaml",
            "manifests/rbac/role_binding.yaml",
            "manifests/rbac/service_account.yaml",
            "manifests/rbac/user_roles.yaml",
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

    let second = project
        .kubewright("generate")
        .expect(0)
        .stderr_contains("up to date");
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
    project.set_manifests(&manifests_with(&changed));
    let before = project.files();

    let stale = project
        .kubewright("generate --check")
        .expect(exit::STALE)
        .stderr_contains("2 files are stale: run `kubewright generate`");
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

    project
        .kubewright("generate")
        .expect(0)
        .stderr_contains("spec.colour added");
    project.kubewright("generate --check").expect(0);
}

#[test]
fn breaking_schema_changes_are_marked() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let mut changed = spec();
    changed["properties"]["replicas"]["maximum"] = json!(5);
    project.set_manifests(&manifests_with(&changed));
    project
        .kubewright("generate")
        .expect(0)
        .stderr_contains("BREAKING spec.replicas: maximum 10 → 5");
}

/// A version is added whose fields are stricter: one with the same name, a renamed one, and one that a function converts.
#[test]
fn new_version_is_compared_through_the_conversion() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let mut changed = manifests();
    let kind = &mut changed["kinds"][0];
    kind["conversion"] = json!({"hub": "v1", "rules": {"v1alpha1": [
        {"field": "spec.replicas", "hub": "spec.size"},
        {"field": "spec.deploymentName", "hub": "spec.deploymentName", "function": true},
    ]}});
    let versions = kind["crd"]["spec"]["versions"].as_array_mut().unwrap();
    let mut hub = versions[0].clone();
    hub["name"] = json!("v1");
    hub["storage"] = json!(false);
    hub["additionalPrinterColumns"] = json!([]);
    hub["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({
    "type": "object", "required": ["deploymentName", "size"], "properties": {
        "deploymentName": {"type": "integer"},
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
    }});
    versions.push(hub);
    project.set_manifests(&changed);
    let generated = project.kubewright("generate").expect(0).stderr;
    let change = "BREAKING an object of v1alpha1 may be invalid in v1: spec.size: minimum 0 → 1";
    assert!(generated.contains("version v1 added"), "{generated}");
    assert!(generated.contains(change), "{generated}");
    assert_eq!(generated.matches("BREAKING").count(), 1, "{generated}");
}

/// What the API server would refuse, and what the code has without a value in the API. The errors begin with the file and the line of the type or the
/// field.
#[test]
fn definitions_that_no_api_server_accepts_are_refused() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let mut any_value = spec();
    any_value["properties"]["config"] = json!({});
    let mut bad_column = manifests();
    let columns = "/kinds/0/crd/spec/versions/0/additionalPrinterColumns/0";
    bad_column.pointer_mut(columns).unwrap()["jsonPath"] = json!("spec.replicas");
    let refused_in = |file: &str, item: &str, message: &str| {
        let before = project.files();
        let code = project.read(file);
        let line = code.lines().position(|line| line.contains(item)).unwrap() + 1;
        let message = format!("\n{file}:{line}: {message}");
        for command in ["generate", "generate --check"] {
            project
                .kubewright(command)
                .expect(exit::DEFINITION)
                .stderr_contains(&message);
        }
        assert_eq!(project.files(), before);
    };
    let refused_at = |item: &str, message: &str| refused_in("src/api/foo.rs", item, message);
    let refused = |message: &str| refused_at("pub struct FooSpec", message);
    project.set_manifests(&manifests_with(&any_value));
    refused("Foo (demo.dev/v1alpha1): spec.config: values of any type are not allowed");
    let mut costly_rule = spec();
    costly_rule["properties"]["names"] = json!({"type": "array", "items": {"type": "string"}});
    costly_rule["x-kubernetes-validations"] = json!([{"rule": "self.names.all(x, x.matches('^a+$'))"}]);
    project.set_manifests(&manifests_with(&costly_rule));
    refused(
        "Foo (demo.dev/v1alpha1): spec: the CEL rule `self.names.all(x, x.matches('^a+$'))` may cost more than 100 times what the API server \
         allows: limit spec.names with `#[schemars(length(max = …))]`, spec.names[] with `#[schemars(inner(length(max = …)))]`, or simplify it",
    );
    project.set_manifests(&bad_column);
    refused("Foo (demo.dev): printer column Wanted: JSONPath: Invalid value: \"spec.replicas\"");
    project.set_manifests(&manifests());
    project.edit(
        "src/api/foo.rs",
        "pub replicas: i32,",
        "pub replicas: i32,\n    pub colour: Option<Option<String>>,",
    );
    refused_at(
        "pub colour",
        "field colour of FooSpec is an `Option` in an `Option`",
    );
    project.edit("src/api/foo.rs", "    pub colour: Option<Option<String>>,\n", "");

    // A field of a type of the same file has a place of its own.
    let code = project.read("src/api/foo.rs");
    project.write(
        "src/api/foo.rs",
        &(code.clone() + "\npub struct Rule {\n    pub config: Value,\n}\n"),
    );
    let mut nested = spec();
    nested["properties"]["rule"] = json!({"type": "object", "properties": {"config": {}}});
    let mut manifests = manifests_with(&nested);
    manifests["kinds"][0]["rustTypes"] = json!({"v1alpha1": {"spec": "FooSpec", "spec.rule": "Rule"}});
    project.set_manifests(&manifests);
    let message = "Foo (demo.dev/v1alpha1): spec.rule.config of Rule: values of any type are not allowed";
    refused_at("pub config: Value", message);

    // An enum of another file, too, unless two files define the name.
    project.write("src/api/foo.rs", &code);
    let rule = "pub enum Rule {\n    Any { config: Value },\n}\n";
    project.write("src/api/rules.rs", &format!("use serde_json::Value;\n\n{rule}"));
    refused_in("src/api/rules.rs", "Any { config", message);
    project.write("src/api/others.rs", rule);
    refused(message);
}

/// The operator does not know the places of its types.
#[test]
fn kinds_that_an_error_of_the_operator_names_have_their_place() {
    let project = Sandbox::project();
    let code = project.read("src/api/foo.rs");
    let line = code
        .lines()
        .position(|line| line.contains("pub struct FooSpec"))
        .unwrap()
        + 1;
    let version = "Foo (demo.dev/v1alpha1)";
    for (name, error) in [
        (
            version,
            "Foo (demo.dev/v1alpha1): index by_size = \"spec.size\": `spec` has no field `size`: the fields are deploymentName, replicas",
        ),
        (
            version,
            "kind Foo (demo.dev/v1alpha1) has a schema that Kubernetes does not accept: spec.choice: enum Choice has variants with and without \
             data",
        ),
        (
            version,
            "controller \"foo\": Foo (demo.dev/v1alpha1) is namespaced and cannot own Node (v1), which is cluster-scoped: use `.watches`",
        ),
        (
            "Foo (demo.dev)",
            "`versions` is called twice for Foo (demo.dev): add all versions to one call",
        ),
    ] {
        project.fake_cargo("manifests", "", &format!("error: {error}\n"), 1);
        let failed = project.kubewright("generate").expect(exit::MANIFESTS).stderr;
        let expected = format!(
            "error: {error}\nerror: `shop manifests` failed (see above); nothing was written\nhelp: src/api/foo.rs:{line}: {name} is \
             defined here\n"
        );
        assert_eq!(failed, expected);
    }
    for other in ["BigFoo (demo.dev)", "Foo (demo.dev/v1)"] {
        project.fake_cargo("manifests", "", &format!("error: kind {other} is wrong\n"), 1);
        let failed = project.kubewright("generate").expect(exit::MANIFESTS).stderr;
        assert!(!failed.contains("help:"), "{failed}");
    }
}

#[test]
fn setting_leaves_descriptions_out() {
    let project = Sandbox::project();
    let mut described = spec();
    described["properties"]["replicas"]["description"] = json!("How many. And more.");
    project.set_manifests(&manifests_with(&described));
    for (setting, written, left_out) in [
        ("full", "How many. And more.", "\0"),
        ("short", "How many.", "And more."),
        ("none", "maximum: 10", "How many"),
    ] {
        let settings = project.read("kubewright.toml");
        let line = settings
            .lines()
            .find(|line| line.starts_with("descriptions = "))
            .unwrap()
            .to_owned();
        project.edit("kubewright.toml", &line, &format!("descriptions = \"{setting}\""));
        project.kubewright("generate").expect(0);
        let crd = project.read(CRD);
        assert!(
            crd.contains(written) && !crd.contains(left_out),
            "{setting}: {crd}"
        );
    }
}

#[test]
fn edited_files_are_refused_with_a_diff_unless_overwritten() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    project.edit(CRD, "maximum: 10", "maximum: 100");
    let mut changed = spec();
    changed["properties"]["replicas"]["maximum"] = json!(20);
    project.set_manifests(&manifests_with(&changed));
    let before = project.files();

    for command in ["generate", "generate --check", "generate --dry-run"] {
        let refused = project
            .kubewright(command)
            .expect(exit::EDITED)
            .stderr_contains("generate --overwrite manifests/crds/demo.dev_foos.yaml");
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

    // Edits are refused even if the code did not change, and so are files without our header.
    project.write(CRD, "mine: true\n");
    project.kubewright("generate").expect(exit::EDITED);
    // The path is relative to the current directory.
    let inside = project.in_folder("manifests");
    inside
        .kubewright("generate --overwrite crds/demo.dev_foos.yaml")
        .expect(0);
}

#[test]
fn changed_line_endings_are_not_an_edit() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    for (name, bytes) in project.files() {
        let text = String::from_utf8(bytes).unwrap();
        project.write(&name, &text.replace('\n', "\r\n"));
    }
    project.kubewright("generate --check").expect(0);
}

#[test]
fn files_of_removed_kinds_are_deleted() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let mut without = manifests();
    without["kinds"] = json!([]);
    project.set_manifests(&without);
    project.write("manifests/crds/mine.yaml", "kind: CustomResourceDefinition\n");

    let edited = project.read(CRD);
    project.write(CRD, &format!("{edited}# mine\n"));
    project
        .kubewright("generate")
        .expect(exit::EDITED)
        .stderr_contains("demo.dev_foos.yaml was edited");
    project.write(CRD, &edited);
    project
        .kubewright("generate")
        .expect(0)
        .stderr_contains("delete manifests/crds/demo.dev_foos.yaml: BREAKING its kind was removed");

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

/// The compiler prints these errors without the fix.
#[test]
fn errors_in_conversions_are_followed_by_their_fix() {
    let project = Sandbox::project();
    project.kubewright("add version Foo v1").expect(0);
    let old = project.read("src/api/foo/v1alpha1.rs");
    let line = old.lines().position(|line| line.contains("#[convert(")).unwrap() + 1;
    let printed = format!(
        "error[E0063]: missing field `owner` in initializer of `FooSpec`\n  --> src/api/foo/v1alpha1.rs:{line}:17\n"
    );
    project.fake_cargo("build", "", &printed, 101);
    let failed = project.kubewright("generate").expect(exit::COMPILE).stderr;
    let help = format!(
        "error: the operator does not compile (see above); nothing was written\nhelp: src/api/foo/v1alpha1.rs:{line}: add \
         `hub_only(owner)` to `#[convert(hub = …)]`"
    );
    assert!(failed.starts_with(&printed) && failed.contains(&help), "{failed}");
}

#[test]
fn failed_builds_are_reported_and_nothing_is_written() {
    let project = Sandbox::project();
    let before = project.files();
    project.fake_cargo(
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

    project.set_build_success();
    project.fake_cargo(
        "manifests",
        "",
        "error: kind Foo has a schema that Kubernetes rejects\n",
        1,
    );
    project
        .kubewright("generate")
        .expect(exit::MANIFESTS)
        .stderr_contains("kind Foo has a schema");
    project.fake_cargo("manifests", r#"{"manifestsVersion": 7}"#, "", 0);
    project
        .kubewright("generate")
        .expect(exit::MANIFESTS)
        .stderr_contains("version 7");
    project.fake_cargo("manifests", "Hello, world!\n", "", 0);
    project
        .kubewright("generate")
        .expect(exit::MANIFESTS)
        .stderr_contains("shop manifests");
    project.fake_cargo(
        "metadata",
        "",
        "error: failed to parse manifest at `Cargo.toml`\n",
        101,
    );
    project
        .kubewright("generate")
        .expect(exit::COMPILE)
        .stderr_contains("failed to parse manifest");
    assert_eq!(project.files(), before);
}

#[test]
fn versions_of_command_and_crate_must_match() {
    let project = Sandbox::project();
    project.set_crate_version("0.0.9");
    project
        .kubewright("generate")
        .expect(exit::PROJECT)
        .stderr_contains("version 0.0.9")
        .stderr_contains(concat!("version ", env!("CARGO_PKG_VERSION")))
        .stderr_contains("cargo install kubewright-cli --version 0.0.9");
}

#[test]
fn missing_and_invalid_project_files_are_errors() {
    Sandbox::new()
        .kubewright("generate")
        .expect(exit::PROJECT)
        .stderr_contains("kubewright new");
    let project = Sandbox::project();
    project.write("kubewright.toml", "version = 1\nname = shop\n");
    project
        .kubewright("generate")
        .expect(exit::PROJECT)
        .stderr_contains("kubewright.toml is invalid")
        .stderr_contains("line 2");
    project.write("kubewright.toml", "version = 2\n");
    project
        .kubewright("generate")
        .expect(exit::PROJECT)
        .stderr_contains("cargo install kubewright-cli");
}

#[test]
fn managed_files_merge_or_conflict() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let deploy = "manifests/deploy/operator.yaml";
    // Changes of separate lines: the user's of the memory, kubewright's of the namespace.
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

    // Changes of the same line.
    project.edit(deploy, "  namespace: prod\n", "  namespace: mine\n");
    project.edit("kubewright.toml", "namespace = \"prod\"", "namespace = \"stage\"");
    let before = project.files();
    let conflict = project
        .kubewright("generate")
        .expect(exit::CONFLICT)
        .stderr_contains("generate --keep manifests/deploy/operator.yaml");
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

    // Files deleted by the user are not written again, and no longer deployed.
    std::fs::remove_file(project.cwd.join("Dockerfile")).unwrap();
    std::fs::remove_dir_all(project.cwd.join("manifests/deploy")).unwrap();
    project.kubewright("generate").expect(0);
    let files = project.files();
    assert!(!files.contains_key("Dockerfile") && !files.contains_key(deploy));
    assert!(!project.read("manifests/Kustomization").contains("deploy"));
}

#[test]
fn samples_are_written_once_and_always_validated() {
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
        .stderr_contains("create manifests/crds/demo.dev_foos.yaml")
        .stderr_contains("error: the samples do not match the schemas of their kinds:\nmanifests/samples/foo.yaml:5: spec.replica is unknown: did you mean replicas?\n")
        .stderr_contains("manifests/samples/foo.yaml:5: spec.replicas is 11: must be at most 10")
        .stderr_contains("\nchange them, then run `kubewright generate --check`; all other files were written\n");
    assert_eq!(project.read("manifests/samples/foo.yaml"), sample);
    let written = project.files();
    for command in ["generate", "generate --check", "generate --dry-run"] {
        project
            .kubewright(command)
            .expect(exit::SAMPLE)
            .stderr_contains("`kubewright generate --check`; all other files are up to date\n");
    }
    assert_eq!(project.files(), written);
    project.edit("manifests/samples/foo.yaml", "v1alpha1", "v2");
    project
        .kubewright("generate")
        .expect(exit::SAMPLE)
        .stderr_contains("manifests/samples/foo.yaml:2: apiVersion is \"demo.dev/v2\", and Foo has the versions v1alpha1: use one of these");
    project.write("manifests/samples/foo.yaml", "# mine\na: [\n");
    project
        .kubewright("generate")
        .expect(exit::SAMPLE)
        .stderr_contains("\nmanifests/samples/foo.yaml:2: invalid YAML: unclosed bracket '['\n");
    project.write("manifests/samples/foo.yaml", "---\nspec: {}\n");
    std::fs::remove_file(project.cwd.join(CRD)).unwrap();
    project
        .kubewright("generate --dry-run")
        .expect(exit::SAMPLE)
        .stderr_contains("manifests/samples/foo.yaml:2: kind is missing: it is required")
        .stderr_contains("`kubewright generate --check`; nothing was written\n");

    std::fs::remove_file(project.cwd.join("manifests/samples/foo.yaml")).unwrap();
    project
        .kubewright("generate")
        .expect(0)
        .stderr_contains("create manifests/samples/foo.yaml");
    let made = project.read("manifests/samples/foo.yaml");
    assert_eq!(
        made,
        "apiVersion: demo.dev/v1alpha1\nkind: Foo\nmetadata:\n  name: example-foo\n  namespace: default\n\
         spec:\n  deploymentName: example\n  replicas: 1\n"
    );
}

#[test]
fn leftovers_of_unregistered_kinds_are_reported() {
    let project = Sandbox::project();
    project.kubewright("add kind Backup --allow-dirty").expect(0);
    // The operator still prints only Foo, as if `main` did not register Backup.
    let line = project
        .read("src/api/backup.rs")
        .lines()
        .position(|line| line.starts_with("pub struct BackupSpec"))
        .unwrap();
    let unregistered = format!(
        "warning: src/api/backup.rs:{}: kind Backup is not registered, so it has no CRD: register its controller in main.rs, or delete the \
         struct\n",
        line + 1
    );
    let gone = "warning: manifests/samples/backup.yaml:2: kind Backup is gone: delete the sample, or register the kind\n";
    project
        .kubewright("generate")
        .expect(0)
        .stderr_contains(&unregistered)
        .stderr_contains(gone);

    std::fs::remove_file(project.cwd.join("src/api/backup.rs")).unwrap();
    let deleted = project
        .kubewright("generate --check")
        .expect(0)
        .stderr_contains(gone);
    assert!(!deleted.stderr.contains("not registered"), "{}", deleted.stderr);
    project.edit("manifests/samples/backup.yaml", "kind: Backup", "kind: Fooo");
    project
        .kubewright("generate")
        .expect(0)
        .stderr_contains("manifests/samples/backup.yaml:2: kind Fooo is unknown: did you mean Foo?");
    // Kinds of other groups are those of other projects.
    project.edit(
        "manifests/samples/backup.yaml",
        "apiVersion: demo.dev/",
        "apiVersion: other.dev/",
    );
    let foreign = project.kubewright("generate").expect(0);
    assert!(!foreign.stderr.contains("warning"), "{}", foreign.stderr);
}

#[test]
fn names_of_deleted_managed_files_are_reported() {
    let project = Sandbox::project();
    let clean = project.kubewright("generate").expect(0);
    assert!(!clean.stderr.contains("warning"), "{}", clean.stderr);
    let remove = |path: &str| std::fs::remove_file(project.cwd.join(path)).unwrap();
    remove("manifests/deploy/operator.yaml");
    remove("Dockerfile");
    let workflow = project.read(".github/workflows/ci.yml") + "      - run: docker build -f Dockerfile .\n";
    let build = workflow.lines().count();
    project.write(".github/workflows/ci.yml", &workflow);
    let missing = "does not exist: remove it from the";
    project
        .kubewright("generate")
        .expect(0)
        .stderr_contains(&format!(
            "warning: manifests/deploy/Kustomization:5: operator.yaml {missing} list, or restore the file with `kubewright generate \
             --overwrite manifests/deploy/operator.yaml`\n"
        ))
        .stderr_contains(&format!(
            "warning: .github/workflows/ci.yml:{build}: Dockerfile {missing} line, or restore the file with `kubewright generate \
             --overwrite Dockerfile`\n"
        ));

    let fixed = project
        .kubewright("generate --overwrite manifests/deploy/operator.yaml --overwrite Dockerfile")
        .expect(0);
    assert!(!fixed.stderr.contains("warning"), "{}", fixed.stderr);
    // A user's kustomization may name a file that kubewright never wrote.
    project.edit(
        "manifests/deploy/Kustomization",
        "- operator.yaml\n",
        "- operator.yaml\n  - ../crds\n  - mine.yaml\n",
    );
    project
        .kubewright("generate --check")
        .expect(0)
        .stderr_contains(&format!(
            "manifests/deploy/Kustomization:7: mine.yaml {missing} list, or restore the file\n"
        ));
}

#[test]
fn prints_warnings() {
    let project = Sandbox::project();
    let mut manifests = manifests_with(
        &json!({"type": "object", "description": "x".repeat(250_000), "properties": spec()["properties"]}),
    );
    manifests["warnings"] = json!(["client of Deployment has All"]);
    manifests["operator"] = json!("store");
    project.set_manifests(&manifests);
    project
        .kubewright("generate")
        .expect(0)
        .stderr_contains("warning: client of Deployment has All")
        .stderr_contains("kubectl apply --server-side")
        .stderr_contains("make them equal");
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
