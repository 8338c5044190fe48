//! The `kubewright` command: scaffolds an operator, adds kinds to it, and keeps its generated files up to date.
//!
//! Each command makes a plan, then applies it. Planning only reads; it returns a [`Plan`](plan::Plan) with all files
//! in memory. Applying writes temporary files and renames them. `--dry-run` and `--check` run the same code without
//! the last step.
//!
//! Read in this order: [`args`] and [`commands`]; [`plan`]; [`ownership`] (generated, managed and user files);
//! [`project`] and [`deploy_settings`], [`cargo`] and [`manifests`] (the operator's output, and the files made from it); [`samples`];
//! [`generation`] (all of these in one plan); [`source`] (insertion into the user's code) and [`versions`] (where a kind's versions are); [`dev`]
//! (build, apply and run on every change); [`migration`] (stored objects of a cluster); [`imports`] (kinds of other projects); [`packaging`]
//! (packages made of the manifests); [`doctor`] (checks).
//!
//! stdout is for data (a plan, a diff, completions), stderr for messages. No command prompts. [`exit`] lists the exit
//! codes.

pub mod args;
pub mod cargo;
mod cli_version;
pub mod commands;
mod context;
pub mod deploy_settings;
pub mod dev;
pub mod doctor;
mod error;
pub mod exit;
mod format;
pub mod generation;
mod git;
pub mod imports;
pub mod manifests;
pub mod migration;
pub mod names;
pub mod ownership;
pub mod packaging;
pub mod plan;
pub mod project;
pub mod samples;
pub mod schema_diff;
mod schema_type;
mod similar;
pub mod source;
pub mod version_conversion;
pub mod versions;
pub mod yaml;

use std::{io::Write, process::ExitCode};

use clap::Parser;

pub use context::Context;
pub use error::{
    CargoError, ClusterError, Error, ImportError, KindError, MigrationError, PackageError, ProjectError,
    UnknownObjects, UpgradeError, VersionError,
};

/// Parses the arguments, runs the command and reports its error. Returns the process's exit code.
pub fn main() -> ExitCode {
    let cli = match args::Cli::try_parse_from(args::command_line(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout and exit with success; everything else is a usage error.
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
        // The reader of our output closed the pipe: not an error.
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
        args::Command::Migrate(args::Migrate::Storage(args)) => {
            commands::migrate_storage::run(&args, context)
        }
        args::Command::Add(args::Add::Controller(args)) => commands::add_controller::run(&args, context),
        args::Command::Add(args::Add::Webhook(args)) => commands::add_webhook::run(&args, context),
        args::Command::Add(args::Add::Version(args)) => commands::add_version::run(&args, context),
        args::Command::Remove(args::Remove::Kind(args)) => commands::remove_kind::run(&args, context),
        args::Command::Remove(args::Remove::Controller(args)) => {
            commands::remove_controller::run(&args, context)
        }
        args::Command::Remove(args::Remove::Webhook(args)) => commands::remove_webhook::run(&args, context),
        args::Command::Remove(args::Remove::Version(args)) => commands::remove_version::run(&args, context),
        args::Command::Rename(args::Rename::Kind(args)) => commands::rename_kind::run(&args, context),
        args::Command::Rename(args::Rename::Group(args)) => commands::rename_group::run(&args, context),
        args::Command::Import(args) => commands::import::run(&args, context),
        args::Command::Upgrade(args) => commands::upgrade::run(&args, context),
        args::Command::Generate(args) => commands::generate::run(&args, context),
        args::Command::Doctor(args) => commands::doctor::run(&args, context),
        args::Command::Package(args) => commands::package::run(&args, context),
        args::Command::Dev(args) => commands::dev::run(&args, context),
        args::Command::ApiServer(args) => commands::api_server::run(&args, context),
        args::Command::Completions(args) => commands::completions::run(&args, context),
    }
}
