//! `kubewright add version` and `kubewright remove version`.

use crate::support::{Outcome, Sandbox};
use kubewright_cli::exit;

/// Runs a command that is refused, and writes nothing.
#[track_caller]
fn refused(project: &Sandbox, command: &str, code: u8) -> Outcome {
    let before = project.files();
    let outcome = project.kubewright(command).expect(code);
    assert_eq!(project.files(), before, "{command} wrote files");
    outcome.stderr_contains("nothing was written")
}

fn usage(project: &Sandbox, command: &str, message: &str) {
    refused(project, command, exit::USAGE).stderr_contains(message);
}

/// Makes the hub the stored version, as the storage migration does.
fn migrate(project: &Sandbox) {
    let module = project.read("src/api/foo/mod.rs");
    let start = module.find("        // Objects stay stored").unwrap();
    let end = start + module[start..].find(';').unwrap();
    let text = format!("{}{}", module[..start].trim_end(), &module[end..]);
    project.write("src/api/foo/mod.rs", &text);
}

/// The registration of the versions.
const MODULE: &str = "//! The versions of Foo, a module for each. Controllers use the hub; the operator converts the others from and to it.

use kubewright::controller::Setup;

pub mod v1;
pub mod v1alpha1;

pub use v1::*;

/// Registers the versions. The first is the hub.
pub fn register_versions(setup: &mut Setup) {
    setup
        .versions::<v1::Foo>()
        .other::<v1alpha1::Foo>()
        // Objects stay stored in v1alpha1, so that a release without v1 can read them after a rollback.
        // `kubewright migrate storage Foo` stores them in v1: with `--cluster CONTEXT` in a cluster, then here.
        .stored::<v1alpha1::Foo>();
}
";

/// The tests of the conversion.
const TESTS: &str = "//! Tests of the conversion between the versions of Foo.

use kubewright::serde_json::json;
use kubewright::testing::Harness;
use shop::api::foo::register_versions;

/// Converts random objects of each version there and back, and compares.
#[tokio::test]
async fn conversion_loses_nothing() {
    Harness::new(register_versions).assert_conversions(500);
}

/// What clients of v1alpha1 see of an object. Change it with the versions.
#[tokio::test]
async fn v1alpha1_is_converted() {
    let test = Harness::new(register_versions);
    let object = json!({
        \"apiVersion\": \"demo.dev/v1\",
        \"kind\": \"Foo\",
        \"metadata\": {\"name\": \"example\"},
        \"spec\": {
          \"deploymentName\": \"example-foo\",
          \"replicas\": 1
        },
    });
    let old = test.convert(&object, \"v1alpha1\").unwrap();
    assert_eq!(
        old[\"spec\"][\"deploymentName\"],
        object[\"spec\"][\"deploymentName\"]
    );
    assert_eq!(test.convert(&old, \"v1\").unwrap(), object);
}
";

#[test]
fn file_is_moved_and_copied() {
    let project = Sandbox::project().with_rustfmt();
    let code = project.read("src/api/foo.rs") + "\n// The end: größer.\nuse super::prelude as _;\n";
    project.write("src/api/foo.rs", &code);
    let before = project.files();
    let outcome = project.kubewright("add version Foo v1").expect(0);
    let plan: Vec<&str> = outcome
        .stderr
        .lines()
        .take_while(|line| !line.is_empty())
        .collect();
    assert_eq!(
        plan,
        [
            "update manifests/samples/foo.yaml",
            "create src/api/foo/mod.rs",
            "create src/api/foo/v1.rs",
            "create src/api/foo/v1alpha1.rs",
            "delete src/api/foo.rs: moved to src/api/foo/v1alpha1.rs",
            "update src/api/mod.rs",
            "update src/controllers/foo.rs",
            "create tests/foo_versions.rs",
        ]
    );
    let moved = code.replace("use super::", "use super::super::");
    let copied = moved.replace("version = \"v1alpha1\"", "version = \"v1\"");
    assert_eq!(project.read("src/api/foo/v1.rs"), copied);
    let added = |line: &str| {
        line.contains("Convert)]") || line.starts_with("#[convert(") || line.contains("deprecated")
    };
    let old = project.read("src/api/foo/v1alpha1.rs");
    let kept: String = old.split_inclusive('\n').filter(|line| !added(line)).collect();
    assert_eq!(kept, moved);
    let rules: Vec<&str> = old.lines().filter(|line| added(line)).collect();
    assert_eq!(
        rules,
        [
            "#[derive(kubewright::Convert)]",
            "#[convert(hub = super::v1::FooSpec)]",
            "#[kube(deprecated = \"demo.dev/v1alpha1 Foo is deprecated: use v1\")]",
            "#[derive(kubewright::Convert)]",
            "#[convert(hub = super::v1::FooStatus)]",
        ]
    );
    assert_eq!(project.read("src/api/foo/mod.rs"), MODULE);
    assert_eq!(project.read("tests/foo_versions.rs"), TESTS);
    let edited = |file: &str, old: &str, new: &str| {
        let before = String::from_utf8_lossy(&before[file]).into_owned();
        assert!(before.contains(old), "{before}");
        assert_eq!(project.read(file), before.replacen(old, new, 1));
    };
    edited("manifests/samples/foo.yaml", "demo.dev/v1alpha1", "demo.dev/v1");
    edited("src/api/mod.rs", "super::foo::*", "super::foo::v1::*");
    edited(
        "src/controllers/foo.rs",
        "        let foos = setup",
        "        crate::api::foo::register_versions(setup);\n        let foos = setup",
    );

    let after = project.files();
    project
        .kubewright("add version Foo v1")
        .expect(0)
        .stderr_contains("version v1 of Foo already exists, nothing to do");
    assert_eq!(project.files(), after);
    // A deleted call is inserted again.
    project.edit(
        "src/controllers/foo.rs",
        "        crate::api::foo::register_versions(setup);\n",
        "",
    );
    project.kubewright("add version Foo v1").expect(0);
    assert_eq!(project.files(), after);
}

#[test]
fn second_version_becomes_the_hub_of_the_first() {
    let project = Sandbox::project().with_rustfmt();
    project.kubewright("add version Foo v1beta1").expect(0);
    let tests = project.read("tests/foo_versions.rs");
    project.edit(
        "src/api/foo/v1beta1.rs",
        "/// The desired state.",
        "/// The wish.",
    );
    project.kubewright("add version Foo v1 --from v1beta1").expect(0);
    assert!(project.read("src/api/foo/v1.rs").contains("/// The wish."));
    assert_eq!(project.read("src/api/foo/v1.rs").matches("onvert").count(), 0);
    for (version, note) in [("v1alpha1", 1), ("v1beta1", 1)] {
        let text = project.read(&format!("src/api/foo/{version}.rs"));
        assert_eq!(
            text.matches("#[convert(hub = super::v1::Foo").count(),
            2,
            "{text}"
        );
        assert_eq!(
            text.matches(&format!("{version} Foo is deprecated: use v1\""))
                .count(),
            note,
            "{text}"
        );
    }
    let module = project.read("src/api/foo/mod.rs");
    assert!(
        module.contains(
            "pub mod v1;\npub mod v1alpha1;\npub mod v1beta1;\n\npub use v1::*;\n"
        ) && module.contains(
            "        .versions::<v1::Foo>()\n        .other::<v1beta1::Foo>()\n        .other::<v1alpha1::Foo>()\n        // Objects"
        ) && module.contains(".stored::<v1alpha1::Foo>();"),
        "{module}"
    );
    assert!(project.read("src/api/mod.rs").contains("super::foo::v1::*"));
    assert!(
        project
            .read("manifests/samples/foo.yaml")
            .contains("apiVersion: demo.dev/v1\n")
    );
    assert_eq!(project.read("tests/foo_versions.rs"), tests);
    assert_eq!(
        project
            .read("src/controllers/foo.rs")
            .matches("register_versions")
            .count(),
        1
    );
}

#[test]
fn version_is_removed_and_added_again() {
    let project = Sandbox::project().with_rustfmt();
    project.kubewright("add version Foo v1").expect(0);
    migrate(&project);
    let before = project.files();
    let outcome = project
        .kubewright("remove version Foo v1alpha1 --allow-dirty")
        .expect(0);
    let plan: Vec<&str> = outcome.stderr.lines().take(3).collect();
    assert_eq!(
        plan,
        [
            "update src/api/foo/mod.rs",
            "delete src/api/foo/v1alpha1.rs",
            "delete tests/foo_versions.rs: no version is left to convert",
        ]
    );
    outcome
        .stderr_contains("kubectl get crd foos.demo.dev -o jsonpath='{.status.storedVersions}'")
        .stderr_contains("kubectl replace -f manifests/crds/demo.dev_foos.yaml");
    let module = project.read("src/api/foo/mod.rs");
    assert!(
        module.contains("pub mod v1;\n\npub use")
            && module.contains("    setup\n        .versions::<v1::Foo>();\n"),
        "{module}"
    );
    let after = project.files();
    let changed: Vec<&String> = before
        .iter()
        .filter(|(name, text)| after.get(*name) != Some(text))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        changed,
        [
            "src/api/foo/mod.rs",
            "src/api/foo/v1alpha1.rs",
            "tests/foo_versions.rs"
        ]
    );

    usage(
        &project,
        "remove version Foo v1alpha1 --allow-dirty",
        "Foo has no version v1alpha1: the versions are v1;",
    );
    project.kubewright("add version Foo v2").expect(0);
    let module = project.read("src/api/foo/mod.rs");
    assert!(
        module.contains("        .versions::<v2::Foo>()\n        .other::<v1::Foo>()\n        // Objects stay stored in v1, ")
            && module.contains("pub use v2::*;")
            && module.contains(".stored::<v1::Foo>();"),
        "{module}"
    );
    assert!(project.read("src/api/foo/v1.rs").contains("super::v2::FooStatus"));
}

#[test]
fn versions_that_cannot_be_added_are_refused() {
    let project = Sandbox::project();
    for (command, message) in [
        (
            "add version Fooo v1",
            "the project has no kind Fooo: did you mean Foo?",
        ),
        (
            "add version Other v1",
            "the project has no kind Other: its kinds are Foo;",
        ),
        (
            "add version Foo v1 --from v2",
            "Foo has no version v2: the versions are v1alpha1;",
        ),
    ] {
        usage(&project, command, message);
    }
    project
        .kubewright("add version Foo one")
        .expect(exit::USAGE)
        .stderr_contains("a version has the form");
    project
        .kubewright("add version Foo v1alpha1")
        .expect(0)
        .stderr_contains("nothing to do");
    project.kubewright("add version Foo v1").expect(0);
    for (command, message) in [
        (
            "add version Foo v1beta1",
            "v1beta1 is not newer than v1, the hub of Foo: ",
        ),
        (
            "add version Foo v2alpha1",
            "v2alpha1 is not newer than v1, the hub of Foo: ",
        ),
        (
            "add version Foo v1alpha1",
            "version v1alpha1 of Foo already exists in src/api/foo/v1alpha1.rs, and the hub is v1",
        ),
        (
            "add version Foo v2 --from v1alpha1",
            "--from v1alpha1 is not the hub of Foo: ",
        ),
    ] {
        usage(&project, command, message);
    }
    project.write("src/api/foo/v2.rs", "// something else\n");
    usage(
        &project,
        "add version Foo v2",
        "src/api/foo/v2.rs already exists: rename it",
    );
    project.write("src/api/foo/mod.rs", "pub mod v1;\npub mod v1alpha1;\n");
    usage(
        &project,
        "add version Foo v3",
        "found no `setup.versions::<HUB::Foo>()` in src/api/foo/mod.rs",
    );
}

#[test]
fn kinds_in_unusual_places_are_refused_by_their_place() {
    let command = "add version Foo v1";
    let project = Sandbox::project();
    project.write("src/api/foo/parts.rs", "");
    usage(&project, command, "src/api/foo already exists: rename it");

    let project = Sandbox::project();
    let code = project.read("src/api/foo.rs");
    let kind = |kind: &str, version: &str| {
        format!(
            "#[derive(Informer)]\n#[kube(group = \"demo.dev\", version = \"{version}\", kind = \"{kind}\")]\nstruct {kind}Spec;\n"
        )
    };
    project.write("src/api/foo.rs", &(code.clone() + &kind("Bar", "v1")));
    usage(
        &project,
        command,
        "src/api/foo.rs:25: the file of Foo also defines Bar",
    );
    project.write("src/api/foo.rs", &(code.clone() + "mod parts;\n"));
    usage(
        &project,
        command,
        "src/api/foo.rs:48: `mod parts;` is a file that would have to move",
    );
    project.write("src/api/foo.rs", &code);
    project.write("src/api/other.rs", &kind("Foo", "v1alpha1"));
    usage(
        &project,
        command,
        "kind Foo is defined twice in one version: src/api/foo.rs:25, src/api/other.rs:3;",
    );
    project.write(
        "src/api/other.rs",
        &kind("Foo", "v1").replace("demo.dev", "other.dev"),
    );
    usage(&project, command, "kind Foo is defined in several groups: ");
    project.write("src/api/other.rs", &kind("Foo", "v1"));
    usage(
        &project,
        "add version Foo v2",
        "in files that are not named by its versions, in one folder: ",
    );
    project.write(
        "src/api/other.rs",
        &kind("Baz", "v1").replace("Informer", "CustomResource"),
    );
    usage(
        &project,
        "add version Baz v2",
        "src/api/other.rs:3: kind Baz is not this operator's",
    );
    project.write(
        "src/api/other.rs",
        &format!("mod inner {{\n{}\n}}", kind("Baz", "v1")),
    );
    refused(&project, "add version Baz v2", exit::NO_INSERTION_POINT).stderr_contains("inline module");
    project.write("src/lib.rs", &kind("Baz", "v1"));
    project.write("src/api/other.rs", "");
    usage(
        &project,
        "add version Baz v2",
        "src/lib.rs:3: Baz is in the file of a module with other contents",
    );
}

#[test]
fn kind_of_any_file_gets_versions() {
    let project = Sandbox::project();
    let code = project.read("src/api/foo.rs").replace("Foo", "Bar");
    project.write("src/things/bar.rs", &code);
    refused(&project, "add version Bar v1", exit::NO_INSERTION_POINT)
        .stderr_contains("found no `register` of the kind's controller")
        .stderr_contains("crate::things::bar::register_versions(setup);");
    project.edit(
        "src/main.rs",
        "        .run()",
        "        .register(shop::things::bar::register_versions)\n        .run()",
    );
    std::fs::remove_file(project.cwd.join("src/api/mod.rs")).unwrap();
    project.kubewright("add version Bar v1").expect(0);
    assert!(!project.cwd.join("src/api/mod.rs").exists());
    assert!(
        project
            .read("src/things/bar/mod.rs")
            .contains(".other::<v1alpha1::Bar>()")
    );
    let test = project.read("tests/bar_versions.rs");
    assert!(
        test.contains("use shop::things::bar::register_versions;") && !test.contains("json"),
        "{test}"
    );
}

#[test]
fn what_does_not_convert_is_listed() {
    let project = Sandbox::project();
    project.edit(
        "src/api/foo.rs",
        "    pub replicas: i32,",
        "    pub replicas: i32,\n    pub sizes: std::collections::BTreeSet<Size>,",
    );
    let code = project.read("src/api/foo.rs") + "\n#[derive(Clone)]\npub enum Size {\n    Small,\n}\n";
    project.write("src/api/foo.rs", &code);
    project
        .kubewright("add version Foo v1")
        .expect(0)
        .stderr_contains("warning: src/api/foo/v1alpha1.rs:35: FooSpec.sizes has Size in a type that does not convert with it: add `#[convert(with");
}

#[test]
fn versions_that_are_needed_are_not_removed() {
    let project = Sandbox::project();
    usage(
        &project,
        "remove version Foo v1alpha1 --allow-dirty",
        "v1alpha1 is the hub of Foo",
    );
    usage(
        &project,
        "remove version Foo v1 --allow-dirty",
        "Foo has no version v1: the versions are v1alpha1;",
    );
    usage(
        &project,
        "remove version Baz v1 --allow-dirty",
        "the project has no kind Baz",
    );
    project.kubewright("add version Foo v1beta1").expect(0);
    project.kubewright("add version Foo v1").expect(0);
    usage(
        &project,
        "remove version Foo v1 --allow-dirty",
        "v1 is the hub of Foo",
    );
    usage(
        &project,
        "remove version Foo v1alpha1 --allow-dirty",
        "objects of Foo are stored in v1alpha1: store them in v1 first, with `kubewright migrate storage Foo --cluster CONTEXT` in each cluster and \
         then `kubewright migrate storage Foo` in the code",
    );
    migrate(&project);

    project.write(
        "src/other.rs",
        "use k8s::v1alpha1::A;\nuse crate::api::foo::{v1, v1alpha1};\n",
    );
    project.write(
        "src/api/foo/helper.rs",
        "use k8s::core::v1alpha1::A;\nfn f(_: super::v1alpha1::Foo) {}\n",
    );
    let sample = project.read("manifests/samples/foo.yaml");
    project.write(
        "manifests/samples/old.yaml",
        &format!("# Old.\n{}", sample.replace("demo.dev/v1", "demo.dev/v1alpha1")),
    );
    usage(
        &project,
        "remove version Foo v1alpha1 --allow-dirty",
        "version v1alpha1 of Foo is in use:\nsrc/other.rs:2\nsrc/api/foo/helper.rs:2\ntests/foo_versions.rs:26\nmanifests/samples/old.yaml:2\nchange or delete",
    );
    for file in [
        "src/other.rs",
        "src/api/foo/helper.rs",
        "manifests/samples/old.yaml",
    ] {
        std::fs::remove_file(project.cwd.join(file)).unwrap();
    }
    project.edit(
        "src/api/foo/mod.rs",
        "pub use v1::*;",
        "pub use v1::*;\npub use v1alpha1::FooSpec as OldSpec;",
    );
    project.edit("tests/foo_versions.rs", "\"v1alpha1\"", "\"v1beta1\"");
    usage(
        &project,
        "remove version Foo v1alpha1 --allow-dirty",
        "is in use:\nsrc/api/foo/mod.rs:10\nchange",
    );
    project.edit(
        "src/api/foo/mod.rs",
        "pub use v1alpha1::FooSpec as OldSpec;\n",
        "",
    );
    let outcome = project
        .kubewright("remove version Foo v1alpha1 --allow-dirty")
        .expect(0);
    assert!(
        !outcome.stderr.contains("kubectl replace") && !outcome.stderr.contains("tests/"),
        "{}",
        outcome.stderr
    );
    assert!(
        project
            .read("src/api/foo/mod.rs")
            .contains(".other::<v1beta1::Foo>();")
    );
}

#[test]
fn uncommitted_changes_and_dry_runs_write_nothing() {
    let project = Sandbox::project();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project.edit("src/api/foo.rs", "/// The desired state.", "/// The wish.");
    refused(&project, "add version Foo v1", exit::UNCOMMITTED)
        .stderr_contains("src/api/foo.rs would be changed");
    let before = project.files();
    let planned = project
        .kubewright("add version Foo v1 --allow-dirty --dry-run")
        .expect(0);
    assert_eq!(planned.stdout.lines().count(), 8, "{}", planned.stdout);
    assert_eq!(project.files(), before);
    project.kubewright("add version Foo v1 --allow-dirty").expect(0);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "versions"]);
    migrate(&project);
    refused(&project, "remove version Foo v1alpha1", exit::UNCOMMITTED)
        .stderr_contains("src/api/foo/mod.rs would be changed");
    let planned = project
        .kubewright("remove version Foo v1alpha1 --allow-dirty --dry-run")
        .expect(0);
    assert_eq!(planned.stdout.lines().count(), 3, "{}", planned.stdout);
    assert!(project.cwd.join("src/api/foo/v1alpha1.rs").exists());
}

#[test]
fn tests_of_the_controller_and_the_webhooks_are_about_the_hub() {
    let project = Sandbox::project();
    project.kubewright("add webhook Foo --validating").expect(0);
    let test = project.read("tests/foo_webhook.rs");
    assert!(test.contains("\"apiVersion\": \"demo.dev/v1alpha1\""), "{test}");
    project
        .kubewright("add version Foo v1")
        .expect(0)
        .stderr_contains("update tests/foo_webhook.rs");
    assert_eq!(
        project.read("tests/foo_webhook.rs"),
        test.replace("\"demo.dev/v1alpha1\"", "\"demo.dev/v1\"")
    );
}
