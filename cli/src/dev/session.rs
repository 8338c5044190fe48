//! The round: build, write, apply, run, wait.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::{Duration, SystemTime},
};

use kubewright_simulation::{Simulation, Timing};
use serde_json::Value;
use tokio::time::Instant;

use super::{
    account::Account,
    apply::Applier,
    changes::{Changes, Resource},
    cluster::{Cluster, ClusterError},
    console::{Console, Speaker},
    process::Process,
    restarts::Restarts,
    sources::Sources,
};
use crate::{
    Error, args,
    cargo::{CargoError, Target},
    generation::{self, Decisions},
    manifests::{Manifests, rbac},
    plan::{self, slashed},
    project::Project,
    samples, yaml,
};

/// The pause after a token was refused.
const RETRY: Duration = Duration::from_secs(10);

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
    account: Option<Account>,
    operator: Option<Process>,
    running: Option<Launch>,
    started: Instant,
    restarts: Restarts,
    /// When an operator that ended is started again.
    restart: Option<Instant>,
    /// The definitions that were applied, by name, and their kinds.
    defined: BTreeMap<String, String>,
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
            account: None,
            operator: None,
            running: None,
            started: Instant::now(),
            restarts: Restarts::default(),
            restart: None,
            defined: BTreeMap::new(),
            samples: BTreeMap::new(),
        })
    }

    /// A kubeconfig for people; None where they have one of their own.
    pub fn kubeconfig(&self) -> Option<&Path> {
        self.cluster.kubeconfig.as_deref()
    }

    /// Goes round for ever.
    pub async fn run(&mut self) {
        let mut sources = Sources::of(&self.root);
        loop {
            if let Err(error) = self.round(&mut sources).await {
                self.say(format_args!("error: {error}")).await;
                self.say("waiting for the next change").await;
            }
            self.wait(&sources).await;
            sources.look();
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

    async fn round(&mut self, sources: &mut Sources) -> Result<(), Error> {
        let project = Project::find(&self.root)?;
        let question = Target::question(&self.cargo, &project);
        let answer = Process::finish(&question, Speaker::Cargo, &self.console).await?;
        let target = Target::of_answer(&self.cargo, &project, answer.succeeded, &answer.stdout)?;
        sources.follow(target.sources());
        self.say("building").await;
        let built = Process::finish(&target.build(self.color), Speaker::Cargo, &self.console).await?;
        if !built.succeeded {
            return Err(CargoError::Compile.into());
        }
        let executable = target.executable(&built.stdout)?;
        let asked = Process::finish(&target.ask(&executable), Speaker::Operator, &self.console).await?;
        let manifests = target.answer(asked.succeeded, asked.said, &asked.stdout)?;
        self.write(&project, &manifests).await?;
        self.apply(&project, &manifests).await?;
        self.changes
            .watch(shown(&manifests, self.simulation.is_some()))
            .await?;
        self.launch(&project, &manifests, executable).await?;
        self.drop_definitions(&manifests).await?;
        self.apply_samples().await
    }

    /// What `generate` would write. What it would refuse to touch is said, and keeps nobody from trying things out.
    async fn write(&self, project: &Project, manifests: &Manifests) -> Result<(), Error> {
        let outcome = generation::plan(project, manifests, &Decisions::default())?;
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
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            self.defined.insert(name.to_owned(), kind.kind.clone());
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

    /// Drops the definitions of kinds that the project no longer has, once no operator asks for them. In a user's cluster that would
    /// delete what is not ours: there it is told.
    async fn drop_definitions(&mut self, manifests: &Manifests) -> Result<(), Error> {
        let left = manifests.definitions().map(|(_, crd)| &crd["metadata"]["name"]);
        let left: BTreeSet<&str> = left.filter_map(Value::as_str).collect();
        let gone = self
            .defined
            .extract_if(.., |name, _| !left.contains(name.as_str()));
        for (name, kind) in gone.collect::<Vec<_>>() {
            if self.cluster.is_embedded() {
                self.applier.undefine(&name).await?;
                self.say(format_args!(
                    "{kind} is no longer a kind of the project: deleted its definition and objects"
                ))
                .await;
            } else {
                self.say(format_args!(
                    "{kind} is no longer a kind of the project, and stays in the cluster: `kubectl delete crd {name}` deletes its \
                     definition and all its objects"
                ))
                .await;
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
        let account = Account::open(&self.cluster, &settings.namespace, &manifests.operator).await?;
        let wanted = Launch {
            executable,
            built,
            environment: vec![
                ("POD_NAMESPACE", settings.namespace.clone()),
                ("WATCH_NAMESPACE", settings.watched().join(",")),
                ("LEADER_ELECT", "false".to_owned()),
                ("KUBECONFIG", account.kubeconfig.to_string_lossy().into_owned()),
            ],
        };
        self.account = Some(account);
        if self.operator.is_some() && self.running.as_ref() == Some(&wanted) {
            return Ok(());
        }
        if let Some(operator) = self.operator.take() {
            self.say("stopping the operator").await;
            operator.stop().await;
        }
        self.say(format_args!(
            "starting the operator as the service account {}/{}",
            settings.namespace, manifests.operator
        ))
        .await;
        self.restarts = Restarts::default();
        self.running = Some(wanted);
        self.start_operator()
    }

    /// Starts what was launched last.
    fn start_operator(&mut self) -> Result<(), Error> {
        self.restart = None;
        if let Some(launch) = &self.running {
            let mut command = Command::new(&launch.executable);
            command
                .current_dir(&self.root)
                .envs(launch.environment.iter().cloned());
            self.operator = Some(Process::start(&command, Speaker::Operator, &self.console)?);
            self.started = Instant::now();
        }
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

    /// Waits for a change, and meanwhile keeps the operator alive.
    async fn wait(&mut self, seen: &Sources) {
        let root = self.root.clone();
        let mut changed = std::pin::pin!(seen.changed(&root));
        loop {
            tokio::select! {
                path = &mut changed => return self.say(format_args!("{} changed", slashed(&path))).await,
                status = ended(self.operator.as_mut()) => self.operator_ended(status).await,
                () = at(self.restart) => {
                    self.say("starting the operator again").await;
                    if let Err(error) = self.start_operator() {
                        self.say(format_args!("error: {error}")).await;
                    }
                }
                () = at(self.account.as_ref().map(|account| account.renewal)) => self.renew().await,
            }
        }
    }

    async fn operator_ended(&mut self, status: std::io::Result<ExitStatus>) {
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        self.operator = None;
        let pause = self.restarts.pause(self.started.elapsed());
        self.restart = Some(Instant::now() + pause);
        self.say(format_args!(
            "the operator ended ({status}); it starts again in {pause:?}, or at the next change"
        ))
        .await;
    }

    async fn renew(&mut self) {
        if let Some(account) = &mut self.account
            && let Err(error) = account.renew(&self.cluster).await
        {
            account.renewal = Instant::now() + RETRY;
            self.say(format_args!("error: {error}; trying again in {RETRY:?}"))
                .await;
        }
    }

    async fn say(&self, text: impl std::fmt::Display) {
        self.console.say(Speaker::Dev, text).await;
    }
}

/// The end of the operator; never, where none runs.
async fn ended(operator: Option<&mut Process>) -> std::io::Result<ExitStatus> {
    match operator {
        Some(operator) => operator.ended().await,
        None => std::future::pending().await,
    }
}

/// That moment; never, where there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
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
