//! Opens many watches of the same objects, each on its own connection. Each watch must receive every event.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use tokio::task::JoinSet;

use super::{
    connection::WatchLines,
    load::{self, OperationCost},
    server::MeasuredServer,
};

/// Maximum number of connections that are opened concurrently, and the time limit for the delivery of all events.
const MAX_CONCURRENT_CONNECTS: usize = 16;
const DELIVERY_TIMEOUT: Duration = Duration::from_mins(3);

/// Returns the cost of delivering one event to one watch, and the resident megabytes with all watches open. The cost includes the writes of
/// `write`, which causes `events` events.
pub(crate) async fn fan_out(
    server: &MeasuredServer,
    namespace: &str,
    watches: usize,
    events: usize,
    write: impl AsyncFnOnce() -> Result<usize>,
) -> Result<(OperationCost, f64)> {
    let version = load::list_version(server, namespace).await?;
    let uri = format!(
        "{}?watch=1&resourceVersion={version}",
        load::collection_path(namespace)
    );
    let request = server.request("GET", &uri, "");
    let open = async || server.connect().await?.watch(&request).await;
    let open: Vec<WatchLines> = stream::iter(0..watches)
        .map(|_| open())
        .buffer_unordered(MAX_CONCURRENT_CONNECTS)
        .try_collect()
        .await?;
    server.wait_until_idle().await?;
    let resident_mb = server.resident_mb()?;
    let cost = load::measure_cost(server, async || {
        let mut readers = JoinSet::new();
        for watch in open {
            readers.spawn(watch.read(events));
        }
        write().await?;
        let mut received = 0;
        tokio::time::timeout(DELIVERY_TIMEOUT, async {
            while let Some(read) = readers.join_next().await {
                received += read??;
            }
            anyhow::Ok(())
        })
        .await
        .context("not all events arrived in time")??;
        ensure!(
            received == watches * events,
            "{watches} watches received {received} events"
        );
        Ok(received)
    });
    Ok((cost.await?, resident_mb))
}
