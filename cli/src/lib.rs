//! The command `kubewright`: scaffolds an operator, adds kinds to it, and keeps what is generated up to date.
//!
//! A command is a plan and its execution. Planning reads and never writes: it ends in a [`Plan`](plan::Plan), all
//! files in memory. Applying it writes temporary files and renames them. So `--dry-run` and `--check` are the same
//! code without the last step.
//!
//! Read in this order: [`args`] and [`commands`]; [`plan`]; [`ownership`] (whose file is it); [`project`], [`cargo`] and
//! [`manifests`] (what the operator says of itself, and the files that follow); [`samples`]; [`source`] (insertion into
//! the user's code); [`dev`] (the operator live, which is the one command that goes on).
//!
//! stdout is data (a plan, a diff, completions), stderr is talk. Nothing prompts. [`exit`] lists the exit codes.

pub mod args;
pub mod cargo;
pub mod commands;
mod context;
pub mod dev;
mod error;
pub mod exit;
mod format;
pub mod generation;
mod git;
pub mod manifests;
pub mod names;
pub mod ownership;
pub mod plan;
pub mod project;
pub mod samples;
pub mod schema_diff;
mod schema_type;
pub mod source;
pub mod yaml;

use std::{io::Write, process::ExitCode};

use clap::Parser;

pub use context::Context;
pub use error::Error;

/// What `main` does: parses the arguments, runs, reports.
pub fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, on stdout with success; the rest is a mistake in the arguments.
            let code = if error.use_stderr() {
                exit::USAGE
            } else {
                exit::SUCCESS
            };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
    let result =
        Context::from_environment(&mut stdout, &mut stderr).and_then(|mut context| run(cli, &mut context));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has read enough.
        Err(Error::Io(error)) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr, "error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Runs one command.
pub fn run(cli: args::Cli, context: &mut Context<'_>) -> Result<(), Error> {
    match cli.command {
        args::Command::New(args) => commands::new::run(&args, context),
        args::Command::Add(args::Add::Kind(args)) => commands::add_kind::run(&args, context),
        args::Command::Generate(args) => commands::generate::run(&args, context),
        args::Command::Dev(args) => commands::dev::run(&args, context),
        args::Command::ApiServer(args) => commands::api_server::run(&args, context),
        args::Command::Completions(args) => commands::completions::run(&args, context),
    }
}
