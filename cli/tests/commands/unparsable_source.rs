//! Files that do not parse, as with the markers of a merge conflict: commands that read the code refuse, and write nothing.

use kubewright_cli::exit;

use crate::{import::definition, support::Sandbox};

const CONFLICT: &str = "<<<<<<< HEAD\nuse crate::one;\n=======\nuse crate::other;\n>>>>>>> topic\n";

/// What removes or renames reads tests as well.
const UNDOING: [&str; 4] = [
    "remove kind Foo --allow-dirty",
    "remove controller Foo --allow-dirty",
    "rename kind Foo Quux --allow-dirty",
    "rename group demo.dev new.dev --allow-dirty",
];

const OTHERS: [&str; 8] = [
    "add kind Bar",
    "add version Foo v1",
    "add controller Node",
    "add webhook Foo --validating",
    "import thing.yaml",
    "remove version Foo v1",
    "remove webhook Foo --allow-dirty",
    "migrate storage Foo.demo.dev",
];

/// The text becomes that of the file, with a conflict at the end.
#[track_caller]
fn refused(project: &Sandbox, file: &str, text: &str, commands: &[&str]) {
    project.write(file, &format!("{text}{CONFLICT}"));
    let before = project.files();
    let line = text.lines().count() + 1;
    for command in commands {
        let refused = project.kubewright(command);
        assert_eq!(project.files(), before, "{file}: {command}");
        refused
            .expect(exit::NO_INSERTION_POINT)
            .stderr_contains(&format!(
                "error: {file}: line {line} does not parse: it is a marker of a merge conflict; fix it first; nothing was written"
            ));
    }
}

#[test]
fn conflict_in_the_definition_of_a_kind_is_named() {
    let project = Sandbox::project();
    project.write("thing.yaml", &definition("integer"));
    let text = project.read("src/api/foo.rs");
    refused(&project, "src/api/foo.rs", &text, &UNDOING);
    refused(&project, "src/api/foo.rs", &text, &OTHERS);
}

#[test]
fn conflict_in_code_that_uses_a_kind_is_named() {
    let project = Sandbox::project();
    project.write("thing.yaml", &definition("integer"));
    let text = "use crate::api::foo::Foo;\n\npub fn f(_: &Foo) {}\n";
    refused(&project, "src/extra.rs", text, &UNDOING);
    refused(&project, "src/extra.rs", text, &OTHERS);
    project.write("src/extra.rs", text);
    refused(&project, "tests/extra.rs", "use shop::api::foo::Foo;\n", &UNDOING);
}

#[test]
fn other_syntax_errors_are_the_parsers() {
    let project = Sandbox::project();
    project.write("src/extra.rs", "pub fn f() {}\n\npub struct 3;\n");
    let before = project.files();
    for command in ["remove kind Foo --allow-dirty", "add kind Bar"] {
        project
            .kubewright(command)
            .expect(exit::NO_INSERTION_POINT)
            .stderr_contains("error: src/extra.rs: line 3 does not parse: expected identifier; fix it first; nothing was written");
    }
    assert_eq!(project.files(), before);
}
