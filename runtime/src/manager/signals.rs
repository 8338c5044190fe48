//! Handles SIGTERM and SIGINT: the first stops the operator, the second ends the process.

use std::{io, process};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Returns a task that cancels `stop` at the first signal and ends the process at the second. The handlers are installed on return.
pub(super) fn listen(stop: CancellationToken) -> io::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let mut next = async || {
            tokio::select! {
                _ = terminate.recv() => SignalKind::terminate(),
                _ = interrupt.recv() => SignalKind::interrupt(),
            }
        };
        next().await;
        info!("received a signal, stopping: a second one ends the process at once");
        stop.cancel();
        let signal = next().await;
        warn!("received a second signal, ending the process");
        process::exit(128 + signal.as_raw_value())
    })
}
