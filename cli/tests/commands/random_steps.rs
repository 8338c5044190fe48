//! Random commands in a project, and changes by its user between them. Two tests run them: this package's in process, many and fast,
//! and `tests/tests/random_commands.rs`, which compiles the project after each.
//!
//! After each command: what the user wrote is still there, unless the command removed its file; every source file is valid Rust; a command that
//! was refused changed nothing; and the same command once more changes nothing.

use std::{collections::BTreeMap, fmt, path::Path, sync::Mutex};

use proptest::prelude::*;

const KINDS: [&str; 4] = ["Foo", "Apple", "DNSPolicy", "Cherry"];
const GROUPS: [&str; 3] = ["demo.dev", "fruit.demo.dev", "other.dev"];

/// A definition of another project that `import` reads.
const DEFINITION: &str = "definition.yaml";
const DEFINITION_TEXT: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.elsewhere.dev
spec:
  group: elsewhere.dev
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec: {type: object, required: [size], properties: {size: {type: integer, description: The size.}, type: {type: string}}}
";

pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// What happens to the project.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A command.
    Command(String),
    /// The user writes a comment at the end of a source file; the number selects the file.
    Note(usize),
    /// The user changes the spec of a kind.
    Edit(&'static str, Edit),
    /// The project is one of an earlier version, and `upgrade` runs.
    Upgrade,
}

/// A change of a struct.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Edit {
    /// One of [`FIELDS`] is added, unless the struct has it.
    Add(usize),
    Remove(usize),
    /// The documentation of a field changes.
    Describe,
    /// The struct gets a method.
    Method,
}

/// A field that the user adds, which samples need not set.
struct Field {
    name: &'static str,
    type_: &'static str,
    /// For code that makes a spec.
    value: &'static str,
    /// The field's type, if it is the user's. It is defined in each version of the kind, so that it is left out where there are several: their conversion
    /// would need a derive that only the user can choose.
    item: Option<&'static str>,
}

const FIELDS: [Field; 5] = [
    Field {
        name: "the_users_text",
        type_: "Option<String>",
        value: "None",
        item: None,
    },
    Field {
        name: "the_users_numbers",
        type_: "Vec<i64>",
        value: "Vec::new()",
        item: None,
    },
    Field {
        name: "the_users_map",
        type_: "std::collections::BTreeMap<String, bool>",
        value: "std::collections::BTreeMap::new()",
        item: None,
    },
    Field {
        name: "the_users_part",
        type_: "Option<TheUsersPart>",
        value: "None",
        item: Some(
            "
/// The user's struct.
#[derive(ApplyConfiguration, Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct TheUsersPart {
    /// The user's field of a field.
    pub the_users_size: i32,
}
",
        ),
    },
    Field {
        name: "the_users_choice",
        type_: "Option<TheUsersChoice>",
        value: "None",
        item: Some(
            "
/// The user's enum.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub enum TheUsersChoice {
    /// The user's first variant.
    First,
    /// The user's second variant.
    Second,
}
",
        ),
    },
];

/// A project in which commands run.
pub(crate) trait TestProject {
    /// Returns all files by their paths.
    fn files(&self) -> Files;
    fn write(&self, path: &str, text: &str);
    /// Runs a command, whose arguments are separated by blanks. Returns the exit code and the messages.
    fn run(&self, line: &str) -> (i32, String);
    /// Commits all files: commands refuse to change what is not committed.
    fn commit(&self);
    /// Makes the library's items and version those of an earlier release, if the project does not use the library's source.
    fn make_library_old(&self);
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    // The project starts with the first one, so most commands about it are not refused.
    let kind = prop_oneof![3 => Just(KINDS[0]), 3 => prop::sample::select(&KINDS[1..])];
    let controlled = prop::sample::select(
        &[
            "Node",
            "Pod",
            "Apple",
            "Deployment.apps/v1",
            "Thing.elsewhere.dev/v1",
            "Nothing",
        ][..],
    );
    let removed = prop::sample::select(&["Node", "Pod", "Foo", "Apple", "Thing.elsewhere.dev"][..]);
    let version = prop::sample::select(&["v1", "v1beta1", "v1alpha1", "first"][..]);
    let functions =
        prop::sample::select(&["--validating", "--defaulting", "--validating --defaulting", ""][..]);
    let group = prop::sample::select(&GROUPS[..]);
    let package = prop::sample::select(&["install", "helm", "bundle"][..]);
    let command = prop_oneof![
        4 => kind.clone().prop_map(|kind| format!("add kind {kind}")),
        2 => (kind.clone(), version.clone()).prop_map(|(kind, version)| format!("add version {kind} {version}")),
        1 => (kind.clone(), version).prop_map(|(kind, version)| format!("remove version {kind} {version}")),
        2 => (kind.clone(), functions.clone()).prop_map(|(kind, functions)| format!("add webhook {kind} {functions}")),
        1 => functions.clone().prop_map(|functions| format!("add webhook Pod {functions}")),
        2 => (controlled, kind.clone()).prop_map(|(kind, owned)| format!("add controller {kind} --owns {owned}")),
        3 => kind.clone().prop_map(|kind| format!("remove kind {kind}")),
        1 => removed.clone().prop_map(|kind| format!("remove controller {kind}")),
        1 => (removed, functions).prop_map(|(kind, functions)| format!("remove webhook {kind} {functions}")),
        1 => kind.clone().prop_map(|kind| format!("migrate storage {kind}")),
        2 => (kind.clone(), kind.clone()).prop_map(|(old, new)| format!("rename kind {old} {new}")),
        1 => (group.clone(), group).prop_map(|(old, new)| format!("rename group {old} {new}")),
        1 => Just(format!("import {DEFINITION}")),
        2 => package.prop_map(|format| format!("package {format}")),
        // Packages need its files.
        4 => Just("generate".to_owned()),
    ];
    let field = 0..FIELDS.len();
    let edit = prop_oneof![
        4 => field.clone().prop_map(Edit::Add),
        1 => field.prop_map(Edit::Remove),
        1 => Just(Edit::Describe),
        1 => Just(Edit::Method),
    ];
    let step = prop_oneof![
        10 => command.prop_map(Step::Command),
        6 => any::<usize>().prop_map(Step::Note),
        4 => (kind, edit).prop_map(|(kind, edit)| Step::Edit(kind, edit)),
        1 => Just(Step::Upgrade),
    ];
    prop::collection::vec(step, 1..14)
}

/// How often each command wrote its files or had nothing to do, and how often it was refused, over all cases of a test.
#[derive(Default)]
pub(crate) struct Summary(Mutex<BTreeMap<String, [u32; 2]>>);

impl Summary {
    fn count(&self, line: &str, succeeded: bool) {
        // `rename group demo.dev other.dev` is `rename group`, `generate` is itself.
        let words = line.split(' ').take(match line.split(' ').next() {
            Some("import" | "generate" | "upgrade") => 1,
            _ => 2,
        });
        let command = words.collect::<Vec<_>>().join(" ");
        let mut counts = self.0.lock().unwrap();
        counts.entry(command).or_default()[usize::from(!succeeded)] += 1;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.0.lock().unwrap();
        for (command, [succeeded, refused]) in counts.iter() {
            writeln!(f, "{command:<20} succeeded {succeeded:>4}, refused {refused:>4}")?;
        }
        Ok(())
    }
}

/// Commands of which none is refused in this order, and each kind of command is there: random ones may leave some out.
const EVERY_COMMAND: [&str; 18] = [
    "generate",
    "package install",
    "package helm",
    "package bundle",
    "import definition.yaml",
    "add kind Apple",
    "add webhook Apple --validating --defaulting",
    "add version Apple v1",
    "add controller Thing.elsewhere.dev/v1 --owns Pod",
    "upgrade",
    "rename kind Apple Cherry",
    "rename group demo.dev other.dev",
    "remove webhook Cherry",
    "migrate storage Cherry",
    "remove version Cherry v1alpha1",
    "remove controller Thing.elsewhere.dev",
    "remove kind Cherry",
    "remove kind Thing",
];

/// Runs each kind of command, with notes of the user between them.
pub(crate) fn run_every_command(
    project: &impl TestProject,
    summary: &Summary,
    after_command: impl FnMut(&str),
) {
    let step = |(number, line): (usize, &&str)| {
        let command = match *line {
            "upgrade" => Step::Upgrade,
            line => Step::Command(line.to_owned()),
        };
        [Step::Note(number), command]
    };
    let steps: Vec<_> = EVERY_COMMAND.iter().enumerate().flat_map(step).collect();
    run_steps(project, &steps, summary, after_command);
    let counts = summary.0.lock().unwrap();
    assert!(counts.values().all(|[_, refused]| *refused == 0), "{counts:?}");
}

/// Runs the steps. `after_command` is called after each command that was not refused.
pub(crate) fn run_steps(
    project: &impl TestProject,
    steps: &[Step],
    summary: &Summary,
    mut after_command: impl FnMut(&str),
) {
    project.write(DEFINITION, DEFINITION_TEXT);
    for (number, step) in steps.iter().enumerate() {
        let line = match step {
            Step::Note(file) => {
                write_note(project, *file, number);
                continue;
            }
            Step::Edit(kind, edit) => {
                edit_spec(project, kind, *edit);
                continue;
            }
            Step::Upgrade => {
                make_old(project);
                "upgrade"
            }
            Step::Command(line) => line,
        };
        let succeeded = run(project, line, steps);
        summary.count(line, succeeded);
        if succeeded {
            after_command(line);
        }
    }
}

fn write_note(project: &impl TestProject, number: usize, note: usize) {
    let files = sources(&project.files());
    let (name, text) = files.iter().nth(number % files.len()).unwrap();
    project.write(name, &format!("{text}\n// The user's note {note}.\n"));
}

/// Changes the spec in all files that define or make it.
fn edit_spec(project: &impl TestProject, kind: &str, edit: Edit) {
    let definition = format!("pub struct {kind}Spec {{");
    let sources = sources(&project.files());
    let versions = sources.values().filter(|text| text.contains(&definition)).count();
    for (name, text) in &sources {
        let mut edited = text.clone();
        match edit {
            Edit::Add(number) | Edit::Remove(number) if FIELDS[number].item.is_some() && versions > 1 => {}
            Edit::Add(number) => add_field(&mut edited, &FIELDS[number], kind),
            Edit::Remove(number) => remove_field(&mut edited, &FIELDS[number], kind),
            Edit::Describe if text.contains(&definition) && !text.contains("as the user's") => {
                edited = text.replacen(
                    "/// The name of the Deployment.",
                    "/// The name, as the user's.",
                    1,
                );
            }
            Edit::Method if text.contains(&definition) && !text.contains("fn the_users_method") => {
                let method = "    /// The user's.\n    pub fn the_users_method(&self) -> usize {\n        self.deployment_name.len()\n    }\n";
                edited = format!("{text}\nimpl {kind}Spec {{\n{method}}}\n");
            }
            Edit::Describe | Edit::Method => {}
        }
        if edited != *text {
            project.write(name, &edited);
        }
    }
}

/// The lines of a field: those of the struct, and that of an expression.
fn lines(field: &Field) -> [String; 2] {
    let Field {
        name, type_, value, ..
    } = field;
    [
        format!("    /// The user's {name}.\n    #[serde(default)]\n    pub {name}: {type_},\n"),
        format!("{name}: {value},\n"),
    ]
}

fn add_field(text: &mut String, field: &Field, kind: &str) {
    if text.contains(field.name) {
        return;
    }
    let [declared, set] = lines(field);
    let expression = format!("= {kind}Spec {{\n");
    if let Some(at) = text.find(&expression) {
        text.insert_str(at + expression.len(), &set);
    }
    let marker = "    /// The desired number of replicas.\n";
    let start = text.find(&format!("pub struct {kind}Spec {{"));
    if let Some(start) = start
        && let Some(at) = text[start..].find(marker)
    {
        text.insert_str(start + at, &declared);
        text.push_str(field.item.unwrap_or_default());
    }
}

/// Removes what [`add_field`] added. Formatting may have indented it.
fn remove_field(text: &mut String, field: &Field, kind: &str) {
    let [declared, set] = lines(field);
    if let Some(body) = body_of(text, &format!("= {kind}Spec {{")) {
        let kept = text[body.clone()].split_inclusive('\n');
        let kept: String = kept.filter(|line| line.trim() != set.trim()).collect();
        text.replace_range(body, &kept);
    }
    if let Some(body) = body_of(text, &format!("pub struct {kind}Spec {{")) {
        let kept = text[body.clone()].replace(&declared, "");
        text.replace_range(body, &kept);
        if let Some(item) = field.item {
            *text = text.replace(item, "");
        }
    }
}

/// Returns where the lines after `start` are, to the bracket that closes them.
fn body_of(text: &str, start: &str) -> Option<std::ops::Range<usize>> {
    let start = text.find(start)? + start.len();
    let mut depth = 1;
    let end = text[start..].find(|c| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    Some(start..start + end)
}

/// Makes the project one of an earlier version, in which managed files had a line more.
fn make_old(project: &impl TestProject) {
    let files = project.files();
    for (name, at, line) in [
        ("Dockerfile", "\nUSER ", "# An old line."),
        ("chart/Chart.yaml", "\nname: ", "# An old line."),
        (
            "bundle/metadata/annotations.yaml",
            "\n  operators",
            "  # An old line.",
        ),
        (
            "src/api/imported/elsewhere_dev/thing.rs",
            "\nimpl kube::Resource ",
            "// An old line.",
        ),
    ] {
        let both = [name.to_owned(), format!(".kubewright/base/{name}")];
        if both.iter().all(|name| files.contains_key(name)) {
            for name in both {
                let text = String::from_utf8(files[&name].clone()).unwrap();
                assert!(text.contains(at), "{name} lacks {at:?}: {text}");
                project.write(&name, &text.replacen(at, &format!("\n{line}{at}"), 1));
            }
        }
    }
    project.make_library_old();
}

/// The exit code of `generate` for errors of samples, after it wrote its files.
const SAMPLE: i32 = 8;

/// Runs a command twice and checks what the module describes. Returns whether it wrote its files.
fn run(project: &impl TestProject, line: &str, steps: &[Step]) -> bool {
    project.commit();
    let before = project.files();
    let (code, messages) = project.run(line);
    let after = project.files();
    if line == "upgrade" {
        assert_eq!(code, 0, "{messages}: {steps:?}");
        let mut texts = after
            .iter()
            .map(|(name, text)| (name, String::from_utf8_lossy(text)));
        let old = texts.find(|(_, text)| text.contains("An old line."));
        assert!(old.is_none(), "not upgraded: {old:?}: {steps:?}");
    }
    if code == 0 || code == SAMPLE {
        check_user_lines(&before, &after, line, steps);
    } else {
        assert!(messages.starts_with("error: "), "{line}: {messages}");
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
    project.commit();
    project.run(line);
    let again = project.files();
    let changed: Vec<_> = again
        .iter()
        .filter(|(name, text)| after.get(*name) != Some(text))
        .map(|(name, _)| name)
        .collect();
    assert!(again == after, "{line} once more changed {changed:?}: {steps:?}");
    code == 0 || code == SAMPLE
}

/// No line of the user is in fewer places than before, but for those of files that the command removed.
fn check_user_lines(before: &Files, after: &Files, command: &str, steps: &[Step]) {
    let after_lines = user_lines(after, |_| true);
    let is_removed = |name: &str| !after.contains_key(name) && command.starts_with("remove ");
    for (line, count) in user_lines(before, |name| !is_removed(name)) {
        let kept = after_lines.get(&line).copied().unwrap_or_default();
        assert!(
            kept >= count,
            "{command} lost {line:?} in {} of {count} places: {steps:?}",
            count - kept
        );
    }
}

/// Returns how often each line of the user is in some files.
fn user_lines(files: &Files, is_counted: impl Fn(&str) -> bool) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for (_, text) in sources(files).into_iter().filter(|(name, _)| is_counted(name)) {
        for line in text.lines() {
            if line.contains("user's") || line.contains("the_users") {
                *lines.entry(line.trim().to_owned()).or_default() += 1;
            }
        }
    }
    lines
}

/// Returns the Rust files, without merge bases.
fn sources(files: &Files) -> BTreeMap<String, String> {
    let is_rust = |name: &str| {
        let path = Path::new(name);
        !path.starts_with(".kubewright") && path.extension().is_some_and(|extension| extension == "rs")
    };
    let sources = files.iter().filter(|(name, _)| is_rust(name));
    sources
        .map(|(name, text)| (name.clone(), String::from_utf8(text.clone()).unwrap()))
        .collect()
}
