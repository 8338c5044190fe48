//! `cargo xtask check`: what a person runs before a commit. It checks the packages that changed, `.ci/run` checks everything.

use crate::{cargo_metadata, import_cycles, public_names, test};
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A package of the workspace, with its folder relative to the workspace's.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Package {
    name: String,
    folder: String,
    has_library: bool,
}

pub(crate) fn run(base: Option<&str>) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask is in no workspace")?;
    let start = Instant::now();
    let step = |name: &str, action: &mut dyn FnMut() -> anyhow::Result<()>| {
        let start = Instant::now();
        action().with_context(|| name.to_owned())?;
        eprintln!("--- {name}: {} s", start.elapsed().as_secs());
        anyhow::Ok(())
    };
    step("fmt", &mut || cargo(root, &["fmt", "--all", "--check"]))?;
    step("hygiene", &mut || succeed(Command::new(root.join(".ci/hygiene"))))?;
    step("import cycles and public names", &mut || {
        import_cycles::run()?;
        public_names::run(false)
    })?;
    let changed = changed_packages(&changed_files(root, base)?, &packages(root)?);
    if changed.is_empty() {
        eprintln!("no package changed");
    }
    // One package after the other: each has the same features every time, so that its dependencies stay built.
    for Package {
        name, has_library, ..
    } in changed
    {
        step(&format!("clippy {name}"), &mut || {
            let arguments = ["clippy", "--locked", "--all-targets", "--package", &name];
            cargo(root, &[&arguments[..], &["--", "-D", "warnings"]].concat())
        })?;
        step(&format!("unit tests of {name}"), &mut || {
            test::run_unit_tests(&name, has_library)
        })?;
    }
    eprintln!("--- all: {} s", start.elapsed().as_secs());
    Ok(())
}

/// Returns the files that differ from `base`, or else from where this branch left `main`, or else from the last commit.
fn changed_files(root: &Path, base: Option<&str>) -> anyhow::Result<Vec<String>> {
    let base = match base {
        Some(base) => base.to_owned(),
        None => git(root, &["merge-base", "HEAD", "main"]).unwrap_or_else(|_| "HEAD".to_owned()),
    };
    let changed = git(root, &["diff", "--name-only", base.trim()])?;
    let untracked = git(root, &["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed
        .lines()
        .chain(untracked.lines())
        .map(str::to_owned)
        .collect())
}

/// Returns the packages that the files belong to: those with the longest folder that contains them.
fn changed_packages(files: &[String], packages: &[Package]) -> BTreeSet<Package> {
    let owner = |file: &String| {
        let contains = |package: &&Package| {
            let below = file.strip_prefix(&package.folder);
            below.is_some_and(|below| below.starts_with('/'))
        };
        packages
            .iter()
            .filter(contains)
            .max_by_key(|package| package.folder.len())
    };
    files.iter().filter_map(owner).cloned().collect()
}

fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    let packages = cargo_metadata::packages(&root.join("Cargo.toml"))?;
    let package = |value: &Value| {
        let manifest = Path::new(value["manifest_path"].as_str()?);
        let folder = manifest.parent()?.strip_prefix(root).ok()?;
        let mut targets = value["targets"].as_array()?.iter();
        Some(Package {
            has_library: targets
                .any(|target| target["kind"] == json!(["lib"]) || target["kind"] == json!(["proc-macro"])),
            name: value["name"].as_str()?.to_owned(),
            folder: folder.to_str()?.to_owned(),
        })
    };
    Ok(packages.iter().filter_map(package).collect())
}

fn git(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").args(arguments).current_dir(root).output();
    let output = output.context("cannot run git")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        stderr.trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn cargo(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).current_dir(root);
    succeed(command)
}

fn succeed(mut command: Command) -> anyhow::Result<()> {
    let program = command.get_program().display().to_string();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    ensure!(status.success(), "{program}: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_belongs_to_the_innermost_package() {
        let package = |name: &str, folder: &str| Package {
            name: name.to_owned(),
            folder: folder.to_owned(),
            has_library: true,
        };
        let packages = [
            package("kubewright-testkit", "testkit"),
            package("kubewright-control-plane", "testkit/control-plane"),
            package("kubewright-tests", "tests"),
        ];
        let changed = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
            changed_packages(&files, &packages)
                .into_iter()
                .map(|package| package.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            changed(&["testkit/control-plane/go.mod"]),
            ["kubewright-control-plane"]
        );
        assert_eq!(
            changed(&["testkit/src/lib.rs", "testkit/tests/plane.rs", "tests/src/lib.rs"]),
            ["kubewright-testkit", "kubewright-tests"]
        );
        assert_eq!(changed(&["README.md", ".ci/run", "testkit.md"]), [""; 0]);
    }

    #[test]
    fn packages_of_this_workspace_have_folders() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let packages = packages(root).unwrap();
        let find = |name: &str| packages.iter().find(|package| package.name == name).unwrap();
        assert_eq!(
            (&*find("xtask").folder, find("xtask").has_library),
            ("xtask", false)
        );
        let macros = find("kubewright-macros");
        assert_eq!((&*macros.folder, macros.has_library), ("codegen-macros", true));
    }
}
