//! `kubewright completions SHELL`.

use clap::CommandFactory;

use crate::{
    Context, Error,
    args::{Cli, Completions},
};

/// Prints the completion script of a shell.
pub fn run(args: &Completions, context: &mut Context<'_>) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kubewright", &mut script);
    context.print(&String::from_utf8_lossy(&script))
}
