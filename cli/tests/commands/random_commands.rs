//! Random commands of a project's life, and edits of its user between them.
//!
//! After each command: what the user wrote is still there, unless the command removed its file; every source file is valid Rust; a command that
//! was refused changed nothing; and the same command once more changes nothing.

use std::{collections::BTreeMap, path::Path};

use crate::support::Sandbox;
use proptest::prelude::*;

const KINDS: [&str; 4] = ["Foo", "Apple", "DNSPolicy", "Cherry"];
const GROUPS: [&str; 3] = ["demo.dev", "fruit.demo.dev", "other.dev"];

/// What happens to the project.
#[derive(Clone, Debug)]
enum Step {
    /// A command.
    Command(String),
    /// The user writes a comment at the end of a source file; the number selects the file.
    Note(usize),
    /// The user adds a field to a kind.
    Field(&'static str),
}

type Files = BTreeMap<String, Vec<u8>>;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop::sample::select(&KINDS[..]);
    let controlled = prop::sample::select(&["Node", "Pod", "Apple", "Deployment.apps/v1", "Nothing"][..]);
    let version = prop::sample::select(&["v1", "v1beta1", "v1alpha1", "first"][..]);
    let functions =
        prop::sample::select(&["--validating", "--defaulting", "--validating --defaulting", ""][..]);
    let group = prop::sample::select(&GROUPS[..]);
    let command = prop_oneof![
        4 => kind.clone().prop_map(|kind| format!("add kind {kind}")),
        2 => (kind.clone(), version.clone()).prop_map(|(kind, version)| format!("add version {kind} {version}")),
        1 => (kind.clone(), version).prop_map(|(kind, version)| format!("remove version {kind} {version}")),
        2 => (kind.clone(), functions.clone()).prop_map(|(kind, functions)| format!("add webhook {kind} {functions}")),
        1 => functions.prop_map(|functions| format!("add webhook Pod {functions}")),
        2 => (controlled, kind.clone()).prop_map(|(kind, owned)| format!("add controller {kind} --owns {owned}")),
        3 => kind.clone().prop_map(|kind| format!("remove kind {kind}")),
        1 => kind.clone().prop_map(|kind| format!("migrate storage {kind}")),
        2 => (kind.clone(), kind.clone()).prop_map(|(old, new)| format!("rename kind {old} {new}")),
        1 => (group.clone(), group).prop_map(|(old, new)| format!("rename group {old} {new}")),
    ];
    let step = prop_oneof![
        5 => command.prop_map(Step::Command),
        3 => any::<usize>().prop_map(Step::Note),
        1 => kind.prop_map(Step::Field),
    ];
    prop::collection::vec(step, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn user_code_survives_random_commands(steps in steps()) {
        let project = Sandbox::project();
        let mut notes = 0;
        for step in &steps {
            match step {
                Step::Note(number) => {
                    notes += 1;
                    write_note(&project, *number, notes);
                }
                Step::Field(kind) => add_field(&project, kind),
                Step::Command(line) => run(&project, line, &steps),
            }
        }
    }
}

fn write_note(project: &Sandbox, number: usize, note: usize) {
    let files = sources(&project.files());
    let (name, text) = files.iter().nth(number % files.len()).unwrap();
    project.write(name, &format!("{text}\n// The user's note {note}.\n"));
}

/// Adds a field that tests and samples need not set.
fn add_field(project: &Sandbox, kind: &str) {
    let marker = "    /// The desired number of replicas.\n";
    let struct_name = format!("pub struct {kind}Spec {{");
    for (name, text) in sources(&project.files()) {
        if let Some(start) = text.find(&struct_name)
            && let Some(at) = text[start..].find(marker).map(|at| start + at)
            && !text.contains("the_users_field")
        {
            let field =
                "    /// The user's.\n    #[serde(default)]\n    pub the_users_field: Option<String>,\n";
            project.write(&name, &format!("{}{field}{}", &text[..at], &text[at..]));
        }
    }
}

fn run(project: &Sandbox, line: &str, steps: &[Step]) {
    let before = project.files();
    let outcome = project.kubewright(line);
    let after = project.files();
    if outcome.code == 0 {
        check_user_lines(&before, &after, line, steps);
    } else {
        assert!(
            outcome.stderr.starts_with("error: "),
            "{line}: {}",
            outcome.stderr
        );
        assert!(
            after == before,
            "{line} was refused, and changed files: {steps:?}"
        );
    }
    for (name, text) in sources(&after) {
        if let Err(error) = syn::parse_file(&text) {
            panic!("{name} after {line}: {error}: {steps:?}\n{text}");
        }
    }
    project.kubewright(line);
    let again = project.files();
    let changed: Vec<_> = again
        .iter()
        .filter(|(name, text)| after.get(*name) != Some(text))
        .collect();
    assert!(
        again == after,
        "{line} once more changed {:?}: {steps:?}",
        changed.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
}

/// Each line of the user is in the file in which it was, or in one that the command made of it, or the file is gone.
fn check_user_lines(before: &Files, after: &Files, command: &str, steps: &[Step]) {
    let is_users = |line: &&str| line.contains("The user's") || line.contains("the_users_field");
    let all_after: String = sources(after).into_values().collect();
    for (name, text) in sources(before) {
        let is_removed = !after.contains_key(&name) && command.starts_with("remove ");
        for line in text.lines().filter(is_users) {
            assert!(
                all_after.contains(line) || is_removed,
                "{command} lost {line:?} of {name}: {steps:?}"
            );
        }
    }
}

/// Returns the Rust files.
fn sources(files: &Files) -> BTreeMap<String, String> {
    let is_rust = |name: &str| {
        Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "rs")
    };
    let sources = files.iter().filter(|(name, _)| is_rust(name));
    sources
        .map(|(name, text)| (name.clone(), String::from_utf8(text.clone()).unwrap()))
        .collect()
}
