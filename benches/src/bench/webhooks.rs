//! Measures servers of admission webhooks: reviews of a small object over HTTPS, each server on one core.
//!
//! The load is that of an API server: HTTP/1.1 on connections that stay open. Without a pause it measures how many reviews a core answers;
//! at a fixed rate it shows how long one takes, counted from the moment at which it was due, so that a server that stalls does not slow the
//! load down.

use std::{
    fs,
    net::TcpListener as StdTcpListener,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use futures::future::try_join_all;
use kubewright_benches::{median, report};
use serde_json::{Value, json};
use tokio_rustls::TlsConnector;

use crate::{
    operator::{program, testbed::OperatorTestbed},
    process::Process,
    review_client::{ReviewClient, certificate},
};

/// Arguments of `bench webhooks`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Path of the Go operator
    #[arg(long)]
    go: PathBuf,
    /// Connections of the load
    #[arg(long, default_value_t = 32)]
    connections: u32,
    /// Reviews per second at the fixed rate
    #[arg(long, default_value_t = 5000)]
    rate: u32,
    /// Seconds of each load
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Number of rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Write the table into this file, between its marks
    #[arg(long)]
    write: Option<PathBuf>,
}

/// The servers that are compared; kube-runtime has none.
const NAMES: [&str; 2] = ["kubewright", "controller-runtime"];
const PATH: &str = "/validate-bench-kubewright-dev-v1-widget";
/// The core of the server; the load has the others.
const CORE: &str = "0";

/// Figures of one server.
#[derive(Debug, Clone, Copy)]
struct WebhookFigures {
    /// Reviews per second without a pause.
    per_second: f64,
    /// CPU microseconds of the server per review, at the fixed rate.
    cpu: f64,
    /// Reviews per second that were answered at the fixed rate.
    answered: f64,
    /// Milliseconds from the moment at which a review was due until its answer, at the fixed rate.
    p50: f64,
    p99: f64,
    /// Resident megabytes at the end.
    resident: f64,
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn measure(arguments: &Arguments) -> Result<()> {
    let testbed = OperatorTestbed::new(0).await?;
    let folder = tempfile::tempdir()?;
    let connector = certificate(folder.path())?;
    let mut figures = vec![Vec::new(); NAMES.len()];
    for _ in 0..arguments.rounds {
        for (name, figures) in NAMES.iter().zip(&mut figures) {
            let log = folder.path().join("log");
            let one = measure_server(arguments, &testbed, &connector, folder.path(), name).await;
            let log = || {
                format!(
                    "{name}, with the log: {}",
                    fs::read_to_string(&log).unwrap_or_default()
                )
            };
            let one = one.with_context(log)?;
            eprintln!("{name}: {one:?}");
            figures.push(one);
        }
    }
    let rate = arguments.rate;
    let heads = [
        "reviews/s",
        &*format!("answered/s of {rate}"),
        "p50 ms",
        "p99 ms",
        "CPU µs per review",
        "resident MB",
    ];
    let rows = NAMES.iter().zip(&figures).map(|(name, figures)| {
        let of = |read: fn(&WebhookFigures) -> f64| median(figures.iter().map(read));
        let cells = vec![
            format!("{:.0}", of(|one| one.per_second)),
            format!("{:.0}", of(|one| one.answered)),
            format!("{:.2}", of(|one| one.p50)),
            format!("{:.2}", of(|one| one.p99)),
            format!("{:.1}", of(|one| one.cpu)),
            format!("{:.1}", of(|one| one.resident)),
        ];
        ((*name).to_owned(), cells)
    });
    let text = format!(
        "{}\n\n{} connections, {} s each, the server on one core. {}.\n\n{}",
        report::machine(),
        arguments.connections,
        arguments.seconds,
        report::conditions(arguments.rounds),
        report::table(&heads, rows)
    );
    println!("{text}");
    match &arguments.write {
        Some(file) => report::replace_section(file, "webhooks", &text),
        None => Ok(()),
    }
}

async fn measure_server(
    arguments: &Arguments,
    testbed: &OperatorTestbed,
    connector: &TlsConnector,
    folder: &Path,
    name: &str,
) -> Result<WebhookFigures> {
    // Free until the server binds it.
    let address = StdTcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let mut command = Command::new("taskset");
    command.args(["-c", CORE]).arg(program(name, &arguments.go));
    command.arg("webhooks").arg(address.to_string()).arg(folder);
    let server = testbed.start(&mut command, &folder.join("log"))?;
    server.expect_line("ready")?;
    let connect = || ReviewClient::connect(address, connector);
    let mut clients = try_join_all((0..arguments.connections).map(|_| connect())).await?;
    let allowed = review(1).to_string();
    // A server that allows everything would be faster.
    let denied = clients[0].post(PATH, &review(-1).to_string()).await?;
    ensure!(
        denied.contains("spec.replicas") && denied.contains("must be at least 0"),
        "the review should be denied: {denied}"
    );
    let duration = Duration::from_secs(arguments.seconds.into());
    // The first reviews allocate, and are not counted.
    load(&mut clients, &allowed, duration / 5, None).await?;
    let unpaced = load(&mut clients, &allowed, duration, None).await?;
    let before = server.cpu_micros()?;
    let mut latencies = load(&mut clients, &allowed, duration, Some(arguments.rate)).await?;
    let cpu = server.cpu_micros()? - before;
    latencies.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let count = |latencies: &[Duration]| latencies.len() as f64;
    let of = |share: usize| latencies[latencies.len() * share / 100].as_secs_f64() * 1e3;
    Ok(WebhookFigures {
        per_second: count(&unpaced) / duration.as_secs_f64(),
        cpu: cpu / count(&latencies),
        answered: count(&latencies) / duration.as_secs_f64(),
        p50: of(50),
        p99: of(99),
        resident: resident(&server)?,
    })
}

fn resident(server: &Process) -> Result<f64> {
    Ok(server.resident_kb()? / 1024.0)
}

/// Sends the review on all connections for this time, at a rate of all together, and returns how long each answer took.
async fn load(
    clients: &mut [ReviewClient],
    review: &str,
    duration: Duration,
    rate: Option<u32>,
) -> Result<Vec<Duration>> {
    let start = Instant::now();
    let connections = u32::try_from(clients.len())?;
    let interval = rate.map(|rate| Duration::from_secs(1) * connections / rate);
    let clients = clients.iter_mut().zip(0..).map(|(client, number)| async move {
        let mut latencies = Vec::new();
        // The connections take turns.
        let mut due = start + interval.unwrap_or_default() * number / connections;
        loop {
            if interval.is_some() {
                tokio::time::sleep_until(due.into()).await;
            } else {
                due = Instant::now();
            }
            if start.elapsed() >= duration {
                return anyhow::Ok(latencies);
            }
            let answer = client.post(PATH, review).await?;
            latencies.push(due.elapsed());
            ensure!(
                answer.contains("\"allowed\":true"),
                "the review should be allowed: {answer}"
            );
            due += interval.unwrap_or_default();
        }
    });
    Ok(try_join_all(clients).await?.concat())
}

/// A review of a new Widget, as an API server sends it.
fn review(replicas: i32) -> Value {
    let names = json!({"group": "bench.kubewright.dev", "version": "v1", "kind": "Widget"});
    let resource = json!({"group": "bench.kubewright.dev", "version": "v1", "resource": "widgets"});
    let object = json!({
        "apiVersion": "bench.kubewright.dev/v1", "kind": "Widget",
        "metadata": {
            "name": "widget-0001", "namespace": "default", "uid": "5d9ab7f3-6a6f-4f19-b0c5-2b0ef0e3b0a1",
            "creationTimestamp": "2026-11-26T08:00:00Z", "generation": 1, "labels": {"app.kubernetes.io/name": "widget"},
            "managedFields": [{
                "manager": "kubectl", "operation": "Apply", "apiVersion": "bench.kubewright.dev/v1", "time": "2026-11-26T08:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}}, "f:spec": {"f:image": {}, "f:replicas": {}}},
            }],
        },
        "spec": {"image": "widget:1", "replicas": replicas},
    });
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "0b4f7b0e-0d1f-4f52-9a3c-3f0f3f4c1c11", "kind": names, "resource": resource,
            "requestKind": names, "requestResource": resource, "name": "widget-0001", "namespace": "default", "operation": "CREATE",
            "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
            "object": object, "oldObject": null, "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl"},
        },
    })
}
