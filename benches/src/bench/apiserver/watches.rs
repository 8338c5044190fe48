//! Many watches of the same objects, each a connection of its own; each must be told of everything.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use tokio::task::JoinSet;

use super::{
    connection::Lines,
    load::{self, Cost},
    server::Server,
};

/// How many connections are made at once, and how long all events may take.
const AT_ONCE: usize = 16;
const PATIENCE: Duration = Duration::from_mins(3);

/// What an event to a watch costs, with what `write` does to make so many events, and what is resident while all watch.
pub(crate) async fn fan_out(
    server: &Server,
    namespace: &str,
    watches: usize,
    events: usize,
    write: impl AsyncFnOnce() -> Result<usize>,
) -> Result<(Cost, f64)> {
    let version = load::version(server, namespace).await?;
    let uri = format!("{}?watch=1&resourceVersion={version}", load::path(namespace));
    let request = server.request("GET", &uri, "");
    let open = async || server.connect().await?.watch(&request).await;
    let open: Vec<Lines> = stream::iter(0..watches)
        .map(|_| open())
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    server.settle().await?;
    let resident = server.resident()?;
    let cost = load::cost(server, async || {
        let mut readers = JoinSet::new();
        for watch in open {
            readers.spawn(watch.read(events));
        }
        write().await?;
        let mut told = 0;
        tokio::time::timeout(PATIENCE, async {
            while let Some(read) = readers.join_next().await {
                told += read??;
            }
            anyhow::Ok(())
        })
        .await
        .context("not all events came in time")??;
        ensure!(
            told == watches * events,
            "{told} events came to {watches} watches"
        );
        Ok(told)
    });
    Ok((cost.await?, resident))
}
