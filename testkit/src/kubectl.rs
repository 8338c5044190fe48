//! kubectl with the kubeconfig of one identity.

use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A kubectl command failed. `Debug` prints the same text as `Display`, for `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum KubectlError {
    /// kubectl could not be started.
    #[error("cannot run {command}: {source}")]
    Run {
        /// The command line.
        command: String,
        /// The cause.
        source: io::Error,
    },
    /// kubectl exited with a status other than 0.
    #[error("{command}: {output}")]
    Failed {
        /// The command line.
        command: String,
        /// The exit code and stderr.
        output: Output,
    },
    /// The output is not JSON.
    #[error("{command}: invalid JSON output: {source}")]
    NotJson {
        /// The command line.
        command: String,
        /// The parse error.
        source: serde_json::Error,
    },
}

impl fmt::Debug for KubectlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The exit code and output of a command.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code; none if a signal killed the command.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Whether the exit code is 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "exit code {code}: ")?,
            None => f.write_str("killed by a signal: ")?,
        }
        f.write_str(self.stderr.trim())
    }
}

/// kubectl with a fixed connection, independent of settings of the machine (`KUBECONFIG`, `kuberc`).
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

    /// Sets the standard input, for `-f -`.
    pub fn stdin(mut self, text: impl Into<String>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Runs a command and returns its standard output. A nonzero exit code is an error with the command's standard error.
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

    /// Runs a command and returns its output whatever its exit code.
    pub fn try_run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Output, KubectlError> {
        self.output(&collect(arguments))
    }

    /// Runs a command with `--output=json` and parses its output.
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
        // Stdin is a file: with pipes in both directions, both processes could block.
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

    /// A script in place of kubectl. Another process writes it: a program that is open for writing cannot be executed, and a process that
    /// another test starts meanwhile inherits what is open in this one.
    fn fake_kubectl(script: &str) -> (tempfile::TempDir, Kubectl) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("kubectl");
        let mut write = Command::new("sh");
        write.args(["-c", r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#]);
        assert!(write.arg(&program).arg(script).status().unwrap().success());
        let kubectl = Kubectl::new(program, "/the/config".into(), "/the/cache".into());
        (folder, kubectl)
    }

    #[test]
    fn kubeconfig_namespace_stdin_and_arguments_are_passed() {
        let (_folder, kubectl) = fake_kubectl(r#"echo "$KUBECACHEDIR $KUBERC $*"; cat"#);
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
    fn error_has_command_and_stderr() {
        let (_folder, kubectl) = fake_kubectl("echo nope >&2; exit 4");
        assert_eq!(
            format!("{:?}", kubectl.run(["get", "pods"]).unwrap_err()),
            "kubectl get pods: exit code 4: nope"
        );
        let output = kubectl.try_run(["get", "pods"]).unwrap();
        assert_eq!((output.code, output.stderr.as_str()), (Some(4), "nope\n"));
    }

    #[test]
    fn json_output_is_requested_and_parsed() {
        let (_folder, kubectl) = fake_kubectl(r#"printf '{"last": "%s"}' "$5""#);
        assert_eq!(kubectl.json(["get", "pods"]).unwrap()["last"], "--output=json");
        let (_folder, kubectl) = fake_kubectl("echo text");
        let error = kubectl.json(["get", "pods"]).unwrap_err().to_string();
        assert!(
            error.starts_with("kubectl get pods --output=json: invalid JSON output"),
            "{error}"
        );
    }
}
