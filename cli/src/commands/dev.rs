//! `kubewright dev`: the operator beside an API server, and again after each change of the source.

use std::future::Future;

use tokio::sync::mpsc;

use crate::{
    Context, Error, args,
    dev::{Console, Line, Session},
    plan::IoError,
    project::Project,
};

/// Runs until it is interrupted; then ends all that it started, and returns.
pub fn run(args: &args::Dev, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let runtime =
        tokio::runtime::Runtime::new().map_err(|source| IoError::new("start", "threads", source))?;
    runtime.block_on(live(args, project, context))
}

async fn live(args: &args::Dev, project: Project, context: &mut Context<'_>) -> Result<(), Error> {
    let mut interrupted = std::pin::pin!(interruption()?);
    let (console, mut lines) = Console::new();
    let (cargo, color) = (context.cargo.clone(), context.color);
    let start = Session::start(args, project, cargo, color, console);
    let started = tokio::select! {
        started = printing(context, &mut lines, start) => started??,
        () = &mut interrupted => return Ok(()),
    };
    let mut session = started;
    if let Some(path) = session.kubeconfig() {
        // For a shell beside this one: kubectl works with it.
        let line = format!("KUBECONFIG={}\n", path.display());
        context.print(&line)?;
    }
    let ended = tokio::select! {
        ended = printing(context, &mut lines, session.run()) => ended,
        () = &mut interrupted => Ok(()),
    };
    let stopped = printing(context, &mut lines, session.stop()).await;
    ended.and(stopped)
}

/// Waits for `work`, and prints what comes meanwhile, and what is left then.
async fn printing<T>(
    context: &mut Context<'_>,
    lines: &mut mpsc::Receiver<Line>,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    let mut work = std::pin::pin!(work);
    let result = loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => context.say(line.show(context.color))?,
            result = &mut work => break result,
        }
    };
    while let Ok(line) = lines.try_recv() {
        context.say(line.show(context.color))?;
    }
    Ok(result)
}

/// Ends at the first signal that asks us to end.
#[cfg(unix)]
fn interruption() -> Result<impl Future<Output = ()>, Error> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).map_err(|source| IoError::new("listen for", "signals", source));
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

/// Ends at Ctrl-C.
#[cfg(not(unix))]
fn interruption() -> Result<impl Future<Output = ()>, Error> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
