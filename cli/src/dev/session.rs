//! The loop of `kubewright dev`: build, write, apply, run, wait for a change.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::{Duration, SystemTime},
};

use serde_json::Value;
use tokio::time::Instant;

use super::{
    apply::Applier,
    build_progress,
    cluster::Cluster,
    console::{Console, LineOrigin},
    object_filter::ObjectFilter,
    object_watcher::{ObjectWatcher, ResourceName},
    process::Process,
    recurring_messages::RecurringMessages,
    restart_backoff::RestartBackoff,
    sample_applier::SampleApplier,
    service_account::OperatorAccount,
    simulated_cluster::SimulatedCluster,
    source_watcher::SourceWatcher,
    webhooks::{self, LocalWebhooks},
};
use crate::{
    Error, args,
    cargo::OperatorTarget,
    error::ClusterError,
    generation::{self, Decisions},
    imports,
    manifests::{KindManifest, Manifests, rbac},
    plan::slashed,
    project::Project,
    source, yaml,
};

/// Delay before a failed token renewal is retried.
const TOKEN_RETRY_DELAY: Duration = Duration::from_secs(10);

/// An API server and an operator, kept in step with the source.
pub struct Session {
    root: PathBuf,
    cargo: PathBuf,
    color: bool,
    console: Console,
    cluster: Cluster,
    applier: Applier,
    object_watcher: ObjectWatcher,
    /// None with `--cluster` and with `--no-simulation`.
    simulated: Option<SimulatedCluster>,
    account: Option<OperatorAccount>,
    operator: Option<Process>,
    /// The user's flags for the operator.
    operator_flags: Vec<OsString>,
    launched: Option<LaunchSpec>,
    started_at: Instant,
    backoff: RestartBackoff,
    /// When an operator that exited is restarted.
    restart_at: Option<Instant>,
    /// Warnings and problems of the plan of `generate`.
    plan_messages: RecurringMessages,
    /// Kinds of the applied CRDs, by name of the CRD.
    applied_crds: BTreeMap<String, String>,
    webhooks: LocalWebhooks,
    samples: SampleApplier,
}

/// The operator's executable and environment; it is restarted if they change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LaunchSpec {
    executable: PathBuf,
    built_at: Option<SystemTime>,
    environment: Vec<(&'static str, String)>,
}

impl Session {
    /// Starts the API server, or connects to the user's cluster.
    pub async fn start(
        args: &args::Dev,
        project: Project,
        cargo: PathBuf,
        color: bool,
        console: Console,
    ) -> Result<Self, Error> {
        let root = project.root;
        let is_simulated = args.cluster.is_none() && !args.no_simulation;
        let cluster = match &args.cluster {
            None => Cluster::embedded(&root, is_simulated).await?,
            Some(context) => Cluster::from_context(&root, context).await?,
        };
        if let Some(process) = &cluster.folder.first_session {
            let folder = slashed(
                cluster
                    .folder
                    .path
                    .strip_prefix(&root)
                    .unwrap_or(&cluster.folder.path),
            );
            let text = format!(
                "another `kubewright dev` runs in this project (process {process}): the kubeconfigs of this one are in {folder}"
            );
            console.log(LineOrigin::Dev, text).await;
        }
        let client = cluster.client.clone();
        let simulated = if is_simulated {
            let pod_start = args.pod_start.map(Duration::from_millis);
            Some(SimulatedCluster::start(client.clone(), cluster.config.clone(), pod_start).await?)
        } else {
            None
        };
        let filter = match &args.objects {
            _ if args.quiet => ObjectFilter::Nothing,
            names if names.is_empty() => ObjectFilter::All,
            names => ObjectFilter::Named(names.clone()),
        };
        Ok(Self {
            applier: Applier::new(client.clone()),
            object_watcher: ObjectWatcher::new(client, console.clone(), filter),
            samples: SampleApplier::new(cluster.is_embedded(), console.clone()),
            root,
            cargo,
            color,
            console,
            cluster,
            simulated,
            account: None,
            operator: None,
            operator_flags: args.operator_flags.clone(),
            launched: None,
            started_at: Instant::now(),
            backoff: RestartBackoff::default(),
            restart_at: None,
            plan_messages: RecurringMessages::default(),
            applied_crds: BTreeMap::new(),
            webhooks: LocalWebhooks::default(),
        })
    }

    /// Returns the kubeconfig for the user; None with `--cluster`, where the user has one.
    pub fn kubeconfig(&self) -> Option<&Path> {
        self.cluster.kubeconfig.as_deref()
    }

    /// Runs the loop. Returns only errors that no change of the source can fix.
    pub async fn run(&mut self) -> Error {
        let mut sources = SourceWatcher::new(&self.root);
        loop {
            match self.rebuild(&mut sources).await {
                Ok(()) => {}
                Err(error @ Error::UnknownObjects(_)) => return error,
                Err(error) => {
                    self.log(format_args!("error: {error}")).await;
                    self.log("waiting for the next change").await;
                }
            }
            self.wait_for_change(&sources).await;
            sources.refresh();
        }
    }

    /// Stops the operator, then the controllers and nodes, the watches and the API server.
    pub async fn stop(mut self) {
        if let Some(operator) = self.operator.take() {
            operator.stop().await;
        }
        if let Some(simulated) = self.simulated.take()
            && let Err(error) = simulated.stop().await
        {
            self.log(format_args!("error: {error}")).await;
        }
        drop(self.object_watcher);
        self.cluster.stop().await;
    }

    /// Builds the operator, applies its manifests, restarts it and applies the samples.
    async fn rebuild(&mut self, sources: &mut SourceWatcher) -> Result<(), Error> {
        let project = Project::find(&self.root)?;
        let metadata = OperatorTarget::metadata_command(&self.cargo, &project);
        let metadata = Process::run(&metadata, LineOrigin::Cargo, &self.console).await?;
        let target = OperatorTarget::from_metadata_output(
            &self.cargo,
            &project,
            metadata.succeeded,
            &metadata.stdout,
        )?;
        sources.add_paths(target.source_paths());
        self.log("building").await;
        let built = build_progress::build(&target, self.color, &self.console).await?;
        if !built.succeeded {
            return Err(target.compile_error(&built).into());
        }
        let executable = target.executable(&built.stdout)?;
        let printed = target.manifests_command(&executable);
        let printed = Process::run(&printed, LineOrigin::Operator, &self.console).await?;
        let mut manifests = target.parse_manifests(&printed)?;
        self.write_generated(&project, &manifests).await?;
        if !self.cluster.is_embedded() {
            webhooks::check_not_converted(&manifests)?;
        }
        if self.cluster.is_embedded() {
            let rewritten = self.webhooks.rewrite(&mut manifests, project.settings.watched());
            rewritten.map_err(|error| {
                ClusterError::UnexpectedState(format!("no port for the webhooks: {error}"))
            })?;
        } else if manifests.webhooks.is_some() {
            self.log("the cluster cannot call the operator's webhooks on this machine: they are off")
                .await;
        }
        self.apply_manifests(&project, &manifests).await?;
        self.object_watcher
            .watch(printed_resources(&manifests, self.simulated.is_some()))
            .await?;
        self.launch_if_changed(&project, &manifests, executable).await?;
        if !self
            .webhooks
            .wait_for_bundles(&mut self.applier, &manifests)
            .await?
        {
            self.log("the operator does not serve its webhooks yet: its log says why")
                .await;
        }
        self.delete_stale_crds(&manifests).await?;
        if !self
            .samples
            .apply(&mut self.applier, &project, &manifests)
            .await?
        {
            self.log("waiting for the next change").await;
        }
        Ok(())
    }

    /// Writes the files that `generate` would write. Edited files and conflicts are only warnings here: they do not
    /// block the session.
    async fn write_generated(&mut self, project: &Project, manifests: &Manifests) -> Result<(), Error> {
        let outcome = generation::plan(project, manifests, &Decisions::default())?;
        let mut warnings = manifests.warnings.clone();
        warnings.extend(outcome.warnings);
        let may_write = outcome.edited.is_empty() && outcome.conflicts.is_empty();
        if !outcome.edited.is_empty() {
            warnings.push(Error::Edited(outcome.edited).to_string());
        } else if !outcome.conflicts.is_empty() {
            warnings.push(Error::Conflict(outcome.conflicts).to_string());
        }
        warnings.extend(outcome.problems);
        let warnings = warnings.into_iter().map(|warning| format!("warning: {warning}"));
        for message in self.plan_messages.next_round(warnings.collect()) {
            self.log(message).await;
        }
        if may_write && !outcome.plan.is_empty() {
            outcome.plan.apply(&project.root)?;
            self.log(&outcome.plan).await;
        }
        Ok(())
    }

    /// Applies the CRDs and roles from the manifests, not from the files: edited files may differ.
    async fn apply_manifests(&mut self, project: &Project, manifests: &Manifests) -> Result<(), Error> {
        let settings = &project.settings;
        let namespaces: BTreeSet<&String> = settings.watched().iter().chain([&settings.namespace]).collect();
        for namespace in namespaces {
            self.applier.apply_namespace(namespace).await?;
        }
        for (kind, crd) in manifests.defined_crds() {
            let crd = settings.descriptions.apply(crd);
            if let Err(error) = self.applier.apply_crd(&crd).await {
                return Err(self.at_definition(kind, error.into())?);
            }
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            self.applied_crds.insert(name.to_owned(), kind.kind.clone());
            self.log(format_args!("applied the CRD of {}", kind.kind)).await;
        }
        for (path, text) in rbac::files(manifests, &settings.namespace, settings.watched())? {
            for document in yaml::documents(&text)? {
                let applied = self.applier.apply(&document.value).await;
                applied.map_err(|error| Error::from(error).at(&path, document.line("kind")))?;
            }
        }
        if self.cluster.is_embedded() {
            // No other project installs them there.
            for (path, crd) in imports::stored(&project.root)? {
                let applied = self.applier.apply_crd(&crd).await;
                applied.map_err(|error| Error::from(error).at(path, 1))?;
            }
            self.webhooks.apply(&mut self.applier, manifests).await?;
        }
        Ok(())
    }

    /// Returns the error with the place of the struct that defines the kind, if it is in the project's source.
    fn at_definition(&self, kind: &KindManifest, error: Error) -> Result<Error, Error> {
        let kinds = source::project_kinds(&source::read_files(&self.root)?);
        let found = kinds
            .into_iter()
            .find(|found| found.kind.group == kind.group && found.kind.kind == kind.kind);
        Ok(match found {
            Some(found) => error.at(found.path, found.kind.line as u64),
            None => error,
        })
    }

    /// Deletes the CRDs of kinds that were removed from the project, after the operator that used them has stopped. In a
    /// user's cluster that could delete the user's objects: there, only prints how.
    async fn delete_stale_crds(&mut self, manifests: &Manifests) -> Result<(), Error> {
        let current = manifests.defined_crds().map(|(_, crd)| &crd["metadata"]["name"]);
        let current: BTreeSet<&str> = current.filter_map(Value::as_str).collect();
        let stale = self
            .applied_crds
            .extract_if(.., |name, _| !current.contains(name.as_str()));
        for (name, kind) in stale.collect::<Vec<_>>() {
            if self.cluster.is_embedded() {
                self.applier.delete_crd(&name).await?;
                self.log(format_args!(
                    "{kind} was removed from the project: deleted its CRD and objects"
                ))
                .await;
            } else {
                self.log(format_args!(
                    "{kind} was removed from the project but not from the cluster: run `kubectl delete crd {name}` to delete its \
                     CRD and all its objects"
                ))
                .await;
            }
        }
        Ok(())
    }

    /// Starts the operator, unless it runs with the same executable and environment.
    async fn launch_if_changed(
        &mut self,
        project: &Project,
        manifests: &Manifests,
        executable: PathBuf,
    ) -> Result<(), Error> {
        let settings = &project.settings;
        let built_at = std::fs::metadata(&executable)
            .and_then(|found| found.modified())
            .ok();
        let account =
            OperatorAccount::obtain(&self.cluster, &settings.namespace, &manifests.operator).await?;
        let launch = LaunchSpec {
            executable,
            built_at,
            environment: vec![
                ("POD_NAMESPACE", settings.namespace.clone()),
                ("WATCH_NAMESPACE", settings.watched().join(",")),
                // Off, so that a restarted operator works at once; users switch it on to try several replicas.
                (
                    "LEADER_ELECT",
                    env::var("LEADER_ELECT").unwrap_or_else(|_| "false".to_owned()),
                ),
                ("KUBECONFIG", account.kubeconfig.to_string_lossy().into_owned()),
                (
                    "WEBHOOK_BIND_ADDRESS",
                    self.webhooks.address().unwrap_or_else(|| "0".to_owned()),
                ),
            ],
        };
        self.account = Some(account);
        if self.operator.is_some() && self.launched.as_ref() == Some(&launch) {
            return Ok(());
        }
        if let Some(operator) = self.operator.take() {
            self.log("stopping the operator").await;
            operator.stop().await;
        }
        self.log(format_args!(
            "starting the operator as the service account {}/{}",
            settings.namespace, manifests.operator
        ))
        .await;
        self.backoff = RestartBackoff::default();
        self.launched = Some(launch);
        self.start_operator()
    }

    /// Starts the operator as it was last launched.
    fn start_operator(&mut self) -> Result<(), Error> {
        self.restart_at = None;
        if let Some(launch) = &self.launched {
            let mut command = Command::new(&launch.executable);
            command
                .args(&self.operator_flags)
                .current_dir(&self.root)
                .envs(launch.environment.iter().cloned());
            self.operator = Some(Process::start(&command, LineOrigin::Operator, &self.console)?);
            self.started_at = Instant::now();
        }
        Ok(())
    }

    /// Waits for a source change. Restarts the operator if it exits, and renews its token.
    async fn wait_for_change(&mut self, sources: &SourceWatcher) {
        let root = self.root.clone();
        let mut changed = std::pin::pin!(sources.wait_for_change(&root));
        loop {
            tokio::select! {
                path = &mut changed => return self.log(format_args!("{} changed", slashed(&path))).await,
                status = operator_exit(self.operator.as_mut()) => self.handle_operator_exit(status).await,
                () = sleep_until(self.restart_at) => {
                    self.log("restarting the operator").await;
                    if let Err(error) = self.start_operator() {
                        self.log(format_args!("error: {error}")).await;
                    }
                }
                () = sleep_until(self.account.as_ref().map(|account| account.renew_at)) => self.renew().await,
            }
        }
    }

    async fn handle_operator_exit(&mut self, status: std::io::Result<ExitStatus>) {
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        self.operator = None;
        let delay = self.backoff.next_delay(self.started_at.elapsed());
        self.restart_at = Some(Instant::now() + delay);
        self.log(format_args!(
            "the operator exited ({status}); restarting in {delay:?} or on the next change"
        ))
        .await;
    }

    async fn renew(&mut self) {
        if let Some(account) = &mut self.account
            && let Err(error) = account.renew(&self.cluster).await
        {
            account.renew_at = Instant::now() + TOKEN_RETRY_DELAY;
            self.log(format_args!("error: {error}; retrying in {TOKEN_RETRY_DELAY:?}"))
                .await;
        }
    }

    async fn log(&self, text: impl std::fmt::Display) {
        self.console.log(LineOrigin::Dev, text).await;
    }
}

/// Waits for the operator to exit; never completes without one.
async fn operator_exit(operator: Option<&mut Process>) -> std::io::Result<ExitStatus> {
    match operator {
        Some(operator) => operator.wait().await,
        None => std::future::pending().await,
    }
}

/// Sleeps until an instant; never completes without one.
async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Returns the resources to print changes of: the operator's kinds, all that it watches, events, and simulated pods.
fn printed_resources(manifests: &Manifests, pods: bool) -> BTreeSet<ResourceName> {
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
    let mut resources: BTreeSet<ResourceName> = own.chain(watched).collect();
    resources.insert(("events.k8s.io".to_owned(), "events".to_owned()));
    if pods {
        resources.insert((String::new(), "pods".to_owned()));
    }
    resources
}
