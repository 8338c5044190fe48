//! A scaffolded project, and the commands that its owner would type.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use kubewright_testkit::{ChildProcess, Launch};
use tempfile::TempDir;

/// A scaffolded operator in a folder that goes with the value.
///
/// All projects share one target folder, so that their dependencies are built once; their names must differ between
/// tests, or one test would run the other's binary.
#[derive(Debug)]
pub struct Project {
    _folder: TempDir,
    root: PathBuf,
    name: String,
}

/// What a command said.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; 128 and more for a signal.
    pub code: i32,
    /// Data.
    pub stdout: String,
    /// Talk.
    pub stderr: String,
}

impl Project {
    /// `kubewright new NAME --kind KIND --group demo.dev` and what else `arguments` say.
    ///
    /// # Panics
    ///
    /// When it fails.
    pub fn scaffold(name: &str, kind: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = vec!["new", name, "--kind", kind, "--group", "demo.dev"];
        command.extend(arguments);
        kubewright(folder.path(), &command).expect_success();
        let root = folder.path().join(name);
        // The same versions as the workspace's, so that nothing needs a network and everything is built once.
        fs::copy(workspace().join("Cargo.lock"), root.join("Cargo.lock")).expect("Cargo.lock is copied");
        Self {
            _folder: folder,
            root,
            name: name.to_owned(),
        }
    }

    /// The project's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `kubewright …` in the project's folder.
    pub fn kubewright(&self, arguments: &[&str]) -> Outcome {
        kubewright(&self.root, arguments)
    }

    /// `kubewright dev …` in the project's folder, running; it ends with the value. Nothing is fetched.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn dev(&self, arguments: &[&str]) -> ChildProcess {
        let launch = Self::command(&self.root, &["dev"]).args(arguments);
        launch.start().expect("it starts")
    }

    /// `kubewright …` in a folder, to be started; its log lies there, too. Nothing is fetched.
    pub fn command(folder: &Path, arguments: &[&str]) -> Launch {
        let launch = Launch::new(cli(), folder.join(".command.log"))
            .args(arguments)
            .current_dir(folder)
            .env("CARGO_TARGET_DIR", scaffold_target())
            .env("CARGO_NET_OFFLINE", "true");
        runners_variables().fold(launch, Launch::env_remove)
    }

    /// `cargo …` in the project's folder.
    pub fn cargo(&self, arguments: &[&str]) -> Outcome {
        run(Command::new("cargo").args(arguments).current_dir(&self.root))
    }

    /// Builds the operator, without warnings, and returns its binary, copied into the project's folder.
    ///
    /// # Panics
    ///
    /// When it does not compile, or warns.
    pub fn build(&self) -> PathBuf {
        let built = self.cargo(&["build", "--offline"]).expect_success();
        assert!(
            !built.stderr.contains("warning:"),
            "the project compiles with warnings:\n{}",
            built.stderr
        );
        let binary = self.root.join(format!("{}.built", self.name));
        fs::copy(scaffold_target().join("debug").join(&self.name), &binary).expect("the binary is copied");
        binary
    }

    /// The text of a file.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Replaces `old`, which must stand in the file, by `new`.
    ///
    /// # Panics
    ///
    /// When `old` is not there.
    pub fn edit(&self, file: &str, old: &str, new: &str) {
        let text = self.read(file);
        assert!(text.contains(old), "{file} has no {old:?}:\n{text}");
        fs::write(self.root.join(file), text.replacen(old, new, 1)).expect("the file is written");
    }

    /// Every file of the project with its bytes, without build output and git's.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.root, &self.root, &mut files);
        files.retain(|name, _| {
            Path::new(name)
                .extension()
                .is_none_or(|extension| extension != "built")
                && name != "Cargo.lock"
        });
        files
    }
}

impl Outcome {
    /// The outcome, which must be a success.
    ///
    /// # Panics
    ///
    /// When the command failed, with what it said.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        assert_eq!(self.code, 0, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The outcome, which must be a failure.
    ///
    /// # Panics
    ///
    /// When the command succeeded.
    #[track_caller]
    pub fn expect_failure(self) -> Self {
        assert_ne!(self.code, 0, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let name = path
            .strip_prefix(root)
            .expect("below the root")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            if name != ".git" && name != "target" {
                collect(root, &path, files);
            }
        } else {
            files.insert(name, fs::read(&path).expect("a readable file"));
        }
    }
}

/// The command under test, built once.
fn cli() -> &'static Path {
    static CLI: LazyLock<PathBuf> = LazyLock::new(|| {
        let build = ["build", "--locked", "--quiet", "--package", "kubewright-cli"];
        run(Command::new("cargo")
            .args(build)
            .current_dir(workspace())
            .env("CARGO_TARGET_DIR", workspace_target()))
        .expect_success();
        workspace_target().join("debug/kubewright")
    });
    &CLI
}

fn kubewright(folder: &Path, arguments: &[&str]) -> Outcome {
    run(Command::new(cli()).args(arguments).current_dir(folder))
}

fn run(command: &mut Command) -> Outcome {
    if !command.get_envs().any(|(name, _)| name == "CARGO_TARGET_DIR") {
        command.env("CARGO_TARGET_DIR", scaffold_target());
    }
    for name in runners_variables() {
        command.env_remove(name);
    }
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Outcome {
        code: output.status.code().unwrap_or(128),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// What the test runner's cargo says of this workspace must not reach the cargo of the project.
fn runners_variables() -> impl Iterator<Item = String> {
    std::env::vars_os()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
}

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn workspace_target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

fn scaffold_target() -> PathBuf {
    workspace_target().join("scaffolds")
}
