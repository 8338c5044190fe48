//! `kubewright rename kind` and `kubewright remove kind` where modules and names are reached by globs, aliases and exports.

use std::fmt::Write as _;

use kubewright_cli::exit;

use crate::{
    name_forms_project::{FILES, LIBRARY},
    support::Sandbox,
};

/// A project with the kind Tree and code that names it in all forms.
fn project(commands: &[&str]) -> Sandbox {
    let project = Sandbox::project();
    for command in commands {
        project.kubewright(command).expect(0);
    }
    for (path, text) in FILES {
        project.write(path, text);
    }
    let library = project.read("src/lib.rs") + LIBRARY;
    project.write("src/lib.rs", &library);
    project
}

#[test]
fn all_forms_are_renamed() {
    for commands in [&["add kind Tree"][..], &["add kind Tree", "add version Tree v1"]] {
        let project = project(commands);
        let before = project.files();
        project
            .kubewright("rename kind Tree Shrub --allow-dirty")
            .expect(0);
        for (path, text) in FILES {
            let expected = text.replace("tree::", "shrub::").replace("Tree", "Shrub");
            assert_eq!(project.read(path), expected, "{path}");
        }
        let library = project.read("src/lib.rs");
        assert!(
            library.ends_with(&LIBRARY.replace("api::tree", "api::shrub")),
            "{library}"
        );
        project
            .kubewright("rename kind Shrub Tree --allow-dirty")
            .expect(0);
        assert!(project.files() == before);
    }
}

#[test]
fn all_forms_are_uses() {
    let project = project(&["add kind Tree"]);
    let before = project.files();
    let mut places = String::new();
    for path in [&["src/lib.rs"][..], &FILES.map(|(path, _)| path)].concat() {
        for (at, line) in project.read(path).lines().enumerate() {
            if line.contains("tree::") || line.contains("api::tree") || line.contains("Tree") {
                writeln!(places, "{path}:{}", at + 1).unwrap();
            }
        }
    }
    assert_eq!(places.lines().count(), 8, "{places}");
    project
        .kubewright("remove kind Tree --allow-dirty")
        .expect(exit::USAGE)
        .stderr_contains(&format!("Tree is in use:\n{places}change or delete these first"));
    assert!(project.files() == before);
}

#[test]
fn version_behind_a_glob_is_in_use() {
    let project = Sandbox::project();
    for command in ["add version Foo v1", "add version Foo v2"] {
        project.kubewright(command).expect(0);
    }
    project.edit(
        "src/api/foo/mod.rs",
        ".stored::<v1alpha1::Foo>",
        ".stored::<v2::Foo>",
    );
    project.write(
        "src/extra.rs",
        "use crate::api::*;\nuse foo::v1 as first;\n\nfn f(_: foo::v1alpha1::Foo, _: first::Foo) {}\n",
    );
    project.edit("src/lib.rs", "pub mod api;", "pub mod api;\nmod extra;");
    for (version, line) in [("v1alpha1", 4), ("v1", 2)] {
        project
            .kubewright(&format!("remove version Foo {version} --allow-dirty"))
            .expect(exit::USAGE)
            .stderr_contains(&format!("in use:\nsrc/extra.rs:{line}\n"));
    }
}

/// Another crate may have a module of the name, or export the project's.
#[test]
fn undecided_names_are_listed_and_stay() {
    for command in ["rename kind Tree Shrub", "remove kind Tree"] {
        let project = Sandbox::project();
        project.kubewright("add kind Tree").expect(0);
        let text = "use theirs::*;\n\npub fn plant() {\n    tree::plant();\n    forest.tree::<u8>();\n}\n";
        project.write("src/extra.rs", text);
        // The module of a file that has the name, too.
        let other = "use crate::*;\n\npub mod tree {\n    pub fn plant() {}\n}\n\npub fn plant() {\n    tree::plant();\n}\n";
        project.write("src/other.rs", other);
        project.edit(
            "src/lib.rs",
            "pub mod api;",
            "pub mod api;\nmod extra;\nmod other;",
        );
        project
            .kubewright(&format!("{command} --allow-dirty"))
            .expect(0)
            .stderr_contains("these name Tree and are not changed:\nsrc/extra.rs:4\n");
        assert_eq!(project.read("src/extra.rs"), text);
        assert_eq!(project.read("src/other.rs"), other);
    }
}
