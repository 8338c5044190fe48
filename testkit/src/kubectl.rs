//! kubectl, as one identity.

use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A kubectl command failed. `Debug` shows the same text as `Display`, for `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum KubectlError {
    /// It could not be run.
    #[error("cannot run {command}: {source}")]
    Run {
        /// The command line.
        command: String,
        /// The reason.
        source: io::Error,
    },
    /// It ended with another status than 0.
    #[error("{command}: {output}")]
    Failed {
        /// The command line.
        command: String,
        /// What it said.
        output: Output,
    },
    /// It was asked for JSON and printed something else.
    #[error("{command} printed no JSON: {source}")]
    NotJson {
        /// The command line.
        command: String,
        /// Where the text stops being JSON.
        source: serde_json::Error,
    },
}

impl fmt::Debug for KubectlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a command ended, and what it printed.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code; None when a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Output {
    /// Whether it ended with 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "exit code {code}: ")?,
            None => f.write_str("ended by a signal: ")?,
        }
        f.write_str(self.stderr.trim())
    }
}

/// kubectl with its connection settled. Settings of the machine (`KUBECONFIG`, `kuberc`) do not matter.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
    namespace: Option<String>,
    stdin: String,
}

impl Kubectl {
    pub(crate) fn new(program: PathBuf, kubeconfig: PathBuf, cache: PathBuf) -> Self {
        Self {
            program,
            kubeconfig,
            cache,
            namespace: None,
            stdin: String::new(),
        }
    }

    /// Adds `--namespace`.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// What the command reads on its standard input, for `-f -`.
    pub fn stdin(mut self, text: impl Into<String>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Runs a command and returns its standard output. Another exit code than 0 is an error that shows its
    /// standard error.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, KubectlError> {
        let arguments = collect(arguments);
        let output = self.output(&arguments)?;
        if output.success() {
            Ok(output.stdout)
        } else {
            Err(KubectlError::Failed {
                command: describe(&arguments),
                output,
            })
        }
    }

    /// Runs a command that may fail.
    pub fn try_run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Output, KubectlError> {
        self.output(&collect(arguments))
    }

    /// Runs a command with `--output=json` and parses what it prints.
    pub fn json<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Value, KubectlError> {
        let mut arguments = collect(arguments);
        arguments.push("--output=json".into());
        let text = self.run(&arguments)?;
        serde_json::from_str(&text).map_err(|source| KubectlError::NotJson {
            command: describe(&arguments),
            source,
        })
    }

    fn output(&self, arguments: &[OsString]) -> Result<Output, KubectlError> {
        let output = self
            .command(arguments)
            .and_then(|mut command| command.output())
            .map_err(|source| KubectlError::Run {
                command: describe(arguments),
                source,
            })?;
        Ok(Output {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    fn command(&self, arguments: &[OsString]) -> io::Result<Command> {
        // A file, not a pipe: a pipe of each direction can block both ends.
        let mut stdin = tempfile::tempfile()?;
        stdin.write_all(self.stdin.as_bytes())?;
        stdin.rewind()?;
        let mut command = Command::new(&self.program);
        command
            .stdin(Stdio::from(stdin))
            .env("KUBECACHEDIR", &self.cache)
            .env("KUBERC", "off")
            .arg("--kubeconfig")
            .arg(&self.kubeconfig);
        if let Some(namespace) = &self.namespace {
            command.arg("--namespace").arg(namespace);
        }
        command.args(arguments);
        Ok(command)
    }
}

fn collect<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Vec<OsString> {
    arguments
        .into_iter()
        .map(|argument| argument.as_ref().to_owned())
        .collect()
}

fn describe(arguments: &[OsString]) -> String {
    let mut text = "kubectl".to_owned();
    for argument in arguments {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sh` in kubectl's place: after `--kubeconfig FILE` it would need a script, so `env` and `cat` serve.
    fn fake(script: &str) -> (tempfile::TempDir, Kubectl) {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("kubectl");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let kubectl = Kubectl::new(program, "/the/config".into(), "/the/cache".into());
        (folder, kubectl)
    }

    #[test]
    fn connection_namespace_input_and_arguments_reach_it() {
        let (_folder, kubectl) = fake(r#"echo "$KUBECACHEDIR $KUBERC $*"; cat"#);
        let output = kubectl
            .namespace("shop")
            .stdin("kind: Foo\n")
            .run(["apply", "-f", "-"])
            .unwrap();
        assert_eq!(
            output,
            "/the/cache off --kubeconfig /the/config --namespace shop apply -f -\nkind: Foo\n"
        );
    }

    #[test]
    fn failure_shows_command_and_standard_error() {
        let (_folder, kubectl) = fake("echo nope >&2; exit 4");
        assert_eq!(
            format!("{:?}", kubectl.run(["get", "pods"]).unwrap_err()),
            "kubectl get pods: exit code 4: nope"
        );
        let output = kubectl.try_run(["get", "pods"]).unwrap();
        assert_eq!((output.code, output.stderr.as_str()), (Some(4), "nope\n"));
    }

    #[test]
    fn json_is_asked_for_and_parsed() {
        let (_folder, kubectl) = fake(r#"printf '{"last": "%s"}' "$5""#);
        assert_eq!(kubectl.json(["get", "pods"]).unwrap()["last"], "--output=json");
        let (_folder, kubectl) = fake("echo text");
        let error = kubectl.json(["get", "pods"]).unwrap_err().to_string();
        assert!(
            error.starts_with("kubectl get pods --output=json printed no JSON"),
            "{error}"
        );
    }
}
