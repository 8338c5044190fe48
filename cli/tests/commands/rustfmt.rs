//! Commands that format code where rustfmt does not run.

use kubewright_cli::exit;

use crate::{import::definition, support::Sandbox};

const COMMANDS: [&str; 9] = [
    "new other --kind Foo --group demo.dev",
    "add kind Bar",
    "add controller Node",
    "add webhook Foo --validating",
    "add version Foo v1",
    "rename kind Foo Bar",
    "remove kind Foo",
    "import thing.yaml",
    "upgrade",
];

#[test]
fn nothing_is_written_without_rustfmt() {
    let mut project = Sandbox::project();
    project.write("thing.yaml", &definition("integer"));
    project.kubewright("import thing.yaml").expect(0);
    // An older module, which `upgrade` writes anew.
    let module = "src/api/imported/demo_dev/thing.rs";
    for path in [module.to_owned(), format!(".kubewright/base/{module}")] {
        project.write(&path, &(project.read(&path) + "// An old line.\n"));
    }
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "--message", "start"]);
    let before = project.files();
    for (program, reason) in [
        ("/nonexistent/rustfmt", "No such file or directory"),
        // As rustup's proxy for a toolchain without the component.
        ("/bin/false", "it fails"),
    ] {
        project.set_rustfmt(program);
        for command in COMMANDS {
            project
                .kubewright(command)
                .expect(exit::PROJECT)
                .stderr_contains(&format!("error: cannot run {program}, which formats code: {reason}"))
                .stderr_contains(
                    "; run `rustup component add rustfmt`, or set RUSTFMT to your rustfmt; nothing was written",
                );
            assert!(project.files() == before, "{command} wrote files");
        }
    }
    let project = project.with_rustfmt();
    project.kubewright("upgrade").expect(0);
    assert!(!project.read(module).contains("An old line."));
}

/// The project's own settings would make other files of the same names.
#[test]
fn settings_of_the_project_do_not_apply() {
    let project = Sandbox::project().with_rustfmt();
    project.write("rustfmt.toml", "max_width = 40\n");
    project.kubewright("add kind Bar").expect(0);
    let code = project.read("src/controllers/bar.rs");
    assert!(code.lines().any(|line| line.len() > 90), "{code}");
}
