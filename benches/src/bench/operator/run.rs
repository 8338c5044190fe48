//! One operator's life: it starts with nothing, sees the three phases, is killed and starts again with everything there.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use kubewright_testkit::AuditLog;

use super::world::World;

/// What was measured, in the order of its columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// A Widget, over the three phases.
    pub(crate) requests: f64,
    pub(crate) reconciles: f64,
    pub(crate) events: f64,
    pub(crate) cpu_millis: f64,
    /// All of them.
    pub(crate) conflicts: f64,
    pub(crate) duplicates: f64,
    /// Resident megabytes.
    pub(crate) idle: f64,
    pub(crate) loaded: f64,
    /// Those of them that are no pages of a file.
    pub(crate) anonymous: f64,
    /// From the start to quiet, with everything there.
    pub(crate) restart_seconds: f64,
    pub(crate) restart_writes: f64,
}

/// Measures the operator that `command` starts.
pub(crate) async fn measure(
    command: impl Fn() -> Result<Command>,
    log: &Path,
    widgets: u32,
) -> Result<Figures> {
    let world = World::new(widgets).await?;
    let mut operator = world.start(&mut command()?, log)?;
    let none = world.quiet(&mut operator, 0)?;
    operator.settle()?;
    ensure!(none == 0, "there is nothing to reconcile");
    ensure!(!world.requests()?.is_empty(), "the operator has sent no request");
    let (idle, before, cpu) = (
        operator.resident()?,
        world.requests()?.len(),
        operator.cpu_micros()?,
    );

    world.create().await?;
    world.quiet(&mut operator, 0)?;
    world.make_ready().await?;
    world.quiet(&mut operator, 0)?;
    world.scale().await?;
    let reconciles = world.quiet(&mut operator, 0)?;
    operator.settle()?;
    let (loaded, anonymous, cpu) = (
        operator.resident()?,
        operator.anonymous()?,
        operator.cpu_micros()? - cpu,
    );
    let sent = world.requests()?;
    drop(operator);

    let mut again = world.start(&mut command()?, log)?;
    world.quiet(&mut again, u64::from(widgets))?;
    again.settle()?;
    let restart_seconds = again.cpu_micros()? / 1e6;
    let writes = world.requests()?.writes().len() - sent.writes().len();
    drop(again);

    let each = 1.0 / f64::from(widgets);
    let refused =
        |creates: bool| sent.filter(|event| event.code == 409 && (event.verb == "create") == creates);
    let events = sent.filter(|event| event.resource == "events");
    Ok(Figures {
        requests: (count(&sent) - whole(before)) * each,
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        reconciles: reconciles as f64 * each,
        events: count(&events) * each,
        cpu_millis: cpu / 1e3 * each,
        conflicts: count(&refused(false)),
        duplicates: count(&refused(true)),
        idle: idle / 1024.0,
        loaded: loaded / 1024.0,
        anonymous: anonymous / 1024.0,
        restart_seconds,
        restart_writes: whole(writes),
    })
}

fn count(log: &AuditLog) -> f64 {
    whole(log.len())
}

#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn whole(number: usize) -> f64 {
    number as f64
}
