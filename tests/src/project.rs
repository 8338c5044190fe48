//! A scaffolded project, and the commands that a user runs in it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use kubewright_testkit::{ChildProcess, Launch};
use tempfile::TempDir;

/// A scaffolded operator project in a temporary folder, which is removed on drop.
///
/// All projects share one target folder, so that their dependencies are built once. Project names must therefore differ between
/// tests; otherwise one test would run another test's binary.
#[derive(Debug)]
pub struct Project {
    _folder: TempDir,
    root: PathBuf,
    name: String,
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// The exit code; 128 if a signal ended the process.
    pub code: i32,
    /// Standard output: data.
    pub stdout: String,
    /// Standard error: messages.
    pub stderr: String,
}

impl Project {
    /// Runs `kubewright new NAME --kind KIND --group demo.dev` with further `arguments`.
    ///
    /// # Panics
    ///
    /// If the command fails.
    pub fn scaffold(name: &str, kind: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = vec!["new", name, "--kind", kind, "--group", "demo.dev"];
        command.extend(arguments);
        kubewright(folder.path(), &command).expect_success();
        Self {
            root: folder.path().join(name),
            _folder: folder,
            name: name.to_owned(),
        }
    }

    /// Returns the operator's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the project's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Runs `kubewright …` in the project's folder.
    pub fn kubewright(&self, arguments: &[&str]) -> CommandOutput {
        kubewright(&self.root, arguments)
    }

    /// Starts `kubewright dev …` in the project's folder, with cargo offline. The process is killed on drop.
    ///
    /// # Panics
    ///
    /// If the process does not start.
    pub fn dev(&self, arguments: &[&str]) -> ChildProcess {
        let launch = Self::command(&self.root, &["dev"]).args(arguments);
        launch.start().expect("it starts")
    }

    /// Returns `kubewright …` prepared to start in `folder`, with cargo offline. Its log is written to the same folder.
    pub fn command(folder: &Path, arguments: &[&str]) -> Launch {
        let launch = Launch::new(cli(), folder.join(".command.log"))
            .args(arguments)
            .current_dir(folder)
            .env("CARGO_TARGET_DIR", build_folder())
            .env("CARGO_NET_OFFLINE", "true");
        test_runner_variables().fold(launch, Launch::env_remove)
    }

    /// Returns the path of the `kubewright` command.
    pub fn command_path() -> PathBuf {
        cli()
    }

    /// Runs `kubewright …` in `folder` on a pseudo-terminal, which util-linux's `script` makes: both outputs are in `stdout`. The arguments have
    /// no spaces.
    pub fn run_on_terminal(folder: &Path, arguments: &[&str], kubeconfig: &Path) -> CommandOutput {
        let line = format!("'{}' {}", cli().display(), arguments.join(" "));
        let mut terminal = Command::new("script");
        terminal
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .env("KUBECONFIG", kubeconfig)
            .env_remove("NO_COLOR")
            .current_dir(folder);
        run(&mut terminal)
    }

    /// Runs `cargo …` in the project's folder.
    pub fn cargo(&self, arguments: &[&str]) -> CommandOutput {
        run(Command::new("cargo").args(arguments).current_dir(&self.root))
    }

    /// Runs `cargo test`, with clippy as the compiler of the project: `cargo clippy` would check all dependencies again.
    ///
    /// # Panics
    ///
    /// If a test fails, or clippy has warnings.
    pub fn test_with_clippy(&self) -> CommandOutput {
        let tested = run(Command::new("cargo")
            .args(["test", "--offline"])
            .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
            .current_dir(&self.root))
        .expect_success();
        assert!(!tested.stderr.contains("warning:"), "{}", tested.stderr);
        tested
    }

    /// Builds the operator and returns the path of its binary, copied into the project's folder.
    ///
    /// # Panics
    ///
    /// If the project does not compile, or compiles with warnings.
    pub fn build(&self) -> PathBuf {
        let built = self.cargo(&["build", "--offline"]).expect_success();
        assert!(
            !built.stderr.contains("warning:"),
            "the project compiles with warnings:\n{}",
            built.stderr
        );
        let binary = self.root.join(format!("{}.built", self.name));
        fs::copy(build_folder().join("debug").join(&self.name), &binary).expect("the binary is copied");
        binary
    }

    /// Returns the text of a file of the project.
    ///
    /// # Panics
    ///
    /// If the file cannot be read.
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Replaces the first occurrence of `old` in the file with `new`.
    ///
    /// # Panics
    ///
    /// If the file does not contain `old`.
    pub fn edit(&self, file: &str, old: &str, new: &str) {
        let text = self.read(file);
        assert!(text.contains(old), "{file} does not contain {old:?}:\n{text}");
        fs::write(self.root.join(file), text.replacen(old, new, 1)).expect("the file is written");
    }

    /// Returns every file of the project with its bytes, except `.git`, build output and `Cargo.lock`.
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

impl CommandOutput {
    /// Returns the output of a command that must succeed.
    ///
    /// # Panics
    ///
    /// If the command failed; the message contains its output.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        assert_eq!(self.code, 0, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns the output of a command that must fail.
    ///
    /// # Panics
    ///
    /// If the command succeeded.
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

/// Returns the path of the `kubewright` command, which cargo builds with the tests.
fn cli() -> PathBuf {
    build_folder().join("debug/tested-kubewright")
}

fn kubewright(folder: &Path, arguments: &[&str]) -> CommandOutput {
    run(Command::new(cli()).args(arguments).current_dir(folder))
}

fn run(command: &mut Command) -> CommandOutput {
    if !command.get_envs().any(|(name, _)| name == "CARGO_TARGET_DIR") {
        // Crates that have the same features here and in the project are built once.
        command.env("CARGO_TARGET_DIR", build_folder());
    }
    for name in test_runner_variables() {
        command.env_remove(name);
    }
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    CommandOutput {
        code: output.status.code().unwrap_or(128),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Returns the names of the variables that the test runner's cargo sets for this workspace. They must not reach the project's cargo.
fn test_runner_variables() -> impl Iterator<Item = String> {
    std::env::vars_os()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
}

/// Returns the target folder in which the running test was built.
fn build_folder() -> PathBuf {
    // The program lies in `debug/deps`.
    let program = std::env::current_exe().expect("the test program");
    program.ancestors().nth(3).expect("a target folder").to_owned()
}
