//! An operator that runs as in a cluster: under its service account, with only the permissions of its generated Role.

use std::{path::Path, time::Duration};

use kubewright_testkit::{ChildProcess, Cluster, Identity, PermissionUnit, eventually};

use crate::{Project, read_manifests};

/// A project with its CRDs and roles applied to a cluster.
#[derive(Debug)]
pub struct DeployedProject<'c> {
    cluster: &'c Cluster,
    identity: Identity,
    name: String,
    binary: std::path::PathBuf,
}

/// A running replica of the operator.
#[derive(Debug)]
pub struct Operator {
    /// The replica's process.
    pub process: ChildProcess,
}

impl<'c> DeployedProject<'c> {
    /// Applies the project's CRDs and roles as the cluster administrator, then waits until its kinds are served.
    ///
    /// # Panics
    ///
    /// If the API server rejects one of them.
    pub fn new(cluster: &'c Cluster, project: &Project, name: &str) -> Self {
        let namespace = format!("{name}-system");
        cluster.create_namespace(&namespace).expect("a namespace");
        let deployed = Self {
            cluster,
            identity: cluster
                .service_account(&namespace, name)
                .expect("a service account"),
            name: name.to_owned(),
            binary: project.build(),
        };
        let definitions = project.root().join("manifests/crds");
        deployed.apply_folder(&definitions);
        deployed.apply_folder(&project.root().join("manifests/rbac"));
        for definition in read_manifests(&definitions) {
            cluster.install_crd(&definition).expect("its kind is served");
        }
        deployed
    }

    /// Applies the manifests of a folder: on a real cluster with `kubectl apply --kustomize`, on the embedded one object by object.
    ///
    /// # Panics
    ///
    /// If the API server rejects one of the objects.
    pub fn apply_folder(&self, folder: &Path) {
        let Some(plane) = self.cluster.control_plane() else {
            for object in read_manifests(folder) {
                let applied = self.cluster.apply(&object);
                applied.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            }
            return;
        };
        let folder = folder.to_string_lossy();
        let apply = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--kustomize",
            &folder,
        ];
        let applied = plane.kubectl().run(apply);
        applied.unwrap_or_else(|error| panic!("{folder}: {error}"));
    }

    /// Returns the user name of the operator's service account.
    pub fn user(&self) -> &str {
        self.identity.user()
    }

    /// Starts a replica with leader election. `replica` becomes its pod name, which also appears in its user agent.
    ///
    /// # Panics
    ///
    /// If the process does not start.
    pub fn start(&self, replica: &str, arguments: &[&str]) -> Operator {
        let process = self
            .cluster
            .launch(&self.identity, &self.binary)
            .args([
                "--leader-elect",
                "--metrics-bind-address=127.0.0.1:0",
                "--health-bind-address=127.0.0.1:0",
            ])
            .args(arguments)
            .env("POD_NAME", replica)
            .env("POD_NAMESPACE", format!("{}-system", self.name))
            .env("RUST_LOG", "info")
            .start()
            .expect("the operator starts");
        Operator { process }
    }

    /// Returns the permissions that the operator's own `manifests` command prints.
    ///
    /// # Panics
    ///
    /// If the command fails or prints no permissions.
    pub fn permissions(&self) -> Vec<PermissionUnit> {
        let output = std::process::Command::new(&self.binary)
            .arg("manifests")
            .output()
            .expect("it runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let manifests = String::from_utf8(output.stdout).expect("text");
        let permissions = PermissionUnit::from_manifests(&manifests, &format!("{}-system", self.name))
            .expect("its permissions");
        assert!(!permissions.is_empty(), "an operator without permissions");
        permissions
    }
}

impl Operator {
    /// Returns the address of one of its servers, as it logs it.
    ///
    /// # Panics
    ///
    /// If the operator does not log it within a minute.
    #[track_caller]
    pub fn address(&self, server: &str) -> String {
        let log_line = format!("serving {server} ");
        self.wait_for_log(&log_line);
        let log = self.process.log();
        let mut lines = log.lines();
        let line = lines.find(|line| line.contains(&log_line));
        let address = line.and_then(|line| line.split_once("address="));
        address.expect("the address").1.trim().to_owned()
    }

    /// Waits until the operator's log contains `text`.
    ///
    /// # Panics
    ///
    /// If `text` does not appear within a minute.
    #[track_caller]
    pub fn wait_for_log(&self, text: &str) {
        eventually(
            &format!("{text:?} in the operator's log"),
            Duration::from_mins(1),
            || {
                let log = self.process.log();
                if log.contains(text) { Ok(()) } else { Err(log) }
            },
        );
    }
}
