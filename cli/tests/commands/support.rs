//! A temporary directory with a fake cargo, in which commands run in process.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use clap::Parser;
use kubewright_cli::{Context, args::Cli, exit, run};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A temporary directory with fake tools beside it.
pub(crate) struct Sandbox {
    folder: TempDir,
    /// The current directory of commands.
    pub(crate) cwd: PathBuf,
    git: PathBuf,
    rustfmt: PathBuf,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: u8,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    #[track_caller]
    pub(crate) fn expect(self, code: u8) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn stderr_contains(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "{text:?} is not in:\n{}", self.stderr);
        self
    }
}

impl Sandbox {
    /// Creates an empty directory.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        Self {
            cwd: folder.path().join("work"),
            folder,
            git: "git".into(),
            // rustfmt is slow to start, and few tests depend on formatting.
            rustfmt: concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/fake_rustfmt.sh").into(),
        }
    }

    /// Creates a project `shop` with the kind Foo and enters it; its operator prints [`manifests`], and nothing is generated yet.
    pub(crate) fn project() -> Self {
        let mut sandbox = Self::new();
        sandbox
            .kubewright("new shop --kind Foo --group demo.dev --kubewright-version 0.1.0")
            .expect(0);
        sandbox.cwd = sandbox.cwd.join("shop");
        for folder in ["manifests/crds", "manifests/rbac", "docs"] {
            fs::remove_dir_all(sandbox.cwd.join(folder)).unwrap();
        }
        fs::remove_file(sandbox.cwd.join("manifests/Kustomization")).unwrap();
        sandbox.set_manifests(&manifests());
        sandbox.set_crate_version(env!("CARGO_PKG_VERSION"));
        sandbox
    }

    /// Makes rustfmt available.
    pub(crate) fn with_rustfmt(mut self) -> Self {
        self.rustfmt = "rustfmt".into();
        self
    }

    /// Makes another program rustfmt.
    pub(crate) fn set_rustfmt(&mut self, program: &str) {
        self.rustfmt = program.into();
    }

    /// Changes to a subdirectory.
    pub(crate) fn in_folder(self, below: &str) -> Self {
        Self {
            cwd: self.cwd.join(below),
            ..self
        }
    }

    /// Makes git unavailable.
    pub(crate) fn without_git(mut self) -> Self {
        self.git = "/nonexistent/git".into();
        self
    }

    /// Runs a command; its arguments are separated by blanks.
    pub(crate) fn kubewright(&self, line: &str) -> Outcome {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let cli = match Cli::try_parse_from(std::iter::once("kubewright").chain(line.split_whitespace())) {
            Ok(cli) => cli,
            Err(error) => {
                return Outcome {
                    code: exit::USAGE,
                    stdout: String::new(),
                    stderr: error.to_string(),
                };
            }
        };
        let mut context = Context {
            cwd: self.cwd.clone(),
            stdout: &mut stdout,
            stderr: &mut stderr,
            cargo: self.folder.path().join("cargo"),
            rustfmt: self.rustfmt.clone(),
            git: self.git.clone(),
            color: false,
        };
        let result = run(cli, &mut context);
        let code = result.as_ref().err().map_or(0, kubewright_cli::Error::exit_code);
        if let Err(error) = result {
            context.message(format_args!("error: {error}")).unwrap();
        }
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Outcome {
            code,
            stdout: text(stdout),
            stderr: text(stderr),
        }
    }

    /// Sets the output of `<operator> manifests`.
    pub(crate) fn set_manifests(&self, manifests: &Value) {
        self.fake_cargo("manifests", &manifests.to_string(), "", 0);
    }

    /// Sets the version of the kubewright crate in `cargo metadata`.
    pub(crate) fn set_crate_version(&self, version: &str) {
        let id = |name: &str| format!("path+file:///{name}#1.0.0");
        let package = |name: &str, version: &str, manifest: &Path, kinds: &str| {
            json!({
                "name": name, "version": version, "id": id(name), "manifest_path": manifest, "dependencies": [],
                "targets": [{"name": name, "kind": [kinds], "crate_types": [kinds], "src_path": "/src.rs",
                    "edition": "2024", "doctest": false, "test": true, "doc": true}],
                "features": {}, "edition": "2024",
            })
        };
        let node = |name: &str, dependencies: &[String]| json!({"id": id(name), "dependencies": dependencies, "deps": [], "features": []});
        let metadata = json!({
            "version": 1, "workspace_members": [id("shop")], "workspace_root": self.cwd, "target_directory": "/target",
            "packages": [
                package("shop", "0.1.0", &self.cwd.join("Cargo.toml"), "bin"),
                package("kubewright", version, Path::new("/kubewright/Cargo.toml"), "lib"),
            ],
            "resolve": {"nodes": [node("shop", &[id("kubewright")]), node("kubewright", &[])], "root": id("shop")},
        });
        self.fake_cargo("metadata", &metadata.to_string(), "", 0);
        self.set_build_success();
    }

    /// Makes `cargo build` succeed; the built operator is the fake cargo.
    pub(crate) fn set_build_success(&self) {
        let artifact = json!({
            "reason": "compiler-artifact", "package_id": "path+file:///shop#1.0.0", "manifest_path": "/Cargo.toml",
            "target": {"name": "shop", "kind": ["bin"], "crate_types": ["bin"], "src_path": "/src.rs",
                "edition": "2024", "doctest": false, "test": true, "doc": true},
            "profile": {"opt_level": "0", "debuginfo": 1, "debug_assertions": true, "overflow_checks": true, "test": false},
            "features": [], "filenames": [], "executable": self.folder.path().join("cargo"), "fresh": false,
        });
        self.fake_cargo("build", &format!("{artifact}\n"), "", 0);
    }

    /// Sets the outputs and exit code of `cargo <command>`.
    pub(crate) fn fake_cargo(&self, command: &str, stdout: &str, stderr: &str, code: u8) {
        let write = |name: &str, text: &str| fs::write(self.folder.path().join(name), text).unwrap();
        write(&format!("{command}.stdout"), stdout);
        write(&format!("{command}.stderr"), stderr);
        write(&format!("{command}.code"), &code.to_string());
        let cargo = self.folder.path().join("cargo");
        if !cargo.exists() {
            // Not written here: a process that another test starts at the same time would inherit the open file, which cannot be run then.
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/fake-cargo.sh");
            std::os::unix::fs::symlink(script, cargo).unwrap();
        }
    }

    /// Returns the path of a file beside the project.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.cwd.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.cwd.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces a text; panics if the file does not contain it.
    #[track_caller]
    pub(crate) fn edit(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert!(text.contains(old), "{path} lacks {old:?}:\n{text}");
        self.write(path, &text.replacen(old, new, 1));
    }

    pub(crate) fn git(&self, args: &[&str]) {
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
        let output = std::process::Command::new("git")
            .current_dir(&self.cwd)
            .args(identity)
            .args(args)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Returns all files with their bytes, without those of git.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.cwd, &self.cwd, &mut files);
        files
    }
}

/// Collects all files below a directory by path (with `/`), without those of git.
pub(crate) fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with(".git") {
                collect(root, &path, files);
            }
        } else {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

/// Returns the manifests of a new project's operator, with `spec` as the schema of Foo's spec.
pub(crate) fn manifests_with(spec: &Value) -> Value {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.demo.dev"},
        "spec": {
            "group": "demo.dev",
            "names": {"kind": "Foo", "plural": "foos", "singular": "foo", "shortNames": ["foo"]},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Wanted", "type": "integer", "jsonPath": ".spec.replicas"}],
                "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
                    "spec": spec,
                    "status": {"type": "object", "properties": {"availableReplicas": {"type": "integer"}}},
                }}},
            }],
        },
    });
    json!({
        "manifestsVersion": 1,
        "kubewrightVersion": env!("CARGO_PKG_VERSION"),
        "operator": "shop",
        "kinds": [{"group": "demo.dev", "version": "v1alpha1", "versions": ["v1alpha1"], "kind": "Foo",
            "plural": "foos", "namespaced": true, "external": false, "crd": crd}],
        "permissions": [
            {"unit": "informer Foo", "scope": "watched", "apiGroups": ["demo.dev"], "resources": ["foos"],
                "verbs": ["list", "watch"], "why": "informer"},
            {"unit": "leader election", "scope": "operator", "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"], "verbs": ["get", "create", "update"], "why": "leader election"},
            {"unit": "metrics TokenReview", "scope": "cluster", "apiGroups": ["authentication.k8s.io"],
                "resources": ["tokenreviews"], "verbs": ["create"], "why": "metrics authentication"},
            {"unit": "metrics SubjectAccessReview", "scope": "cluster", "apiGroups": ["authorization.k8s.io"],
                "resources": ["subjectaccessreviews"], "verbs": ["create"], "why": "metrics authentication"},
        ],
        "warnings": [],
    })
}

/// Returns the manifests of a new project's operator, reduced to the fields that the command reads.
pub(crate) fn manifests() -> Value {
    manifests_with(&spec())
}

/// Returns the schema of Foo's spec in a new project.
pub(crate) fn spec() -> Value {
    json!({"type": "object", "required": ["deploymentName", "replicas"], "properties": {
        "deploymentName": {"type": "string", "minLength": 1, "maxLength": 63},
        "replicas": {"type": "integer", "minimum": 0, "maximum": 10},
    }})
}
