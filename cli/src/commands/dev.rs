//! `kubewright dev`: the operator beside an API server, and again after each change of the source.

use std::future::Future;

use tokio::sync::mpsc;

use super::signals::{hangup, interruption};
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
    let (interruption, hangup) = (interruption()?, hangup()?);
    let mut interrupted = std::pin::pin!(async {
        tokio::select! {
            () = interruption => {}
            () = hangup => {}
        }
    });
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
