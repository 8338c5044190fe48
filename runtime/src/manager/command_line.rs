//! The command line: the manager's flags and the operator's own, parsed although `register` runs before all are known.

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

/// The command line. While operators register, each `setup.args::<T>()` is parsed leniently: flags that belong to others, known
/// or not yet, are skipped. [`strict`](Self::strict) then parses all of it once. Cloning copies a pointer.
#[derive(Clone)]
pub(super) struct CommandLine(Arc<Inner>);

struct Inner {
    base: Command,
    /// With the program's name in front.
    line: Vec<OsString>,
    own: Mutex<Vec<Piece>>,
}

/// The flags of one type.
#[derive(Clone)]
struct Piece {
    augment: fn(Command) -> Command,
    flags: BTreeSet<String>,
}

/// What the command line asks for.
#[derive(Debug)]
pub(super) enum Request {
    Run(Box<ManagerArgs>),
    Manifests { yaml: bool },
}

/// The panic payload by which `setup.args` leaves `register`; nobody prints it.
pub(super) struct Refused(pub(super) clap::Error);

impl CommandLine {
    /// A command line for the operator `name`. The first argument is the program.
    pub(super) fn new(name: &str, version: Option<&str>, line: impl IntoIterator<Item = OsString>) -> Self {
        let library = concat!("kubewright ", env!("CARGO_PKG_VERSION"));
        let version = version.map_or(library.to_owned(), |version| format!("{version} ({library})"));
        Self(Arc::new(Inner {
            base: Command::new(name.to_owned()).version(version),
            line: line.into_iter().collect(),
            own: Mutex::default(),
        }))
    }

    /// The manager's flags as far as they can be read before all flags are known, for logging while registering.
    pub(super) fn early(&self) -> Option<ManagerArgs> {
        let matches = self.lenient(ManagerArgs::augment_args).ok()?;
        ManagerArgs::from_arg_matches(&matches).ok()
    }

    /// Parses everything: help, version and mistakes are errors of clap's.
    pub(super) fn strict(&self) -> Result<Request, clap::Error> {
        let mut command = self.0.base.clone();
        for piece in self.0.own.lock().iter() {
            command = (piece.augment)(command);
        }
        let yaml = Arg::new("yaml")
            .long("yaml")
            .action(clap::ArgAction::SetTrue)
            .help("Print YAML documents for people instead");
        command = ManagerArgs::augment_args(command)
            .subcommand_negates_reqs(true)
            .subcommand(
                Command::new("manifests")
                    .about("Print the operator's CRDs and permissions as JSON; needs no cluster")
                    .arg(yaml),
            );
        // The documentation of a type of arguments is not that of the program.
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
            Some((_, matches)) => Request::Manifests {
                yaml: matches.get_flag("yaml"),
            },
            None => Request::Run(Box::new(ManagerArgs::from_arg_matches(&matches)?)),
        })
    }

    /// Names the environment variable where a value that does not fit comes from one.
    fn with_origin(&self, error: clap::Error, command: &Command) -> clap::Error {
        let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else {
            return error;
        };
        let flag = named.split([' ', '=', '[']).next().unwrap_or_default();
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
        let mut others = ManagerArgs::augment_args(Command::new(""));
        others.build();
        let known: Vec<Command> = self
            .0
            .own
            .lock()
            .iter()
            .map(|piece| flags_of(piece.augment))
            .collect();
        let others: Vec<&Command> = known.iter().chain([&others]).collect();
        let line = only_known(&self.0.line, &command, &others);
        command.try_get_matches_from_mut(line)
    }

    /// Adds the flags of a type to those that are known. The same type may be asked for again.
    fn add(&self, augment: fn(Command) -> Command) -> Result<(), clap::Error> {
        let command = flags_of(augment);
        if let Some(positional) = command.get_positionals().next() {
            let message = format!(
                "the operator's own argument <{}> is no flag: add `#[arg(long)]` to it\n",
                positional.get_id()
            );
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message));
        }
        let piece = Piece {
            augment,
            flags: command.get_arguments().flat_map(names).collect(),
        };
        let mut own = self.0.own.lock();
        if own.iter().any(|known| known.flags == piece.flags) {
            return Ok(());
        }
        let managers = Piece {
            augment: ManagerArgs::augment_args,
            flags: flags_of(ManagerArgs::augment_args)
                .get_arguments()
                .flat_map(names)
                .collect(),
        };
        for (known, whose) in own
            .iter()
            .map(|known| (known, "another"))
            .chain([(&managers, "the manager's")])
        {
            if let Some(flag) = known.flags.intersection(&piece.flags).next() {
                let message = format!(
                    "the operator's own flag {flag} is {whose} flag as well: rename it, or share one type of arguments\n"
                );
                return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message));
            }
        }
        own.push(piece);
        Ok(())
    }
}

impl ArgSource for CommandLine {
    fn parse(&self, augment: fn(Command) -> Command) -> Result<ArgMatches, clap::Error> {
        self.add(augment)?;
        self.lenient(augment)
    }

    fn refuse(&self, error: clap::Error) -> ! {
        // Leaves `register` without a word: the manager catches it and still reads the rest, so that `--help` is whole.
        if cfg!(panic = "abort") {
            error.exit()
        }
        resume_unwind(Box::new(Refused(error)))
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

/// What must not be taken twice: the id and the spellings.
fn names(arg: &Arg) -> Vec<String> {
    let longs = arg.get_long_and_visible_aliases().unwrap_or_default();
    let shorts = arg.get_short_and_visible_aliases().unwrap_or_default();
    std::iter::once(arg.get_id().to_string())
        .chain(longs.into_iter().map(|long| format!("--{long}")))
        .chain(shorts.into_iter().map(|short| format!("-{short}")))
        .collect()
}

/// The part of a command line that `command` knows. Flags of `others` are left out with their values; an unknown flag is left
/// out with the token behind it, unless that is a flag too.
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
        // A value in the token itself (`--flag=value`, `-fvalue`) leaves none behind it.
        let has_value = if text.starts_with("--") {
            text.contains('=')
        } else {
            text.chars().count() > 2
        };
        let (at_least, at_most) = match known {
            _ if has_value => (0, 0),
            Some(arg) => values_behind(arg),
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

/// How many tokens behind a flag are its values, at least and at most.
fn values_behind(arg: &Arg) -> (usize, usize) {
    if !arg.get_action().takes_values() || arg.is_require_equals_set() {
        return (0, 0);
    }
    arg.get_num_args()
        .map_or((1, 1), |range| (range.min_values(), range.max_values()))
}

#[cfg(test)]
#[path = "command_line_tests.rs"]
mod tests;
