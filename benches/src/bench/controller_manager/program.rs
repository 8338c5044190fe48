//! The two programs, with the same command line.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use kubewright_testkit::{
    ControlPlane,
    binaries::{Binaries, KUBE_CONTROLLER_MANAGER},
};

/// The controllers of both.
const CONTROLLERS: &[&str] = &[
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "legacy-serviceaccount-token-cleaner-controller",
    "serviceaccount-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "pod-garbage-collector-controller",
    "daemonset-controller",
    "deployment-controller",
    "job-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "statefulset-controller",
    "cronjob-controller",
    "ttl-after-finished-controller",
];
/// Number of lines of a log in an error.
const LOG_TAIL_LINES: usize = 10;

/// A measured program.
pub(super) struct Program {
    pub(super) name: &'static str,
    path: PathBuf,
}

impl Program {
    /// Returns our program, and kube-controller-manager.
    pub(super) fn both(ours: &Path) -> Result<[Self; 2]> {
        Ok([
            Self {
                name: "kubewright",
                path: ours.to_owned(),
            },
            Self {
                name: "kube-controller-manager",
                path: Binaries::find()?.program(KUBE_CONTROLLER_MANAGER)?,
            },
        ])
    }

    /// Returns the command that runs the controllers, without a limit of requests that would matter, and without an HTTP server.
    pub(super) fn command(&self, plane: &ControlPlane, kubeconfig: &Path) -> Command {
        let authority = plane.certificate_authority();
        let mut command = Command::new(&self.path);
        command
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--controllers={}", CONTROLLERS.join(",")))
            .args(["--leader-elect=false", "--secure-port=0"])
            .args(["--kube-api-qps=10000", "--kube-api-burst=10000"])
            .arg(format!("--root-ca-file={}", authority.display()))
            // The key of the API server, which it accepts for tokens, too.
            .arg(format!(
                "--service-account-private-key-file={}",
                authority.with_file_name("apiserver.key").display()
            ));
        command
    }

    /// Returns the file of the program's log.
    pub(super) fn log(&self, logs: &Path) -> PathBuf {
        logs.join(format!("{}.log", self.name))
    }

    /// Returns the name, and the end of the log.
    pub(super) fn log_tail(&self, logs: &Path) -> String {
        let text = std::fs::read_to_string(self.log(logs)).context("no log");
        let text = text.unwrap_or_else(|error| format!("{error:#}"));
        let lines: Vec<&str> = text.lines().collect();
        let tail = &lines[lines.len().saturating_sub(LOG_TAIL_LINES)..];
        format!("{}, with the log: {}", self.name, tail.join("\n"))
    }
}
