//! SIGTERM and SIGINT.

use std::{io, process};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Cancels `stop` at the first signal and ends the process at the second. The listener is installed when this returns.
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
        info!("stopping; a second signal ends the process at once");
        stop.cancel();
        let signal = next().await;
        warn!("ended by a second signal");
        process::exit(128 + signal.as_raw_value())
    })
}
