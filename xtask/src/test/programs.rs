//! The test programs of the workspace: cargo builds them and names them, they list their tests.

use super::libtest;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which tests of a program to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Selection {
    /// All but the ignored ones.
    Plain,
    /// Only the ignored ones.
    Ignored,
}

/// A program that cargo built, with the number of its tests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TestProgram {
    /// `package` for the tests in a library's sources, else `package/target`.
    pub(crate) name: String,
    pub(crate) package: String,
    pub(crate) executable: PathBuf,
    /// The package's folder, in which `cargo test` runs it.
    pub(crate) folder: PathBuf,
    pub(crate) tests: usize,
    pub(crate) ignored: usize,
}

impl TestProgram {
    pub(crate) fn count(&self, selection: Selection) -> usize {
        match selection {
            Selection::Plain => self.tests - self.ignored,
            Selection::Ignored => self.ignored,
        }
    }

    /// The program with the variables that `cargo test` sets; xtask has removed those of `cargo run`. Cargo's wrapper of the compiler is for
    /// this workspace, not for the projects that tests build.
    /// The nicer it is, the more of the cores it leaves to others.
    pub(crate) fn command(&self, niceness: u8) -> Command {
        let mut command = if niceness == 0 {
            Command::new(&self.executable)
        } else {
            let mut nice = Command::new("nice");
            nice.args(["-n", &niceness.to_string()]).arg(&self.executable);
            nice
        };
        command
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .env_remove("CLIPPY_ARGS")
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO_MANIFEST_PATH", self.folder.join("Cargo.toml"))
            .env("CARGO_PKG_NAME", &self.package)
            .stdin(Stdio::null());
        command
    }

    fn list(&self, arguments: &[&str], libraries: &OsString) -> anyhow::Result<usize> {
        let output = self
            .command(0)
            .env("LD_LIBRARY_PATH", libraries)
            .args(["--list", "--format", "terse"])
            .args(arguments)
            .output();
        let output = output.with_context(|| format!("cannot run {}", self.executable.display()))?;
        ensure!(
            output.status.success(),
            "{} --list: {}: {}",
            self.name,
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(libtest::count_tests(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// Builds the test programs, of the given packages or of the workspace, and lists their tests.
pub(crate) fn build(root: &Path, packages: &[String], targets: &[&str]) -> anyhow::Result<Vec<TestProgram>> {
    let mut command = cargo_test(root, packages);
    command
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .args(targets);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo test --no-run: {}", output.status);
    let mut programs = parse_artifacts(&String::from_utf8_lossy(&output.stdout))?;
    let libraries = library_path(root)?;
    for program in &mut programs {
        program.tests = program.list(&[], &libraries)?;
        program.ignored = program.list(&["--ignored"], &libraries)?;
    }
    Ok(programs)
}

/// Returns how many programs and tests cargo itself lists, documentation tests not included.
pub(crate) fn list_with_cargo(root: &Path) -> anyhow::Result<(usize, usize)> {
    let mut command = cargo_test(root, &[]);
    command.args(["--tests", "--", "--list", "--format", "terse"]);
    let output = command.output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo test -- --list: {}", output.status);
    // Cargo names the programs on standard error; the programs list their tests on standard output.
    let (programs, _) = libtest::count_programs(&String::from_utf8_lossy(&output.stderr));
    Ok((
        programs,
        libtest::count_tests(&String::from_utf8_lossy(&output.stdout)),
    ))
}

fn cargo_test(root: &Path, packages: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["test", "--locked"]);
    if packages.is_empty() {
        command.arg("--workspace");
    }
    for package in packages {
        command.args(["--package", package]);
    }
    command
}

/// The folder of Rust's own libraries: tests of procedural macros are linked with the compiler's.
pub(crate) fn library_path(root: &Path) -> anyhow::Result<OsString> {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir"])
        .current_dir(root)
        .output()
        .context("cannot run rustc")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// Parses cargo's messages, one JSON object a line.
fn parse_artifacts(messages: &str) -> anyhow::Result<Vec<TestProgram>> {
    let mut programs = vec![];
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("cargo printed invalid JSON")?;
        let is_test = message["profile"]["test"] == true;
        let Some(executable) = message["executable"].as_str().filter(|_| is_test) else {
            continue;
        };
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().context("cargo names no package folder")?;
        let package = package_name(message["package_id"].as_str().unwrap_or_default());
        let target = message["target"]["name"].as_str().unwrap_or_default();
        let is_library = message["target"]["kind"]
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib" || kind == "proc-macro"));
        programs.push(TestProgram {
            name: if is_library {
                package.clone()
            } else {
                format!("{package}/{target}")
            },
            package,
            executable: executable.into(),
            folder: folder.to_owned(),
            tests: 0,
            ignored: 0,
        });
    }
    Ok(programs)
}

/// The name in a package id: `path+file:///src/name#0.1.0`, or `path+file:///src/folder#name@0.1.0` where they differ.
fn package_name(id: &str) -> String {
    let (source, fragment) = id.split_once('#').unwrap_or(("", id));
    let last = source.rsplit('/').next().unwrap_or_default();
    fragment.split_once('@').map_or(last, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_executables_are_programs() {
        let messages = r#"
{"reason":"compiler-artifact","package_id":"registry+https://example.com#serde@1.0.0","manifest_path":"/c/serde/Cargo.toml","target":{"kind":["lib"],"name":"serde"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","package_id":"path+file:///w/runtime#kubewright@0.1.0","manifest_path":"/w/runtime/Cargo.toml","target":{"kind":["lib"],"name":"kubewright"},"profile":{"test":true},"executable":"/t/kubewright-1"}
{"reason":"compiler-artifact","package_id":"path+file:///w/runtime#kubewright@0.1.0","manifest_path":"/w/runtime/Cargo.toml","target":{"kind":["test"],"name":"cache"},"profile":{"test":true},"executable":"/t/cache-1"}
{"reason":"compiler-artifact","package_id":"path+file:///w/cli#0.1.0","manifest_path":"/w/cli/Cargo.toml","target":{"kind":["bin"],"name":"kubewright"},"profile":{"test":false},"executable":"/t/kubewright"}
{"reason":"build-finished","success":true}"#;
        let programs = parse_artifacts(messages).unwrap();
        let found: Vec<_> = programs
            .iter()
            .map(|program| (program.name.as_str(), program.executable.to_str().unwrap()))
            .collect();
        assert_eq!(
            found,
            [
                ("kubewright", "/t/kubewright-1"),
                ("kubewright/cache", "/t/cache-1")
            ]
        );
        assert_eq!(programs[0].folder, Path::new("/w/runtime"));
    }

    #[test]
    fn package_name_is_in_the_fragment_or_is_the_folder() {
        assert_eq!(
            package_name("path+file:///w/runtime#kubewright@0.1.0"),
            "kubewright"
        );
        assert_eq!(package_name("path+file:///w/xtask#0.1.0"), "xtask");
    }

    #[test]
    fn invalid_messages_are_an_error() {
        assert!(parse_artifacts("{\"reason\":").is_err());
    }
}
