//! Measures one server: start, writes, watches, and many objects.

use std::{ops::Range, time::Duration};

use anyhow::Result;

use super::{
    definitions,
    load::{self, OperationCost, Writers},
    server::MeasuredServer,
    watches,
};

const NAMESPACE: &str = "bench";
/// Number of created objects, and number of updates.
const OBJECTS: usize = 5000;
const UPDATES: usize = 5000;
/// Number of events that each of 100 and of 1000 watches receives. With many more events the real server closes watches as too slow.
const EVENTS_PER_100_WATCHES: usize = 1000;
const EVENTS_PER_1000_WATCHES: usize = 100;
/// Numbers of definitions that are created at once.
const DEFINITIONS: [usize; 2] = [100, 500];
/// Number of objects to store, and the time limit for creating them.
const MAX_STORED_OBJECTS: usize = 100_000;
const FILL_TIMEOUT: Duration = Duration::from_mins(5);

/// Figures of one server, in the order of the rows. Figures that were not measured are NaN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerFigures {
    pub(crate) ready_millis: f64,
    pub(crate) ready_cpu_millis: f64,
    /// Resident megabytes.
    pub(crate) idle: f64,
    pub(crate) create: OperationCost,
    pub(crate) update: OperationCost,
    pub(crate) fan_out_hundred: OperationCost,
    pub(crate) fan_out_thousand: OperationCost,
    pub(crate) watched: f64,
    pub(crate) first_definitions: OperationCost,
    pub(crate) more_definitions: OperationCost,
    pub(crate) stored: f64,
    pub(crate) fill: OperationCost,
    pub(crate) list: OperationCost,
    pub(crate) filled: f64,
    pub(crate) listed: f64,
}

/// Measures the server that `start` starts. The amount of work is divided by `divisor`. Without `fills`, storing many objects is not
/// measured.
pub(crate) async fn measure(
    start: impl AsyncFn() -> Result<MeasuredServer>,
    divisor: usize,
    fills: bool,
) -> Result<ServerFigures> {
    let server = start().await?;
    let ready_cpu_millis = server.cpu_micros()? / 1e3;
    server.wait_until_idle().await?;
    let idle = server.resident_mb()?;

    let mut writers = Writers::new(&server, NAMESPACE).await?;
    let objects = OBJECTS / divisor;
    let create =
        load::measure_cost(&server, async || writers.create(0..objects, Duration::MAX).await).await?;
    let update = load::measure_cost(&server, async || {
        writers.update(objects, 0..UPDATES / divisor).await
    })
    .await?;
    let mut fan_out = async |watches, events| {
        let write = async || writers.update(objects, 0..events).await;
        watches::fan_out(&server, NAMESPACE, watches, events, write).await
    };
    let (fan_out_hundred, _) = fan_out(100, EVENTS_PER_100_WATCHES / divisor).await?;
    let (fan_out_thousand, watched) = fan_out(1000, EVENTS_PER_1000_WATCHES.div_ceil(divisor)).await?;
    let mut figures = ServerFigures {
        ready_millis: server.ready_millis,
        ready_cpu_millis,
        idle,
        create,
        update,
        fan_out_hundred,
        fan_out_thousand,
        watched,
        first_definitions: OperationCost::NONE,
        more_definitions: OperationCost::NONE,
        stored: f64::NAN,
        fill: OperationCost::NONE,
        list: OperationCost::NONE,
        filled: f64::NAN,
        listed: f64::NAN,
    };
    if fills {
        fill(
            &server,
            &mut writers,
            objects..MAX_STORED_OBJECTS / divisor,
            &mut figures,
        )
        .await?;
    }
    drop(server);
    [figures.first_definitions, figures.more_definitions] = measure_definitions(start, divisor).await?;
    Ok(figures)
}

/// Measures definitions, on a server of their own.
pub(crate) async fn measure_definitions(
    start: impl AsyncFn() -> Result<MeasuredServer>,
    divisor: usize,
) -> Result<[OperationCost; 2]> {
    let server = start().await?;
    server.wait_until_idle().await?;
    let mut writers = Writers::new(&server, NAMESPACE).await?;
    let [first, more] = DEFINITIONS.map(|count| count / divisor);
    Ok([
        definitions::create(&server, &mut writers, "first.bench.dev", first).await?,
        definitions::create(&server, &mut writers, "more.bench.dev", more).await?,
    ])
}

/// Creates the rest of the objects, and lists them all.
async fn fill(
    server: &MeasuredServer,
    writers: &mut Writers,
    rest: Range<usize>,
    figures: &mut ServerFigures,
) -> Result<()> {
    figures.fill = load::measure_cost(server, async || writers.create(rest, FILL_TIMEOUT).await).await?;
    server.wait_until_idle().await?;
    figures.filled = server.resident_mb()?;
    let mut listed = 0;
    figures.list = load::measure_cost(server, async || {
        listed = load::list(server, NAMESPACE).await?;
        Ok(listed)
    })
    .await?;
    figures.stored = load::to_f64(listed);
    server.wait_until_idle().await?;
    figures.listed = server.resident_mb()?;
    Ok(())
}
