//! Parses the command line: the manager's flags and the operator's own, which are not all known while `register` runs.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    panic::resume_unwind,
    sync::Arc,
};

use clap::{
    Arg, ArgMatches, Args as _, Command, FromArgMatches as _,
    error::{ContextKind, ContextValue, ErrorKind},
};
use parking_lot::Mutex;

use super::args::ManagerArgs;
use crate::controller::ArgSource;

/// The command line. During registration each `setup.args::<T>()` is parsed leniently: flags of other types, known or not yet known, are
/// skipped. [`strict`](Self::strict) then parses everything once. Cloning copies a pointer.
#[derive(Clone)]
pub(super) struct CommandLine(Arc<CommandLineInner>);

struct CommandLineInner {
    base: Command,
    /// Includes the program's name.
    line: Vec<OsString>,
    operator_flags: Mutex<Vec<FlagSet>>,
}

/// The flags of one type of arguments.
#[derive(Clone)]
struct FlagSet {
    augment: fn(Command) -> Command,
    flags: BTreeSet<String>,
}

/// What to run.
#[derive(Debug)]
pub(super) enum Invocation {
    Run(Box<ManagerArgs>),
    Manifests { yaml: bool },
}

/// The panic payload with which `setup.args` unwinds `register`. It is caught and never printed.
pub(super) struct InvalidArgs(pub(super) clap::Error);

impl CommandLine {
    /// Returns the command line of the operator `name`. The first argument is the program.
    pub(super) fn new(name: &str, version: Option<&str>, line: impl IntoIterator<Item = OsString>) -> Self {
        let library = concat!("kubewright ", env!("CARGO_PKG_VERSION"));
        let version = version.map_or(library.to_owned(), |version| format!("{version} ({library})"));
        // As pflag does, so that a chart's `extraArgs` replace flags of the manifests.
        let base = Command::new(name.to_owned())
            .version(version)
            .args_override_self(true);
        Self(Arc::new(CommandLineInner {
            base,
            line: line.into_iter().collect(),
            operator_flags: Mutex::default(),
        }))
    }

    /// Parses the manager's flags before all flags are known, to configure the logger before registration.
    pub(super) fn early(&self) -> Option<ManagerArgs> {
        let matches = self.lenient(ManagerArgs::augment_args).ok()?;
        ManagerArgs::from_arg_matches(&matches).ok()
    }

    /// Parses all flags. Help, version and invalid flags are clap errors.
    pub(super) fn strict(&self) -> Result<Invocation, clap::Error> {
        let mut command = self.0.base.clone();
        for flag_set in self.0.operator_flags.lock().iter() {
            command = (flag_set.augment)(command);
        }
        let yaml = Arg::new("yaml")
            .long("yaml")
            .action(clap::ArgAction::SetTrue)
            .help("Print YAML documents instead of JSON");
        command = ManagerArgs::augment_args(command)
            .subcommand_negates_reqs(true)
            .subcommand(
                Command::new("manifests")
                    .about("Print the operator's CRDs and permissions as JSON, without a cluster")
                    .arg(yaml),
            );
        // clap takes the doc comment of an argument type for the program's description.
        let about = format!("Runs the operator {}", command.get_name());
        let command = command
            .about(about.clone())
            .long_about(about)
            .mut_args(|arg| arg.hide_env_values(true));
        let mut command = command;
        let matches = command
            .try_get_matches_from_mut(&self.0.line)
            .map_err(|error| self.with_origin(error, &command))?;
        Ok(match matches.subcommand() {
            Some((_, matches)) => Invocation::Manifests {
                yaml: matches.get_flag("yaml"),
            },
            None => Invocation::Run(Box::new(ManagerArgs::from_arg_matches(&matches)?)),
        })
    }

    /// Adds the name of the environment variable to the error of an invalid value that comes from it.
    fn with_origin(&self, error: clap::Error, command: &Command) -> clap::Error {
        let Some(ContextValue::String(arg)) = error.get(ContextKind::InvalidArg) else {
            return error;
        };
        let flag = arg.split([' ', '=', '[']).next().unwrap_or_default();
        let is_given = |token: &OsString| {
            let token = token.to_string_lossy();
            token == flag || token.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
        };
        let variable = find(command, flag).and_then(Arg::get_env);
        match variable.filter(|name| std::env::var_os(name).is_some()) {
            Some(variable) if !self.0.line.iter().any(is_given) => {
                let text = error.to_string();
                let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
                let from = variable.to_string_lossy();
                clap::Error::raw(
                    error.kind(),
                    format!("{text}\n\nThe value comes from the environment variable {from}.\n"),
                )
            }
            _ => error,
        }
    }

    fn lenient(&self, augment: fn(Command) -> Command) -> Result<ArgMatches, clap::Error> {
        let mut command = augment(
            self.0
                .base
                .clone()
                .disable_help_flag(true)
                .disable_version_flag(true),
        );
        command.build();
        let mut manager = ManagerArgs::augment_args(Command::new(""));
        manager.build();
        let known: Vec<Command> = self
            .0
            .operator_flags
            .lock()
            .iter()
            .map(|flag_set| flags_of(flag_set.augment))
            .collect();
        let others: Vec<&Command> = known.iter().chain([&manager]).collect();
        let line = only_known(&self.0.line, &command, &others);
        command.try_get_matches_from_mut(line)
    }

    /// Adds the flags of a type. Adding the same type again changes nothing.
    fn add(&self, augment: fn(Command) -> Command) -> Result<(), clap::Error> {
        let command = flags_of(augment);
        if let Some(positional) = command.get_positionals().next() {
            let message = format!(
                "the operator's argument <{}> is positional: add `#[arg(long)]` to make it a flag\n",
                positional.get_id()
            );
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message));
        }
        let flag_set = FlagSet {
            augment,
            flags: command.get_arguments().flat_map(names).collect(),
        };
        let mut operator_flags = self.0.operator_flags.lock();
        if operator_flags.iter().any(|known| known.flags == flag_set.flags) {
            return Ok(());
        }
        let manager = FlagSet {
            augment: ManagerArgs::augment_args,
            flags: flags_of(ManagerArgs::augment_args)
                .get_arguments()
                .flat_map(names)
                .collect(),
        };
        for (known, owner) in operator_flags
            .iter()
            .map(|known| (known, "another argument type"))
            .chain([(&manager, "the manager")])
        {
            if let Some(flag) = known.flags.intersection(&flag_set.flags).next() {
                let message = format!(
                    "the operator's flag {flag} is also defined by {owner}: rename it, or share one argument type\n"
                );
                return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message));
            }
        }
        operator_flags.push(flag_set);
        Ok(())
    }
}

impl ArgSource for CommandLine {
    fn parse(&self, augment: fn(Command) -> Command) -> Result<ArgMatches, clap::Error> {
        self.add(augment)?;
        self.lenient(augment)
    }

    fn refuse(&self, error: clap::Error) -> ! {
        // Unwinds `register` silently: the manager catches it and still calls the other functions, so that `--help` is complete.
        if cfg!(panic = "abort") {
            error.exit()
        }
        resume_unwind(Box::new(InvalidArgs(error)))
    }
}

fn flags_of(augment: fn(Command) -> Command) -> Command {
    let mut command = augment(
        Command::new("")
            .disable_help_flag(true)
            .disable_version_flag(true),
    );
    command.build();
    command
}

/// Returns what must be unique of an argument: its id and its spellings.
fn names(arg: &Arg) -> Vec<String> {
    let longs = arg.get_long_and_visible_aliases().unwrap_or_default();
    let shorts = arg.get_short_and_visible_aliases().unwrap_or_default();
    std::iter::once(arg.get_id().to_string())
        .chain(longs.into_iter().map(|long| format!("--{long}")))
        .chain(shorts.into_iter().map(|short| format!("-{short}")))
        .collect()
}

/// Returns the flags of `command` in a command line. Flags of `others` are left out with their values; an unknown flag is left out with the
/// token after it, unless that is a flag.
fn only_known(line: &[OsString], command: &Command, others: &[&Command]) -> Vec<OsString> {
    let mut tokens = line.iter().peekable();
    let mut kept: Vec<OsString> = tokens.next().cloned().into_iter().collect();
    while let Some(token) = tokens.next() {
        let text = token.to_string_lossy();
        if text == "--" {
            break;
        }
        if !is_flag(token) {
            continue;
        }
        let own = find(command, &text);
        let known = own.or_else(|| others.iter().find_map(|other| find(other, &text)));
        if own.is_some() {
            kept.push(token.clone());
        }
        // A value in the token itself (`--flag=value`, `-fvalue`): none follows.
        let has_value = if text.starts_with("--") {
            text.contains('=')
        } else {
            text.chars().count() > 2
        };
        let (at_least, at_most) = match known {
            _ if has_value => (0, 0),
            Some(arg) => value_tokens(arg),
            None => (0, 1),
        };
        for taken in 0..at_most {
            let Some(value) = tokens.next_if(|next| taken < at_least || !is_flag(next)) else {
                break;
            };
            if own.is_some() {
                kept.push(value.clone());
            }
        }
    }
    kept
}

fn is_flag(token: &OsStr) -> bool {
    let text = token.to_string_lossy();
    text.len() > 1 && text.starts_with('-')
}

fn find<'a>(command: &'a Command, token: &str) -> Option<&'a Arg> {
    let (long, short) = match token.strip_prefix("--") {
        Some(long) => (long.split('=').next(), None),
        None => (None, token.chars().nth(1)),
    };
    command.get_arguments().find(|arg| {
        let longs = arg
            .get_long()
            .into_iter()
            .chain(arg.get_all_aliases().unwrap_or_default());
        let shorts = arg
            .get_short()
            .into_iter()
            .chain(arg.get_all_short_aliases().unwrap_or_default());
        long.is_some_and(|long| longs.into_iter().any(|name| name == long))
            || short.is_some_and(|short| shorts.into_iter().any(|name| name == short))
    })
}

/// Returns the minimum and maximum number of tokens after a flag that are its values.
fn value_tokens(arg: &Arg) -> (usize, usize) {
    if !arg.get_action().takes_values() || arg.is_require_equals_set() {
        return (0, 0);
    }
    arg.get_num_args()
        .map_or((1, 1), |range| (range.min_values(), range.max_values()))
}

#[cfg(test)]
#[path = "command_line_tests.rs"]
mod tests;
