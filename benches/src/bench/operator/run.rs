//! Measures one operator: it starts without objects, runs through the three phases, is killed, and starts again with all objects existing.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use kubewright_testkit::AuditLog;

use super::testbed::OperatorTestbed;

/// Figures of one operator, in the order of the columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperatorFigures {
    /// Per Widget, over the three phases.
    pub(crate) requests: f64,
    pub(crate) reconciles: f64,
    pub(crate) events: f64,
    pub(crate) cpu_millis: f64,
    /// For all Widgets.
    pub(crate) conflicts: f64,
    pub(crate) duplicates: f64,
    /// Resident megabytes.
    pub(crate) idle: f64,
    pub(crate) loaded: f64,
    /// The anonymous part of `loaded`: without pages of files.
    pub(crate) anonymous: f64,
    /// CPU seconds and writes from a restart until the operator is quiet, with all objects existing.
    pub(crate) restart_seconds: f64,
    pub(crate) restart_writes: f64,
}

/// Measures the operator that `command` starts.
pub(crate) async fn measure(
    command: impl Fn() -> Result<Command>,
    log: &Path,
    widgets: u32,
) -> Result<OperatorFigures> {
    let testbed = OperatorTestbed::new(widgets).await?;
    let mut operator = testbed.start(&mut command()?, log)?;
    let initial_reconciles = testbed.wait_until_quiet(&mut operator, 0)?;
    operator.wait_until_idle()?;
    ensure!(
        initial_reconciles == 0,
        "the operator reconciled although there are no Widgets"
    );
    ensure!(!testbed.requests()?.is_empty(), "the operator sent no requests");
    let (idle, before, cpu) = (
        operator.resident_kb()?,
        testbed.requests()?.len(),
        operator.cpu_micros()?,
    );

    testbed.create_widgets().await?;
    testbed.wait_until_quiet(&mut operator, 0)?;
    testbed.mark_deployments_ready().await?;
    testbed.wait_until_quiet(&mut operator, 0)?;
    testbed.scale_widgets().await?;
    let reconciles = testbed.wait_until_quiet(&mut operator, 0)?;
    operator.wait_until_idle()?;
    let (loaded, anonymous, cpu) = (
        operator.resident_kb()?,
        operator.anonymous_kb()?,
        operator.cpu_micros()? - cpu,
    );
    let sent = testbed.requests()?;
    drop(operator);

    let mut restarted = testbed.start(&mut command()?, log)?;
    testbed.wait_until_quiet(&mut restarted, u64::from(widgets))?;
    restarted.wait_until_idle()?;
    let restart_seconds = restarted.cpu_micros()? / 1e6;
    let writes = testbed.requests()?.writes().len() - sent.writes().len();
    drop(restarted);

    let per_widget = 1.0 / f64::from(widgets);
    let conflicts_of =
        |creates: bool| sent.filter(|event| event.code == 409 && (event.verb == "create") == creates);
    let events = sent.filter(|event| event.resource == "events");
    Ok(OperatorFigures {
        requests: (count(&sent) - to_f64(before)) * per_widget,
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        reconciles: reconciles as f64 * per_widget,
        events: count(&events) * per_widget,
        cpu_millis: cpu / 1e3 * per_widget,
        conflicts: count(&conflicts_of(false)),
        duplicates: count(&conflicts_of(true)),
        idle: idle / 1024.0,
        loaded: loaded / 1024.0,
        anonymous: anonymous / 1024.0,
        restart_seconds,
        restart_writes: to_f64(writes),
    })
}

fn count(log: &AuditLog) -> f64 {
    to_f64(log.len())
}

#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn to_f64(number: usize) -> f64 {
    number as f64
}
