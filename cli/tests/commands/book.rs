//! The chapters of the book about the life of a project, word for word: their commands run in order, and print what the chapter says.
//!
//! A line `…` stands for any lines. `.ci/quick-start` runs the quick start; the code of the tutorial is that of `examples/cronjob`.

use std::fs;

use serde_json::json;

use crate::support::{Sandbox, manifests};

/// What other programs do is tested with these programs: `cargo xtask check-packages`, `tests/tests/project_life`.
const OTHER_PROGRAMS: [&str; 4] = ["cargo ", "docker ", "helm ", "kubectl "];

/// Runs the commands of a chapter's console blocks. Returns how many.
fn run_chapter(project: &Sandbox, chapter: &str) -> usize {
    let path = format!("{}/../docs/src/{chapter}.md", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap();
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        match (in_block, line) {
            (false, "```console") => in_block = true,
            (true, "```") => in_block = false,
            (true, line) => match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command, Vec::new())),
                (None, Some((_, printed))) => printed.push(line),
                (None, None) => panic!("{path}: {line:?} comes before a command"),
            },
            (false, _) => {}
        }
    }
    let is_other = |command: &str| OTHER_PROGRAMS.iter().any(|program| command.starts_with(program));
    // `tests/tests/regenerate.rs` and `project_life` have clusters.
    commands.retain(|(command, _)| !is_other(command) && !command.contains("--cluster"));
    for (command, promised) in &commands {
        if let Some(arguments) = command.strip_prefix("git ") {
            project.git(&arguments.split(' ').collect::<Vec<_>>());
            continue;
        }
        let arguments = command.strip_prefix("kubewright ");
        let arguments =
            arguments.unwrap_or_else(|| panic!("{path}: {command:?} is not a command of kubewright"));
        let outcome = project.kubewright(arguments);
        let is_refused = promised.first().is_some_and(|line| line.starts_with("error: "));
        let printed = outcome.stdout + &outcome.stderr;
        assert_eq!(outcome.code != 0, is_refused, "{command}: {printed}");
        check_lines(command, &printed, promised);
    }
    commands.len()
}

/// Checks that the lines were printed one after the other, but for gaps.
fn check_lines(command: &str, printed: &str, promised: &[&str]) {
    let mut rest = printed.lines();
    let mut may_skip = true;
    for line in promised {
        if *line == "…" {
            may_skip = true;
            continue;
        }
        let is_found = if may_skip {
            rest.any(|found| found == *line)
        } else {
            rest.next() == Some(line)
        };
        assert!(is_found, "{command} does not print {line:?} there:\n{printed}");
        may_skip = false;
    }
}

#[test]
fn commands_of_the_chapters_do_what_they_say() {
    let changing = Sandbox::project();
    changing.kubewright("generate").expect(0);
    changing.kubewright("add kind Plan").expect(0);
    assert_eq!(run_chapter(&changing, "changing"), 8);

    let importing = Sandbox::project();
    let definitions = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/imported/definitions.yaml");
    importing.write(
        "cert-manager.crds.yaml",
        &fs::read_to_string(definitions).unwrap(),
    );
    assert_eq!(run_chapter(&importing, "importing"), 4);

    let versions = Sandbox::project();
    let mut with_hub = manifests();
    let served = with_hub["kinds"][0]["crd"]["spec"]["versions"]
        .as_array_mut()
        .unwrap();
    served.push(served[0].clone());
    served[1]["name"] = json!("v1");
    served[1]["storage"] = json!(false);
    versions.set_manifests(&with_hub);
    assert_eq!(run_chapter(&versions, "versions"), 5);

    let webhooks = Sandbox::project();
    assert_eq!(run_chapter(&webhooks, "webhooks"), 3);

    let packages = Sandbox::project();
    packages.kubewright("generate").expect(0);
    assert_eq!(run_chapter(&packages, "packages"), 3);
}
