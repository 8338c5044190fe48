//! The round: build, write, apply, run, wait.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::SystemTime,
};

use kubewright_simulation::{Simulation, Timing};
use serde_json::Value;
use tokio::process::Command;

use super::{
    account,
    apply::Applier,
    changes::{Changes, Resource},
    cluster::{Cluster, ClusterError},
    console::{Console, Speaker},
    process::Process,
    sources::Sources,
};
use crate::{
    Error, args,
    cargo::{CargoError, Target},
    commands::generate::{self, Decisions},
    manifests::{Manifests, rbac},
    plan::{self, slashed},
    project::Project,
    samples, yaml,
};

/// An API server, an operator, and what stands between them and the source.
pub struct Session {
    root: PathBuf,
    cargo: PathBuf,
    color: bool,
    console: Console,
    cluster: Cluster,
    applier: Applier,
    changes: Changes,
    simulation: Option<Simulation>,
    operator: Option<Process>,
    running: Option<Launch>,
    /// The samples that were applied, as texts by file: what the user does to them in the cluster stays.
    samples: BTreeMap<PathBuf, String>,
}

/// What is run, and with what; another one is a reason to start again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Launch {
    executable: PathBuf,
    built: Option<SystemTime>,
    environment: Vec<(&'static str, String)>,
}

impl Session {
    /// Brings the API server up, or finds the user's.
    pub async fn start(
        args: &args::Dev,
        project: Project,
        cargo: PathBuf,
        color: bool,
        console: Console,
    ) -> Result<Self, Error> {
        let root = project.root;
        let cluster = match &args.cluster {
            None => Cluster::embedded(&root).await?,
            Some(context) => Cluster::of_context(&root, context).await?,
        };
        let client = cluster.client.clone();
        let simulation = if cluster.is_embedded() && !args.no_simulation {
            let mut timing = Timing::default();
            if let Some(start) = args.pod_start {
                timing.pod_start = std::time::Duration::from_millis(start);
            }
            Some(Simulation::start(client.clone(), timing))
        } else {
            None
        };
        Ok(Self {
            applier: Applier::new(client.clone()),
            changes: Changes::new(client, console.clone()),
            root,
            cargo,
            color,
            console,
            cluster,
            simulation,
            operator: None,
            running: None,
            samples: BTreeMap::new(),
        })
    }

    /// A kubeconfig for people; None where they have one of their own.
    pub fn kubeconfig(&self) -> Option<&Path> {
        self.cluster.kubeconfig.as_deref()
    }

    /// Goes round for ever.
    pub async fn run(&mut self) {
        loop {
            let seen = Sources::of(&self.root);
            if let Err(error) = self.round().await {
                self.say(format_args!("error: {error}")).await;
                self.say("waiting for the next change").await;
            }
            self.wait(&seen).await;
        }
    }

    /// Ends the operator, then the rest.
    pub async fn stop(mut self) {
        if let Some(operator) = self.operator.take() {
            operator.stop().await;
        }
        drop(self.simulation);
        drop(self.changes);
        self.cluster.stop().await;
    }

    async fn round(&mut self) -> Result<(), Error> {
        let project = Project::find(&self.root)?;
        let target = Target::of(&self.cargo, &project)?;
        self.say("building").await;
        let built = Process::finish(target.build(self.color), Speaker::Cargo, &self.console).await?;
        if !built.succeeded {
            return Err(CargoError::Compile.into());
        }
        let executable = target.executable(&built.stdout)?;
        let asked = Process::finish(target.ask(&executable), Speaker::Operator, &self.console).await?;
        let manifests = target.answer(asked.succeeded, asked.said, &asked.stdout)?;
        self.write(&project, &manifests).await?;
        self.apply(&project, &manifests).await?;
        self.changes
            .watch(shown(&manifests, self.simulation.is_some()))
            .await?;
        self.launch(&project, &manifests, executable).await?;
        self.apply_samples().await
    }

    /// What `generate` would write. What it would refuse to touch is said, and keeps nobody from trying things out.
    async fn write(&self, project: &Project, manifests: &Manifests) -> Result<(), Error> {
        let outcome = generate::plan(project, manifests, &Decisions::default())?;
        for warning in manifests.warnings.iter().chain(&outcome.warnings) {
            self.say(format_args!("warning: {warning}")).await;
        }
        if !outcome.edited.is_empty() {
            self.say(format_args!("warning: {}", Error::Edited(outcome.edited)))
                .await;
        } else if !outcome.conflicts.is_empty() {
            self.say(format_args!("warning: {}", Error::Conflict(outcome.conflicts)))
                .await;
        } else if !outcome.plan.is_empty() {
            outcome.plan.apply(&project.root)?;
            self.say(&outcome.plan).await;
        }
        for problem in outcome.problems {
            self.say(format_args!("warning: {problem}")).await;
        }
        Ok(())
    }

    /// CRDs and roles as the code has them, whatever the files say.
    async fn apply(&mut self, project: &Project, manifests: &Manifests) -> Result<(), Error> {
        let settings = &project.settings;
        let namespaces: BTreeSet<&String> = settings.watched().iter().chain([&settings.namespace]).collect();
        for namespace in namespaces {
            self.applier.namespace(namespace).await?;
        }
        for (kind, crd) in manifests.definitions() {
            self.applier.define(crd).await?;
            self.say(format_args!("applied the definition of {}", kind.kind))
                .await;
        }
        for (_, text) in rbac::files(manifests, &settings.namespace, settings.watched())? {
            for document in yaml::read_all(&text)? {
                self.applier.apply(&document).await?;
            }
        }
        Ok(())
    }

    /// Starts the operator, unless the very same one runs.
    async fn launch(
        &mut self,
        project: &Project,
        manifests: &Manifests,
        executable: PathBuf,
    ) -> Result<(), Error> {
        let settings = &project.settings;
        let built = std::fs::metadata(&executable)
            .and_then(|found| found.modified())
            .ok();
        let environment = vec![
            ("POD_NAMESPACE", settings.namespace.clone()),
            ("WATCH_NAMESPACE", settings.watched().join(",")),
            ("LEADER_ELECT", "false".to_owned()),
        ];
        let wanted = Launch {
            executable,
            built,
            environment,
        };
        if self.operator.is_some() && self.running.as_ref() == Some(&wanted) {
            return Ok(());
        }
        let kubeconfig = account::kubeconfig(&self.cluster, &settings.namespace, &manifests.operator).await?;
        if let Some(operator) = self.operator.take() {
            self.say("stopping the operator").await;
            operator.stop().await;
        }
        self.say(format_args!(
            "starting the operator as the service account {}/{}",
            settings.namespace, manifests.operator
        ))
        .await;
        let mut command = Command::new(&wanted.executable);
        command
            .current_dir(&self.root)
            .envs(wanted.environment.iter().cloned())
            .env("KUBECONFIG", &kubeconfig)
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        self.operator = Some(Process::start(command, Speaker::Operator, &self.console)?);
        self.running = Some(wanted);
        Ok(())
    }

    /// Applies the samples that are new or changed.
    async fn apply_samples(&mut self) -> Result<(), Error> {
        let folder = self.root.join(samples::FOLDER);
        for file in plan::list(&folder, "yaml")?
            .into_iter()
            .chain(plan::list(&folder, "yml")?)
        {
            let text = plan::read(&file)?.unwrap_or_default();
            if self.samples.get(&file) == Some(&text) {
                continue;
            }
            let path = file.strip_prefix(&self.root).unwrap_or(&file).to_owned();
            let documents = yaml::read_all(&text).map_err(|source| Error::Yaml {
                path: path.clone(),
                source,
            })?;
            for document in &documents {
                self.apply_sample(document).await?;
            }
            self.say(format_args!("applied {}", slashed(&path))).await;
            self.samples.insert(file, text);
        }
        Ok(())
    }

    async fn apply_sample(&mut self, document: &Value) -> Result<(), ClusterError> {
        // In an API server of our own, nobody else makes namespaces.
        if let Some(namespace) = document["metadata"]["namespace"].as_str()
            && self.cluster.is_embedded()
        {
            self.applier.namespace(namespace).await?;
        }
        self.applier.apply(document).await
    }

    /// Waits for a change; says when the operator ends meanwhile.
    async fn wait(&mut self, seen: &Sources) {
        let changed = seen.changed(&self.root);
        let mut changed = std::pin::pin!(changed);
        loop {
            let Some(operator) = &mut self.operator else {
                let path = changed.await;
                return self.say(format_args!("{} changed", slashed(&path))).await;
            };
            tokio::select! {
                path = &mut changed => return self.say(format_args!("{} changed", slashed(&path))).await,
                status = operator.ended() => {
                    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                    self.operator = None;
                    self.say(format_args!("the operator ended ({status}); it starts again at the next change")).await;
                }
            }
        }
    }

    async fn say(&self, text: impl std::fmt::Display) {
        self.console.say(Speaker::Dev, text).await;
    }
}

/// Whose changes are shown: the operator's kinds, what else it watches, events, and the pods where they are simulated.
fn shown(manifests: &Manifests, pods: bool) -> BTreeSet<Resource> {
    let own = manifests
        .kinds
        .iter()
        .map(|kind| (kind.group.clone(), kind.plural.clone()));
    let watched = manifests
        .permissions
        .iter()
        .filter(|permission| permission.verbs.iter().any(|verb| verb == "watch"))
        .flat_map(|permission| {
            let resources = &permission.resources;
            let pairs = |group: &String| {
                resources
                    .iter()
                    .map(|resource| (group.clone(), resource.clone()))
                    .collect::<Vec<_>>()
            };
            permission.api_groups.iter().flat_map(pairs).collect::<Vec<_>>()
        });
    let mut shown: BTreeSet<Resource> = own.chain(watched).collect();
    shown.insert(("events.k8s.io".to_owned(), "events".to_owned()));
    if pods {
        shown.insert((String::new(), "pods".to_owned()));
    }
    shown
}
