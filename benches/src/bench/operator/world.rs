//! A control plane, and what the operators see of the world: Widgets that come and change, Deployments that become ready.

use std::{
    fs::File,
    future::Future,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client, Config, CustomResourceExt as _,
    api::{ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_benches::widget::{Widget, WidgetSpec, WidgetStatus};
use kubewright_testkit::{AuditLog, ControlPlane};
use serde_json::json;

use crate::process::Process;

const OPERATOR: &str = "operator";
const NAMESPACE: &str = "default";
/// How many requests of ours are on their way.
const AT_ONCE: usize = 16;
/// How long nothing must happen, and for how long that is waited for.
const QUIET: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_mins(10);
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) struct World {
    plane: ControlPlane,
    client: Client,
    widgets: u32,
}

impl World {
    /// A control plane that knows Widgets; there are none yet.
    pub(crate) async fn new(widgets: u32) -> Result<Self> {
        // The API server does not hold back members of that group: the operators are compared, not its fairness.
        let plane = ControlPlane::builder()
            .user(OPERATOR, &["system:masters"])
            .start()?;
        let crd = serde_json::to_string(&Widget::crd())?;
        plane
            .kubectl()
            .stdin(crd)
            .run(["apply", "--server-side", "-f", "-"])?;
        plane.wait_until_ownable("bench.kubewright.dev/v1", "Widget");
        let kubeconfig = Kubeconfig::read_from(plane.admin().kubeconfig())?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Self {
            client: Client::try_from(config)?,
            plane,
            widgets,
        })
    }

    /// Starts an operator, whose talk goes to `log`.
    pub(crate) fn start(&self, command: &mut Command, log: &Path) -> Result<Process> {
        let user = self.plane.user(OPERATOR).context("no user for the operator")?;
        let log = File::options().create(true).append(true).open(log)?;
        Process::start(command.env("KUBECONFIG", user.kubeconfig()).stderr(log))
    }

    /// Creates all Widgets.
    pub(crate) async fn create(&self) -> Result<()> {
        let (widgets, parameters) = (&self.api::<Widget>(), &PostParams::default());
        self.each(async |name| {
            let spec = WidgetSpec {
                image: "widget:1".to_owned(),
                replicas: 2,
            };
            widgets.create(parameters, &Widget::new(&name, spec)).await?;
            Ok(())
        })
        .await?;
        self.reached(2, 0).await
    }

    /// Says of every Deployment that its replicas are ready.
    pub(crate) async fn make_ready(&self) -> Result<()> {
        let (deployments, parameters) = (&self.api::<Deployment>(), &PatchParams::default());
        let status =
            json!({ "observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2 });
        let patch = &Patch::Merge(json!({ "status": status }));
        self.each(async |name| {
            deployments.patch_status(&name, parameters, patch).await?;
            Ok(())
        })
        .await?;
        self.reached(2, 2).await
    }

    /// Asks for one replica more of every Widget.
    pub(crate) async fn scale(&self) -> Result<()> {
        let (widgets, parameters) = (&self.api::<Widget>(), &PatchParams::default());
        let patch = &Patch::Merge(json!({ "spec": { "replicas": 3 } }));
        self.each(async |name| {
            widgets.patch(&name, parameters, patch).await?;
            Ok(())
        })
        .await?;
        self.reached(3, 2).await
    }

    /// Waits until the operator has reconciled so often, and then neither reconciled nor sent a request for a while. Says how often it
    /// has reconciled.
    pub(crate) fn quiet(&self, operator: &mut Process, least: u64) -> Result<u64> {
        let (start, mut since, mut seen) = (Instant::now(), Instant::now(), (0, 0));
        loop {
            let now = (self.audited()?, reconciles(operator)?);
            if now != seen {
                (since, seen) = (Instant::now(), now);
            }
            if seen.1 >= least && since.elapsed() >= QUIET {
                return Ok(seen.1);
            }
            ensure!(
                start.elapsed() < PATIENCE,
                "the operator does not become quiet after {} reconciles",
                seen.1
            );
            std::thread::sleep(PAUSE);
        }
    }

    /// The operator's requests so far.
    pub(crate) fn requests(&self) -> Result<AuditLog> {
        Ok(self.plane.audit()?.by_user(OPERATOR))
    }

    /// How long the audit log is: nobody but the operator and we ourselves sends what is logged.
    fn audited(&self) -> Result<u64> {
        Ok(std::fs::metadata(self.plane.audit_log_path())?.len())
    }

    /// Waits until every Widget has that status.
    async fn reached(&self, replicas: i32, ready_replicas: i32) -> Result<()> {
        let status = Some(WidgetStatus {
            replicas,
            ready_replicas,
        });
        let (widgets, start) = (self.api::<Widget>(), Instant::now());
        loop {
            let widgets = widgets.list(&ListParams::default()).await?;
            let right = widgets.iter().filter(|widget| widget.status == status).count();
            if right == usize::try_from(self.widgets)? {
                return Ok(());
            }
            ensure!(
                start.elapsed() < PATIENCE,
                "only {right} of {} Widgets have the status {status:?}",
                self.widgets
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn each<F: Future<Output = Result<()>>>(&self, act: impl Fn(String) -> F) -> Result<()> {
        stream::iter(0..self.widgets)
            .map(|number| act(format!("widget-{number:04}")))
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

/// How often the operator has reconciled.
fn reconciles(operator: &mut Process) -> Result<u64> {
    operator.tell("how often?")?;
    Ok(operator.said("reconciles")?.parse()?)
}
