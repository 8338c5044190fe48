//! An operator that runs as it would in a cluster: under its service account, with its generated Role and nothing else.

use std::{path::Path, time::Duration};

use kubewright_testkit::{ChildProcess, Cluster, Identity, PermissionUnit, eventually};

use crate::{Project, objects};

/// A project whose manifests were applied.
#[derive(Debug)]
pub struct Deployed<'c> {
    cluster: &'c Cluster,
    identity: Identity,
    name: String,
    binary: std::path::PathBuf,
}

/// A running replica.
#[derive(Debug)]
pub struct Operator {
    /// The process.
    pub process: ChildProcess,
}

impl<'c> Deployed<'c> {
    /// Applies the project's CRDs and roles as a cluster's administrator would, and waits until its kinds are served.
    ///
    /// # Panics
    ///
    /// When the API server refuses one of them.
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
        for definition in objects(&definitions) {
            cluster.install_crd(&definition).expect("its kind is served");
        }
        deployed
    }

    /// Applies a folder: with kubectl, which reads its kustomization, where that lies with the real server; else object by object.
    ///
    /// # Panics
    ///
    /// When the API server refuses one of its objects.
    pub fn apply_folder(&self, folder: &Path) {
        let Some(plane) = self.cluster.control_plane() else {
            for object in objects(folder) {
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

    /// The service account's user name.
    pub fn user(&self) -> &str {
        self.identity.user()
    }

    /// Starts a replica, with leader election on, that calls itself `replica` in its user agent.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn start(&self, replica: &str, arguments: &[&str]) -> Operator {
        let process = self
            .cluster
            .launch(&self.identity, &self.binary)
            .args([
                "--leader-elect",
                "--metrics-bind-address=127.0.0.1:0",
                "--health-bind-address=127.0.0.1:0",
            ])
            .args(["--leader-election-namespace", &format!("{}-system", self.name)])
            .args(arguments)
            .env("POD_NAME", replica)
            .env("RUST_LOG", "info")
            .start()
            .expect("the operator starts");
        Operator { process }
    }

    /// What the operator was allowed, by its own `manifests`.
    ///
    /// # Panics
    ///
    /// When it prints none.
    pub fn units(&self) -> Vec<PermissionUnit> {
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
        let units = PermissionUnit::from_manifests(&manifests, &format!("{}-system", self.name))
            .expect("its permissions");
        assert!(!units.is_empty(), "an operator without permissions");
        units
    }
}

impl Operator {
    /// Waits until the log has `text`.
    ///
    /// # Panics
    ///
    /// When it does not come.
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
