//! `cargo xtask check-imports`: `kubewright import` of all definitions that large projects publish, and their own samples.
//!
//! For each project, a scaffold imports its definitions. `round_trip.rs` becomes a test of it: on an API server with the definitions, each
//! object that is accepted must be decoded and encoded without loss. Objects are all YAML documents in the project's module, and random ones.
//! A project has one version of a kind, so definitions with several served versions need as many rounds: each has other versions.

mod definitions;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::api_files::download_module;
use definitions::{documents, is_served, samples, with_version};

/// A Go module with definitions.
struct Module {
    path: &'static str,
    version: &'static str,
    /// The folder of the definitions.
    folder: &'static str,
    /// How many samples of a round's versions the API server accepts, and how many there are. The others are for the project's tests of
    /// refusals, or have unknown fields, or no name. The check prints the API server's reasons, and the samples of versions that are not served.
    samples: &'static [&'static str],
}

const MODULES: [Module; 6] = [
    Module {
        path: "github.com/cert-manager/cert-manager",
        version: "v1.21.2",
        folder: "deploy/crds",
        samples: &["3 of 3"],
    },
    Module {
        path: "github.com/prometheus-operator/prometheus-operator",
        version: "v0.85.0",
        folder: "example/prometheus-operator-crd",
        samples: &["25 of 28"],
    },
    Module {
        path: "sigs.k8s.io/gateway-api",
        version: "v1.4.0",
        folder: "config/crd/experimental",
        samples: &["255 of 291", "17 of 18"],
    },
    Module {
        path: "github.com/argoproj/argo-rollouts",
        version: "v1.8.3",
        folder: "manifests/crds",
        samples: &["133 of 157"],
    },
    Module {
        path: "github.com/crossplane/crossplane/v2",
        version: "v2.1.0",
        folder: "cluster/crds",
        samples: &["119 of 147", "20 of 20"],
    },
    Module {
        path: "sigs.k8s.io/kueue",
        version: "v0.17.0",
        folder: "config/components/crd/bases",
        samples: &["2 of 2", "18 of 18"],
    },
];
const TEST: &str = include_str!("round_trip.rs");
/// The line of the test that the kinds replace.
const KINDS_LINE: &str = "    // The kinds.\n";

/// Checks the projects whose module contains the text, one after the other.
pub(crate) fn run(only: Option<&str>) -> Result<()> {
    let selected = MODULES
        .iter()
        .filter(|module| only.is_none_or(|only| module.path.contains(only)));
    for module in selected {
        let Module { path, version, .. } = module;
        let root = download_module(path, version)?;
        check(module, &root).with_context(|| format!("{path}@{version}"))?;
    }
    Ok(())
}

fn check(module: &Module, root: &Path) -> Result<()> {
    let folder = module.folder;
    let definitions: Vec<Value> = documents(&root.join(folder))?
        .into_iter()
        .filter(|document| document["kind"] == "CustomResourceDefinition")
        .collect();
    ensure!(!definitions.is_empty(), "no definitions in {folder}");
    let mut samples = samples(root, &definitions)?;
    let mut found = vec![];
    for number in 0.. {
        let definitions: Vec<Value> = definitions
            .iter()
            .filter_map(|crd| with_version(crd, number))
            .collect();
        if definitions.is_empty() {
            break;
        }
        let (of_round, others): (Vec<Value>, Vec<Value>) = samples
            .into_iter()
            .partition(|sample| definitions.iter().any(|crd| is_served(crd, sample)));
        samples = others;
        found.push(check_round(&definitions, &of_round).with_context(|| format!("round {number}"))?);
    }
    for sample in &samples {
        let Value::String(version) = &sample["apiVersion"] else {
            continue;
        };
        eprintln!(
            "not served: {version} {} {}",
            sample["kind"], sample["metadata"]["name"]
        );
    }
    eprintln!(
        "{}: accepted samples {found:?}, {} not served",
        module.path,
        samples.len()
    );
    ensure!(
        found == module.samples,
        "the API server accepts {found:?} samples instead of {:?}",
        module.samples
    );
    Ok(())
}

/// Imports the definitions into a project, and runs the test. Returns how many of the samples were accepted.
fn check_round(definitions: &[Value], samples: &[Value]) -> Result<String> {
    let temporary = tempfile::tempdir()?;
    kubewright(
        temporary.path(),
        &["new", "imports", "--kind", "Foo", "--group", "demo.dev"],
    )?;
    let project = temporary.path().join("imports");
    fs::write(project.join("definitions.json"), json!(definitions).to_string())?;
    fs::write(project.join("samples.json"), json!(samples).to_string())?;
    // Documents of YAML are separated; each is JSON.
    let stream: Vec<String> = definitions.iter().map(Value::to_string).collect();
    fs::write(project.join("definitions.yaml"), stream.join("\n---\n"))?;
    kubewright(&project, &["import", "definitions.yaml"])?;
    let kinds: Vec<String> = imported(&project)?
        .into_iter()
        .map(|kind| format!("    kinds.check::<imports::api::imported::{kind}>();\n"))
        .collect();
    // Each definition is imported and checked.
    ensure!(
        kinds.len() == definitions.len(),
        "{} kinds of {} definitions are imported",
        kinds.len(),
        definitions.len()
    );
    fs::write(
        project.join("tests/round_trip.rs"),
        TEST.replace(KINDS_LINE, &kinds.concat()),
    )?;
    with_cel(&project.join("Cargo.toml"))?;
    let mut test = Command::new("cargo");
    test.args(["test", "--test", "round_trip", "--", "--nocapture"])
        .env("CARGO_TARGET_DIR", workspace().join("target"))
        .current_dir(&project);
    ensure!(test.status()?.success(), "the test failed");
    // The test writes it.
    Ok(fs::read_to_string(project.join("accepted.txt"))?)
}

/// Returns the paths of the imported structs below `api::imported`, as `demo_dev::thing::Thing`.
fn imported(project: &Path) -> Result<Vec<String>> {
    let folder = project.join("src/api/imported");
    let mut kinds = vec![];
    for group in fs::read_dir(&folder)? {
        let group = group?;
        if !group.path().is_dir() {
            continue;
        }
        for module in fs::read_dir(group.path())? {
            let path = module?.path();
            let text = fs::read_to_string(&path)?;
            // The module says so in its first line.
            let kind = text
                .strip_prefix("//! The kind ")
                .and_then(|rest| rest.split(' ').next());
            if let (Some(kind), Some(module)) = (kind, path.file_stem()) {
                let (group, module) = (group.file_name(), module.to_string_lossy());
                kinds.push(format!("{}::{module}::{kind}", group.to_string_lossy()));
            }
        }
    }
    kinds.sort();
    ensure!(!kinds.is_empty(), "nothing was imported");
    Ok(kinds)
}

/// Switches on testkit's CEL, for the rules of the definitions.
fn with_cel(manifest: &Path) -> Result<()> {
    let text = fs::read_to_string(manifest)?;
    let line = text
        .lines()
        .find(|line| line.starts_with("kubewright-testkit = {"));
    let line = line.context("the dependency on testkit")?;
    let with_feature = line.replace(" }", ", features = [\"cel\"] }");
    fs::write(manifest, text.replace(line, &with_feature))?;
    Ok(())
}

/// Runs the command from this workspace.
fn kubewright(folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args([
            "run",
            "--quiet",
            "--locked",
            "--package",
            "kubewright-cli",
            "--bin",
            "kubewright",
        ])
        .arg("--manifest-path")
        .arg(workspace().join("Cargo.toml"))
        .arg("--")
        .args(arguments)
        .current_dir(folder);
    ensure!(
        command.status()?.success(),
        "kubewright {} failed",
        arguments.join(" ")
    );
    Ok(())
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
