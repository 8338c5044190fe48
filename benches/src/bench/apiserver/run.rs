//! One server's life: it comes up, is written to, watched, and filled.

use std::{ops::Range, time::Duration};

use anyhow::Result;

use super::{
    load::{self, Cost, Writers},
    server::Server,
    watches,
};

const NAMESPACE: &str = "bench";
/// Objects that are created, and how often one of them is replaced.
const OBJECTS: usize = 5000;
const UPDATES: usize = 5000;
/// Events to each of 100 watches, and of 1000. Of many more the real server ends watches that it finds too slow.
const EVENTS: usize = 1000;
const EVENTS_TO_THOUSAND: usize = 100;
/// Objects that are held, and how long they may take to come.
const HELD: usize = 100_000;
const FILLING: Duration = Duration::from_mins(5);

/// What was measured, in the order of its rows. What was not is not a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) ready_millis: f64,
    pub(crate) ready_cpu_millis: f64,
    /// Resident megabytes.
    pub(crate) idle: f64,
    pub(crate) create: Cost,
    pub(crate) update: Cost,
    pub(crate) hundred: Cost,
    pub(crate) thousand: Cost,
    pub(crate) watched: f64,
    pub(crate) held: f64,
    pub(crate) fill: Cost,
    pub(crate) list: Cost,
    pub(crate) filled: f64,
    pub(crate) listed: f64,
}

/// Measures the server that `start` starts. Of a part only, there is so much less of everything; without `fills` nothing of many objects.
pub(crate) async fn measure(
    start: impl AsyncFn() -> Result<Server>,
    part: usize,
    fills: bool,
) -> Result<Figures> {
    let server = start().await?;
    let ready_cpu_millis = server.cpu_micros()? / 1e3;
    server.settle().await?;
    let idle = server.resident()?;

    let mut writers = Writers::new(&server, NAMESPACE).await?;
    let objects = OBJECTS / part;
    let create = load::cost(&server, async || writers.create(0..objects, Duration::MAX).await).await?;
    let update = load::cost(&server, async || writers.update(objects, 0..UPDATES / part).await).await?;
    let mut fan_out = async |watches, events| {
        let write = async || writers.update(objects, 0..events).await;
        watches::fan_out(&server, NAMESPACE, watches, events, write).await
    };
    let (hundred, _) = fan_out(100, EVENTS / part).await?;
    let (thousand, watched) = fan_out(1000, EVENTS_TO_THOUSAND.div_ceil(part)).await?;
    let mut figures = Figures {
        ready_millis: server.ready_millis,
        ready_cpu_millis,
        idle,
        create,
        update,
        hundred,
        thousand,
        watched,
        held: f64::NAN,
        fill: Cost::NONE,
        list: Cost::NONE,
        filled: f64::NAN,
        listed: f64::NAN,
    };
    if fills {
        fill(&server, &mut writers, objects..HELD / part, &mut figures).await?;
    }
    Ok(figures)
}

/// Creates the rest of the objects, and lists them all.
async fn fill(
    server: &Server,
    writers: &mut Writers,
    rest: Range<usize>,
    figures: &mut Figures,
) -> Result<()> {
    figures.fill = load::cost(server, async || writers.create(rest, FILLING).await).await?;
    server.settle().await?;
    figures.filled = server.resident()?;
    let mut listed = 0;
    figures.list = load::cost(server, async || {
        listed = load::list(server, NAMESPACE).await?;
        Ok(listed)
    })
    .await?;
    figures.held = load::number(listed);
    server.settle().await?;
    figures.listed = server.resident()?;
    Ok(())
}
