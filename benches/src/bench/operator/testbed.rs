//! A control plane, and the changes that the operators react to: new and scaled Widgets, and Deployments that become ready.

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
/// Maximum number of concurrent requests of the benchmark.
const MAX_CONCURRENT_REQUESTS: usize = 16;
/// An operator is quiet if it neither reconciles nor sends requests for this time.
const QUIET_TIME: Duration = Duration::from_secs(3);
const PHASE_TIMEOUT: Duration = Duration::from_mins(10);
const POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) struct OperatorTestbed {
    plane: ControlPlane,
    client: Client,
    widgets: u32,
}

impl OperatorTestbed {
    /// Starts a control plane and installs the Widget CRD. There are no Widgets yet.
    pub(crate) async fn new(widgets: u32) -> Result<Self> {
        // Members of this group are exempt from API priority and fairness, which is not to be measured.
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

    /// Starts an operator. Its standard error is appended to `log`.
    pub(crate) fn start(&self, command: &mut Command, log: &Path) -> Result<Process> {
        let user = self
            .plane
            .user(OPERATOR)
            .context("the control plane has no user for the operator")?;
        let log = File::options().create(true).append(true).open(log)?;
        Process::start(command.env("KUBECONFIG", user.kubeconfig()).stderr(log))
    }

    /// Creates all Widgets, and waits until their status is up to date.
    pub(crate) async fn create_widgets(&self) -> Result<()> {
        let (widgets, parameters) = (&self.api::<Widget>(), &PostParams::default());
        self.for_each_widget(async |name| {
            let spec = WidgetSpec {
                image: "widget:1".to_owned(),
                replicas: 2,
            };
            widgets.create(parameters, &Widget::new(&name, spec)).await?;
            Ok(())
        })
        .await?;
        self.wait_for_status(2, 0).await
    }

    /// Sets the status of every Deployment to ready, and waits until the Widgets' status is up to date.
    pub(crate) async fn mark_deployments_ready(&self) -> Result<()> {
        let (deployments, parameters) = (&self.api::<Deployment>(), &PatchParams::default());
        let status =
            json!({ "observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2 });
        let patch = &Patch::Merge(json!({ "status": status }));
        self.for_each_widget(async |name| {
            deployments.patch_status(&name, parameters, patch).await?;
            Ok(())
        })
        .await?;
        self.wait_for_status(2, 2).await
    }

    /// Increases the replicas of every Widget by one, and waits until their status is up to date.
    pub(crate) async fn scale_widgets(&self) -> Result<()> {
        let (widgets, parameters) = (&self.api::<Widget>(), &PatchParams::default());
        let patch = &Patch::Merge(json!({ "spec": { "replicas": 3 } }));
        self.for_each_widget(async |name| {
            widgets.patch(&name, parameters, patch).await?;
            Ok(())
        })
        .await?;
        self.wait_for_status(3, 2).await
    }

    /// Waits until the operator has reconciled at least `min_reconciles` times and is quiet. Returns its number of reconciles.
    pub(crate) fn wait_until_quiet(&self, operator: &mut Process, min_reconciles: u64) -> Result<u64> {
        let (start, mut quiet_since, mut last) = (Instant::now(), Instant::now(), (0, 0));
        loop {
            let now = (self.audit_log_bytes()?, reconcile_count(operator)?);
            if now != last {
                (quiet_since, last) = (Instant::now(), now);
            }
            if last.1 >= min_reconciles && quiet_since.elapsed() >= QUIET_TIME {
                return Ok(last.1);
            }
            ensure!(
                start.elapsed() < PHASE_TIMEOUT,
                "the operator is not quiet after {} reconciles",
                last.1
            );
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns the operator's requests so far, from the audit log.
    pub(crate) fn requests(&self) -> Result<AuditLog> {
        Ok(self.plane.audit()?.by_user(OPERATOR))
    }

    /// Returns the size of the audit log. Only the operator and the benchmark send requests that are logged.
    fn audit_log_bytes(&self) -> Result<u64> {
        Ok(std::fs::metadata(self.plane.audit_log_path())?.len())
    }

    /// Waits until every Widget has this status.
    async fn wait_for_status(&self, replicas: i32, ready_replicas: i32) -> Result<()> {
        let status = Some(WidgetStatus {
            replicas,
            ready_replicas,
        });
        let (widgets, start) = (self.api::<Widget>(), Instant::now());
        loop {
            let widgets = widgets.list(&ListParams::default()).await?;
            let up_to_date = widgets.iter().filter(|widget| widget.status == status).count();
            if up_to_date == usize::try_from(self.widgets)? {
                return Ok(());
            }
            ensure!(
                start.elapsed() < PHASE_TIMEOUT,
                "only {up_to_date} of {} Widgets have the status {status:?}",
                self.widgets
            );
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn for_each_widget<F: Future<Output = Result<()>>>(&self, act: impl Fn(String) -> F) -> Result<()> {
        stream::iter(0..self.widgets)
            .map(|number| act(format!("widget-{number:04}")))
            .buffer_unordered(MAX_CONCURRENT_REQUESTS)
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

/// Asks the operator for its number of reconciles.
fn reconcile_count(operator: &mut Process) -> Result<u64> {
    operator.send_line("count")?;
    Ok(operator.expect_line("reconciles")?.parse()?)
}
