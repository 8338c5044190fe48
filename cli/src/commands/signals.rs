//! Signals that end the long-running commands.

use std::future::Future;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::Error;
#[cfg(unix)]
use crate::plan::IoError;

/// Returns a future that completes on SIGINT or SIGTERM. Signals count from this call, not from the first poll.
#[cfg(unix)]
pub(super) fn termination_signal() -> Result<impl Future<Output = ()>, Error> {
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Returns a future that completes on SIGHUP, when the terminal closes. A caller ends on SIGHUP under `nohup`, too.
#[cfg(unix)]
pub(super) fn hangup_signal() -> Result<impl Future<Output = ()>, Error> {
    let mut hangup = listen(SignalKind::hangup())?;
    Ok(async move {
        let _ = hangup.recv().await;
    })
}

#[cfg(unix)]
fn listen(kind: SignalKind) -> Result<Signal, Error> {
    Ok(signal(kind).map_err(|source| IoError::new("listen for", "signals", source))?)
}

/// Returns a future that completes on Ctrl-C.
#[cfg(not(unix))]
pub(super) fn termination_signal() -> Result<impl Future<Output = ()>, Error> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Returns a future that never completes: this platform lacks SIGHUP.
#[cfg(not(unix))]
pub(super) fn hangup_signal() -> Result<impl Future<Output = ()>, Error> {
    Ok(std::future::pending())
}
