//! `kubewright remove kind`.

use crate::import::definition;
use crate::support::{Sandbox, manifests};
use kubewright_cli::exit;
use serde_json::json;

#[track_caller]
fn in_use(project: &Sandbox, places: &[&str]) {
    let before = project.files();
    let refused = project
        .kubewright("remove kind Bar --allow-dirty")
        .expect(exit::USAGE);
    assert_eq!(project.files(), before);
    let expected = format!(
        "Bar is in use:\n{}\nchange or delete these first; nothing was written",
        places.join("\n")
    );
    refused.stderr_contains(&expected);
}

/// Adds the kind, runs commands about it, and removes it again: every file is as before.
#[track_caller]
fn round_trip(project: &Sandbox, commands: &[&str]) {
    let before = project.files();
    for command in commands {
        project.kubewright(command).expect(0);
    }
    assert_ne!(project.files(), before);
    project.kubewright("remove kind Bar --allow-dirty").expect(0);
    let after = project.files();
    for (file, text) in &before {
        assert_eq!(
            after.get(file).map(|text| String::from_utf8_lossy(text)),
            Some(String::from_utf8_lossy(text)),
            "{file} after {commands:?}"
        );
    }
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
}

const ROUND_TRIPS: [&[&str]; 5] = [
    &["add kind Bar"],
    &["add kind Bar --cluster-scoped --group net.demo.dev"],
    &["add kind Bar", "add webhook Bar --validating --defaulting"],
    &["add kind Bar", "add version Bar v1beta1", "add version Bar v1"],
    &[
        "add kind Bar",
        "add version Bar v1",
        "add webhook Bar --defaulting",
        "add version Bar v2",
    ],
];

#[test]
fn imported_kinds_are_removed_without_a_trace() {
    let project = Sandbox::project().with_rustfmt();
    project.write("thing.yaml", &definition("integer"));
    let other = definition("integer")
        .replace("thing", "other")
        .replace("Thing", "Other");
    project.write("other.yaml", &other.replace("demo.dev", "other.dev"));
    let before = project.files();
    project.kubewright("import thing.yaml").expect(0);
    let with_one = project.files();
    for command in [
        "import other.yaml",
        "add controller Other --owns Thing.demo.dev/v1",
    ] {
        project.kubewright(command).expect(0);
    }
    project
        .kubewright("remove kind Thing --allow-dirty")
        .expect(exit::USAGE)
        .stderr_contains("Thing is in use:\nsrc/controllers/other.rs:");
    project
        .kubewright("remove kind Other --dry-run --allow-dirty")
        .expect(0);
    project
        .kubewright("remove kind Other --allow-dirty")
        .expect(0)
        .stderr_contains("delete src/api/imported/other_dev/other.rs\n")
        .stderr_contains("kubewright generate  # removes the permissions for Other");
    assert_eq!(project.files(), with_one);
    project.kubewright("remove kind Thing --allow-dirty").expect(0);
    assert_eq!(project.files(), before);
}

#[test]
fn added_kinds_are_removed_without_a_trace() {
    let project = Sandbox::project().with_rustfmt();
    for commands in ROUND_TRIPS {
        round_trip(&project, commands);
    }
    project.kubewright("add webhook Pod --validating").expect(0);
    round_trip(&project, ROUND_TRIPS[4]);
}

/// Each edit is one that a user may make; they are tried alone, in two halves, and together.
#[test]
fn edits_of_the_user_survive() {
    let edits: [(&str, &str, &str); 6] = [
        (
            "src/main.rs",
            "use shop::controllers::FooController;",
            "use shop::controllers::{FooController}; // Mine.",
        ),
        (
            "src/main.rs",
            "    Manager::from_args(\"shop\")\n        .version(env!(\"CARGO_PKG_VERSION\"))\n        .register(FooController::register)\n",
            "    Manager::from_args(\"shop\").register(FooController::register)\n",
        ),
        ("src/controllers/mod.rs", "\npub use foo::FooController;\n", ""),
        (
            "src/api/mod.rs",
            "pub mod foo;",
            "// About Foo.\npub mod foo; // Foo",
        ),
        (
            "src/api/mod.rs",
            "    pub use super::foo::*;",
            "    // All.\n\n    pub use super::{foo::*};",
        ),
        (
            "src/lib.rs",
            "pub mod controllers;\n",
            "pub mod controllers;\npub mod zoo;",
        ),
    ];
    let project = Sandbox::project();
    let before = project.files();
    for (run, chosen) in [1_u32, 2, 4, 8, 16, 32, 42, 21, 63].into_iter().enumerate() {
        for (file, text) in &before {
            project.write(file, &String::from_utf8_lossy(text));
        }
        for (at, (file, old, new)) in edits.iter().enumerate() {
            if chosen & (1 << at) != 0 {
                project.edit(file, old, new);
            }
        }
        if run % 2 == 1 {
            for file in [
                "src/main.rs",
                "src/api/mod.rs",
                "src/controllers/mod.rs",
                "src/lib.rs",
            ] {
                project.write(file, &project.read(file).replace('\n', "\r\n"));
            }
        }
        round_trip(&project, ROUND_TRIPS[run % ROUND_TRIPS.len()]);
    }
}

#[test]
fn plan_and_next_steps_are_printed() {
    let project = Sandbox::project();
    for command in [
        "add kind Bar",
        "add webhook Bar --validating",
        "add version Bar v1",
    ] {
        project.kubewright(command).expect(0);
    }
    let before = project.files();
    let planned = project
        .kubewright("remove kind Bar --dry-run --allow-dirty")
        .expect(0);
    assert_eq!(project.files(), before);
    assert_eq!(
        planned.stdout,
        "delete manifests/samples/bar.yaml\ndelete src/api/bar/mod.rs\ndelete src/api/bar/v1.rs\n\
         delete src/api/bar/v1alpha1.rs\nupdate src/api/mod.rs\ndelete src/controllers/bar.rs\n\
         update src/controllers/mod.rs\nupdate src/lib.rs\nupdate src/main.rs\ndelete src/webhooks/bar.rs\n\
         delete src/webhooks/mod.rs\ndelete tests/bar.rs\ndelete tests/bar_versions.rs\ndelete tests/bar_webhook.rs\n"
    );
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project.edit("tests/bar.rs", "//! ", "//! Mine: ");
    project
        .kubewright("remove kind Bar")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("tests/bar.rs would be changed");
    project
        .kubewright("remove kind Bar --allow-dirty")
        .expect(0)
        .stderr_contains("kubewright generate  # deletes the CRD")
        .stderr_contains(
            "clusters keep the CRD and its objects; this deletes both:\n  kubectl delete crd bars.demo.dev",
        );
    project
        .kubewright("remove kind Bar --allow-dirty")
        .expect(exit::USAGE)
        .stderr_contains("the project has no kind Bar: its kinds are Foo; nothing was written");
}

#[test]
fn other_uses_are_listed() {
    let project = Sandbox::project();
    project.kubewright("add kind Bar").expect(0);
    let added = project.files();
    let restore = || {
        for (file, text) in &added {
            project.write(file, &String::from_utf8_lossy(text));
        }
    };
    // Names of the kind, of its derives, and of its own types; its modules; the method of the informer factory.
    project.edit(
        "src/api/bar.rs",
        "/// ",
        "pub enum Colour { Red }\nenum Private { A }\n/// ",
    );
    project.edit(
        "src/controllers/foo.rs",
        "use std::collections::BTreeMap;\n",
        "use std::collections::BTreeMap;\n// Bar is not a use.\nfn a(_: &Bar, c: Colour) -> Private { x!(BarLister) }\n\
         use crate::{\n    api::{\n        bar::Colour as C,\n    },\n};\nfn b(s: &mut Setup) { s.informers().bars(); foo.bars; }\n",
    );
    project.write(
        "tests/all.rs",
        "use shop::controllers::{BarController, FooController};\n",
    );
    project.edit("src/api/foo.rs", "/// ", "use super::bar as _;\n/// ");
    in_use(
        &project,
        &[
            "src/api/foo.rs:10",
            "src/controllers/foo.rs:5",
            "src/controllers/foo.rs:8",
            "src/controllers/foo.rs:11",
            "tests/all.rs:1",
        ],
    );
    restore();
    std::fs::remove_file(project.cwd.join("tests/all.rs")).unwrap();
    // A closure registers it; a module has a file of its own; a sample is in a file with others.
    project.edit(
        "src/main.rs",
        ".register(BarController::register)",
        ".register(|setup| BarController::register(setup))",
    );
    project.write("src/controllers/bar/parts.rs", "pub struct Part;\n");
    let sample =
        project.read("manifests/samples/foo.yaml") + "---\n" + &project.read("manifests/samples/bar.yaml");
    project.write("manifests/samples/foo.yaml", &sample);
    let line = sample.lines().position(|line| line == "kind: Bar").unwrap() + 1;
    in_use(
        &project,
        &[
            "src/main.rs:13",
            "src/controllers/bar/parts.rs:1",
            &format!("manifests/samples/foo.yaml:{line}"),
        ],
    );
    std::fs::remove_dir_all(project.cwd.join("src/controllers/bar")).unwrap();
    restore();
    // A kind in another place than that of `add kind`.
    project.write("src/bar.rs", &project.read("src/api/bar.rs"));
    std::fs::remove_file(project.cwd.join("src/api/bar.rs")).unwrap();
    project.edit("src/lib.rs", "pub mod api;", "pub mod api;\npub mod bar;");
    project.edit("src/api/mod.rs", "pub mod bar;\n", "");
    project.edit("src/api/mod.rs", "super::bar::*", "super::super::bar::*");
    in_use(&project, &["src/api/mod.rs:7"]);
    project.edit("src/api/mod.rs", "super::super::bar", "crate::bar");
    in_use(&project, &["src/api/mod.rs:7"]);
    project.edit("src/api/mod.rs", "    pub use crate::bar::*;\n", "");
    project.edit(
        "src/controllers/bar.rs",
        "use crate::api::prelude::*;",
        "use crate::bar::*;",
    );
    project.edit("tests/bar.rs", "api::prelude::*", "bar::*");
    project.kubewright("remove kind Bar --allow-dirty").expect(0);
    restore();
    std::fs::remove_file(project.cwd.join("src/bar.rs")).unwrap_or_default();
    // A type of the same name in another file is not the kind's.
    project.edit("src/api/bar.rs", "/// ", "pub enum Colour { Red }\n/// ");
    project.edit("src/api/foo.rs", "/// ", "pub enum Colour { Red }\n/// ");
    project.kubewright("remove kind Bar --allow-dirty").expect(0);
}

#[test]
fn foreign_items_of_the_same_name_stay() {
    let project = Sandbox::project();
    project.edit(
        "src/main.rs",
        "use shop::controllers::FooController;",
        "use shop::controllers::FooController;\nuse theirs::CoreWebhook;",
    );
    project.edit(
        "src/main.rs",
        ".register(FooController::register)",
        ".register(FooController::register)\n        .register(CoreWebhook::register)",
    );
    project.edit(
        "src/controllers/foo.rs",
        "use std::collections::BTreeMap;\n",
        "use std::collections::BTreeMap;\nuse k8s_openapi::api::core::Core;\nfn f(_: Core, _: k8s::CoreSpec) {}\n",
    );
    let before = project.files();
    project.kubewright("add kind Core").expect(0);
    project.kubewright("remove kind Core --allow-dirty").expect(0);
    assert_eq!(project.files(), before);
}

#[test]
fn last_kind_is_removed_and_added_again() {
    let project = Sandbox::project();
    let before = project.files();
    project.kubewright("remove kind Foo --allow-dirty").expect(0);
    assert!(project.read("src/api/mod.rs").ends_with("pub mod prelude {}\n"));
    let mut without = manifests();
    without["kinds"] = json!([]);
    project.set_manifests(&without);
    project.kubewright("generate").expect(0);
    project.kubewright("generate --check").expect(0);
    project.kubewright("add kind Foo").expect(0);
    let after = project.files();
    for (file, text) in before.iter().filter(|(file, _)| *file != "src/main.rs") {
        assert_eq!(after.get(file), Some(text), "{file}");
    }
    let main = project.read("src/main.rs");
    assert!(main.contains(
        "    Manager::from_args(\"shop\")\n        .register(FooController::register)\n        .version("
    ));
}

#[test]
fn generate_deletes_what_it_wrote_for_the_kind() {
    let project = Sandbox::project();
    project.kubewright("add kind Bar").expect(0);
    let mut both = manifests();
    let mut bar = both["kinds"][0].to_string();
    for (old, new) in [("Foo", "Bar"), ("foo", "bar")] {
        bar = bar.replace(old, new);
    }
    both["kinds"]
        .as_array_mut()
        .unwrap()
        .push(serde_json::from_str(&bar).unwrap());
    project.set_manifests(&both);
    project.kubewright("generate").expect(0);
    assert!(project.read("docs/api.md").contains("Bar"));
    project.kubewright("remove kind Bar --allow-dirty").expect(0);
    project.set_manifests(&manifests());
    project
        .kubewright("generate")
        .expect(0)
        .stderr_contains("delete manifests/crds/demo.dev_bars.yaml: BREAKING its kind was removed");
    assert!(!project.files().contains_key("manifests/crds/demo.dev_bars.yaml"));
    assert!(!project.read("docs/api.md").contains("Bar"));
}

/// git must be able to restore what a command deletes.
#[test]
fn files_that_git_never_saw_are_not_deleted() {
    let project = Sandbox::project();
    project.kubewright("add kind Bar").expect(0);
    let before = project.files();
    let commands = [
        "remove kind Bar",
        "rename kind Bar Baz",
        "rename group demo.dev new.dev",
    ];
    for command in commands {
        project
            .kubewright(command)
            .expect(exit::UNCOMMITTED)
            .stderr_contains("not in a git repository that has a commit")
            .stderr_contains("run `git init`, `git add --all` and `git commit`, or pass --allow-dirty; nothing was written");
    }
    project.git(&["add", "README.md", "src/main.rs"]);
    project.git(&["commit", "-qm", "part"]);
    for command in commands {
        project
            .kubewright(command)
            .expect(exit::UNCOMMITTED)
            .stderr_contains("src/api/bar.rs");
    }
    // Also files that git ignores.
    project.git(&["add", "--all"]);
    project.git(&["rm", "-q", "--cached", "src/api/bar.rs"]);
    project.git(&["commit", "-qm", "all but one"]);
    project.write(".git/info/exclude", "src/api/bar.rs\n");
    project
        .kubewright("remove kind Bar")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("error: src/api/bar.rs would be changed and has uncommitted changes");
    assert_eq!(project.files(), before);
    project.git(&["add", "--force", "--all"]);
    project.git(&["commit", "-qm", "all"]);
    project.kubewright("remove kind Bar").expect(0);
    let without = Sandbox::project().without_git();
    without
        .kubewright("remove kind Foo")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("not in a git repository");
    without.kubewright("remove kind Foo --allow-dirty").expect(0);
}

#[test]
fn methods_of_that_name_do_not_use_the_kind() {
    let project = Sandbox::project();
    project.kubewright("add kind Worker").expect(0);
    project
        .kubewright("remove kind Worker --allow-dirty")
        .expect(0)
        .stderr_contains("these name Worker and are not changed:\nsrc/controllers/foo.rs:")
        .stderr_contains("kubectl delete crd workers.demo.dev");
    project
        .kubewright("remove kind Foo --allow-dirty")
        .expect(0)
        .stderr_contains("these name Foo and are not changed:\nREADME.md:5\n");
}
