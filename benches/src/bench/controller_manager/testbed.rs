//! A control plane with one of the programs, and what a phase costs.

use std::{
    collections::BTreeMap,
    fs::File,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use k8s_openapi::NamespaceResourceScope;
use kube::{
    Api, Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_testkit::{AuditLog, ControlPlane};

use super::program::Program;
use crate::process::Process;

const NAMESPACE: &str = "default";
const USER: &str = "manager";
/// How long a program starts at most, until it does nothing but periodic work.
const START_TIME: Duration = Duration::from_secs(5);

pub(super) struct ManagerTestbed {
    plane: ControlPlane,
    client: Client,
}

/// What a phase costs the program, from its beginning until the program is idle; `seconds` is the time until the objects are as expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhaseCost {
    pub(super) seconds: f64,
    pub(super) cpu: f64,
    /// Without those on events.
    pub(super) requests: f64,
    pub(super) events: f64,
}

impl ManagerTestbed {
    pub(super) async fn new() -> Result<Self> {
        // Members of this group are exempt from API priority and fairness, which is not to be measured.
        let plane = ControlPlane::builder().user(USER, &["system:masters"]).start()?;
        let kubeconfig = Kubeconfig::read_from(plane.admin().kubeconfig())?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Self {
            client: Client::try_from(config)?,
            plane,
        })
    }

    /// Starts the program, and waits until it is idle. Its output is appended to its log.
    pub(super) fn start(&self, program: &Program, logs: &Path) -> Result<Process> {
        let user = self.plane.user(USER).context("the control plane has no user")?;
        let log = File::options()
            .create(true)
            .append(true)
            .open(program.log(logs))?;
        let mut command = program.command(&self.plane, user.kubeconfig());
        let process = Process::start(command.stderr(log))?;
        std::thread::sleep(START_TIME);
        process.wait_until_idle()?;
        Ok(process)
    }

    /// Measures a phase. `act` changes objects, and waits until they are as expected.
    pub(super) async fn measure(
        &self,
        process: &Process,
        prints_requests: bool,
        act: impl AsyncFnOnce() -> Result<()>,
    ) -> Result<PhaseCost> {
        let (cpu, sent) = (process.cpu_micros()?, self.requests()?.len());
        let start = Instant::now();
        act().await?;
        let seconds = start.elapsed().as_secs_f64();
        process.wait_until_idle()?;
        let cpu = process.cpu_micros()? - cpu;
        let sent: AuditLog = self.requests()?.iter().skip(sent).cloned().collect();
        if prints_requests {
            print_requests(&sent);
        }
        let events = sent.filter(|event| event.resource == "events");
        Ok(PhaseCost {
            seconds,
            cpu: cpu / 1e6,
            requests: to_f64(sent.len() - events.len()),
            events: to_f64(events.len()),
        })
    }

    pub(super) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Returns the program's requests so far that were answered. Watches are counted when they end.
    fn requests(&self) -> Result<AuditLog> {
        Ok(self
            .plane
            .audit()?
            .by_user(USER)
            .filter(|event| event.verb != "watch"))
    }
}

fn print_requests(sent: &AuditLog) {
    let mut counts = BTreeMap::new();
    for event in sent {
        *counts
            .entry((event.rbac_resource(), &*event.verb, event.code))
            .or_insert(0) += 1;
    }
    for ((resource, verb, code), count) in counts {
        eprintln!("  {count:6} {verb} {resource} {code}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn to_f64(number: usize) -> f64 {
    number as f64
}
