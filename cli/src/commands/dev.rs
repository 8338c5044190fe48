//! `kubewright dev`: runs the operator against an API server, and rebuilds and restarts it when the source changes.

use std::future::Future;

use tokio::sync::mpsc;

use super::signals::{hangup_signal, termination_signal};
use crate::{
    Context, Error, args,
    dev::{Console, Line, Session},
    plan::IoError,
    project::Project,
};

/// Runs until it is interrupted, then stops everything that it started.
pub fn run(args: &args::Dev, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let runtime =
        tokio::runtime::Runtime::new().map_err(|source| IoError::new("start", "threads", source))?;
    runtime.block_on(run_session(args, project, context))
}

async fn run_session(args: &args::Dev, project: Project, context: &mut Context<'_>) -> Result<(), Error> {
    let (terminated, hangup) = (termination_signal()?, hangup_signal()?);
    let mut interrupted = std::pin::pin!(async {
        tokio::select! {
            () = terminated => {}
            () = hangup => {}
        }
    });
    let (console, mut lines) = Console::new();
    let (cargo, color) = (context.cargo.clone(), context.color);
    let start = Session::start(args, project, cargo, color, console);
    let started = tokio::select! {
        started = print_lines_during(context, &mut lines, start) => started??,
        () = &mut interrupted => return Ok(()),
    };
    let mut session = started;
    if let Some(path) = session.kubeconfig() {
        // For kubectl in another terminal.
        let line = format!("KUBECONFIG={}\n", path.display());
        context.print(&line)?;
    }
    let ended = tokio::select! {
        ended = print_lines_during(context, &mut lines, session.run()) => ended.and_then(Err),
        () = &mut interrupted => Ok(()),
    };
    let stopped = print_lines_during(context, &mut lines, Box::pin(session.stop())).await;
    ended.and(stopped)
}

/// Awaits `work` while printing the console's lines; prints the remaining lines when it completes.
async fn print_lines_during<T>(
    context: &mut Context<'_>,
    lines: &mut mpsc::Receiver<Line>,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    let mut work = std::pin::pin!(work);
    let result = loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => context.message(line.render(context.color))?,
            result = &mut work => break result,
        }
    };
    while let Ok(line) = lines.try_recv() {
        context.message(line.render(context.color))?;
    }
    Ok(result)
}
