//! Signals that end the commands that go on.

use std::future::Future;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::Error;
#[cfg(unix)]
use crate::plan::IoError;

/// Ends at Ctrl-C or SIGTERM. It listens from when this returns.
#[cfg(unix)]
pub(super) fn interruption() -> Result<impl Future<Output = ()>, Error> {
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Ends when the terminal goes. Who listens dies of it under `nohup`, too.
#[cfg(unix)]
pub(super) fn hangup() -> Result<impl Future<Output = ()>, Error> {
    let mut hangup = listen(SignalKind::hangup())?;
    Ok(async move {
        let _ = hangup.recv().await;
    })
}

#[cfg(unix)]
fn listen(kind: SignalKind) -> Result<Signal, Error> {
    Ok(signal(kind).map_err(|source| IoError::new("listen for", "signals", source))?)
}

/// Ends at Ctrl-C.
#[cfg(not(unix))]
pub(super) fn interruption() -> Result<impl Future<Output = ()>, Error> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// There is no such signal.
#[cfg(not(unix))]
pub(super) fn hangup() -> Result<impl Future<Output = ()>, Error> {
    Ok(std::future::pending())
}
