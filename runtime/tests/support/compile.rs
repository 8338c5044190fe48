//! Compiles programs with the libraries that the test itself is linked with, and compares the compiler's errors with recorded ones.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

/// What compiling a program must lead to.
#[derive(Clone, Copy)]
pub(crate) enum Expected {
    /// The program compiles, and succeeds when it runs.
    Runs,
    /// The program does not compile. The errors are in the `.stderr` file beside it, which `UPDATE_COMPILE_ERRORS=1` writes.
    Errors,
}

/// Compiles programs of the package whose folder is the current one.
pub(crate) struct Compiler {
    /// What [`kubewright_rustc_arguments::rustc_arguments`] expands to in the test.
    arguments: &'static str,
    folder: tempfile::TempDir,
}

impl Compiler {
    pub(crate) fn new(arguments: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { arguments, folder }
    }

    /// Checks all `.rs` files in the folder, as many at the same time as there are cores, and panics with all that failed.
    pub(crate) fn check_all(&self, folder: &str, expected: Expected) {
        let mut sources: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .collect();
        assert!(!sources.is_empty(), "{folder} has no programs");
        sources.sort();
        let (sources, failures) = (Mutex::new(sources.into_iter()), Mutex::new(String::new()));
        let next = || sources.lock().unwrap().next();
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some(source) = next() {
                        if let Err(failure) = self.check(&source, expected) {
                            let _ = writeln!(failures.lock().unwrap(), "\n{}: {failure}", source.display());
                        }
                    }
                });
            }
        });
        let failures = failures.into_inner().unwrap();
        assert!(failures.is_empty(), "{failures}");
    }

    fn check(&self, source: &Path, expected: Expected) -> Result<(), String> {
        let program = self.folder.path().join(source.file_stem().unwrap());
        let compiled = self.compile(source, &program, expected);
        let errors = String::from_utf8_lossy(&compiled.stderr).into_owned();
        match expected {
            Expected::Runs if compiled.status.success() => {
                let ran = Command::new(&program).output().unwrap();
                fs::remove_file(&program).unwrap();
                let output = String::from_utf8_lossy(&ran.stderr);
                if ran.status.success() {
                    Ok(())
                } else {
                    Err(format!("{}\n{output}", ran.status))
                }
            }
            Expected::Runs => Err(errors),
            Expected::Errors if compiled.status.success() => Err("it compiles".to_owned()),
            Expected::Errors => {
                let (errors, recorded) = (normalize(&errors, source), source.with_extension("stderr"));
                if std::env::var_os("UPDATE_COMPILE_ERRORS").is_some() {
                    fs::write(&recorded, &errors).unwrap();
                }
                let recorded = fs::read_to_string(recorded).unwrap_or_default();
                if errors == recorded {
                    Ok(())
                } else {
                    Err(format!(
                        "expected\n\n{recorded}\ngot (UPDATE_COMPILE_ERRORS=1 records it)\n\n{errors}"
                    ))
                }
            }
        }
    }

    fn compile(&self, source: &Path, program: &Path, expected: Expected) -> Output {
        let mut arguments = self.arguments.lines();
        let compiler = arguments.next().unwrap();
        // Clippy, which CI compiles with, gets the compiler as its first argument. Its lints are for this workspace.
        let is_clippy = compiler.ends_with("clippy-driver");
        let compiler = arguments.next().filter(|_| is_clippy).unwrap_or(compiler);
        let mut command = Command::new(compiler);
        let mut arguments = self.arguments.lines();
        while let Some(argument) = arguments.next() {
            if matches!(argument, "--extern" | "-L") {
                command.arg(argument).arg(arguments.next().unwrap());
            }
        }
        let emit = match expected {
            Expected::Runs => "link",
            Expected::Errors => "metadata",
        };
        command
            .args([
                "--edition=2024",
                "--crate-type=bin",
                "--crate-name=input",
                "--color=never",
            ])
            .args(["--diagnostic-width=140", "-Adead_code", "--emit", emit])
            .arg("-o")
            .arg(program)
            .arg(source)
            .output()
            .unwrap()
    }
}

/// Removes what depends on the machine, on what else is built, and on the lines of other files, which change often.
fn normalize(errors: &str, source: &Path) -> String {
    let mut normalized = String::new();
    let mut diagnostic = vec![];
    for line in errors.lines().map(str::trim_end) {
        if line.starts_with("error") || line.starts_with("warning") {
            normalize_diagnostic(&diagnostic, source, &mut normalized);
            diagnostic.clear();
        }
        diagnostic.push(line);
    }
    normalize_diagnostic(&diagnostic, source, &mut normalized);
    format!("{}\n", normalized.trim_end())
}

fn normalize_diagnostic(lines: &[&str], source: &Path, normalized: &mut String) {
    if lines
        .first()
        .is_some_and(|line| line.starts_with("error: aborting due to"))
    {
        return;
    }
    let margin = |line: &str| line.len() - line.trim_start().len();
    let mut shown = vec![];
    // The longest line number, which decides how wide the margin is.
    let mut longest = 1;
    let (mut in_other_file, mut list_margin) = (false, None);
    for line in lines {
        let content = line.trim_start();
        // Which types of other libraries implement a trait depends on what else is built.
        if list_margin.is_some_and(|list| margin(line) > list) {
            continue;
        }
        list_margin = content
            .contains("the following other types implement trait")
            .then(|| margin(line));
        if REMOVED_LINES.iter().any(|removed| content.starts_with(removed)) {
            continue;
        }
        if content.starts_with("--> ") || content.starts_with("::: ") {
            let (arrow, place) = content.split_at(4);
            in_other_file = !place.starts_with(source.to_str().unwrap());
            let place = if in_other_file {
                other_path(place)
            } else {
                place.to_owned()
            };
            shown.push(format!("{}{arrow}{place}", " ".repeat(margin(line))));
            continue;
        }
        let code = content.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_code = code.trim_start().starts_with('|') || content == "...";
        in_other_file &= is_code;
        if !in_other_file {
            if is_code {
                longest = longest.max(content.len() - code.len());
            }
            shown.push((*line).to_owned());
        }
    }
    let arrow = lines.iter().find(|line| line.trim_start().starts_with("--> "));
    let excess = " ".repeat(arrow.map_or(0, |line| margin(line)).saturating_sub(longest));
    for line in shown {
        let _ = writeln!(normalized, "{}", line.strip_prefix(&excess).unwrap_or(&line));
    }
}

/// How lines begin that say nothing about the error.
const REMOVED_LINES: [&str; 4] = [
    "For more information about",
    "Some errors have detailed explanations",
    "= note: the full name for the type has been written to",
    "= note: consider using `--verbose`",
];

/// The path of a file that is not the program's, without line and column.
fn other_path(place: &str) -> String {
    let path = place.split(".rs:").next().unwrap_or(place);
    let below = |folder: &str| path.split_once(folder).map(|(_, below)| below);
    if let Some(below) = below("/library/") {
        format!("$RUST/{below}.rs")
    } else if let Some(below) = below("/registry/src/").and_then(|below| below.split_once('/')) {
        format!("$CARGO/{}.rs", below.1)
    } else {
        // Of the workspace, relative to its folder.
        format!("{path}.rs")
    }
}

#[test]
fn normalized_errors_do_not_depend_on_the_machine() {
    let errors = "error[E0277]: no\n   --> tests/x.rs:7:1\n    |\n  7 | a\n    | ^\n    = help: the following other types implement \
        trait `T`:\n              A\n            and 31 others\n    = note: the full name for the type has been written to '/tmp/a.txt'\n\
        note: required\n   --> runtime/src/kind.rs:120:9\n    |\n120 | pub trait Kind\n    |           ^^^^\n...\n131 |     fn\n\
        note: required\n   --> /rustc/0a/library/core/src/option.rs:1:2\n    = note: end\n\nerror: aborting due to 1 previous error\n\n\
        For more information about this error, try `rustc --explain E0277`.\n";
    let expected = "error[E0277]: no\n --> tests/x.rs:7:1\n  |\n7 | a\n  | ^\n  = help: the following other types implement trait \
        `T`:\nnote: required\n --> runtime/src/kind.rs\nnote: required\n --> $RUST/core/src/option.rs\n  = note: end\n";
    assert_eq!(normalize(errors, Path::new("tests/x.rs")), expected);
}
