//! Formats rendered Rust with rustfmt: line breaks depend on the length of the names in it.

use std::{
    io::{self, Seek, Write},
    path::Path,
    process::{Command, Stdio},
};

use crate::{Context, Error, plan::IoError};

/// Formats all texts in parallel. A text that does not parse is returned unchanged. Fails if rustfmt does not run; commands format while they
/// plan, so nothing is written then.
pub(crate) fn format_rust(context: &Context<'_>, texts: &[String]) -> Result<Vec<String>, Error> {
    // No rustfmt.toml applies: the same names always give the same files.
    let settings = tempfile::Builder::new().suffix(".toml").tempfile();
    let settings = settings.map_err(temporary_file)?;
    let (rustfmt, settings, folder) = (context.rustfmt.as_path(), settings.path(), context.cwd.as_path());
    std::thread::scope(|scope| {
        let threads: Vec<_> = texts
            .iter()
            .map(|text| scope.spawn(move || run_rustfmt(rustfmt, settings, folder, text)))
            .collect();
        let formatted = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Ok(None)));
        formatted
            .zip(texts)
            .map(|(formatted, text)| Ok(formatted?.unwrap_or_else(|| text.clone())))
            .collect()
    })
}

/// Returns an edited text, formatted if the text before was: edits leave lines that are too long or too short.
pub(crate) fn keep_formatted(context: &Context<'_>, before: &str, edited: String) -> Result<String, Error> {
    let formatted = format_rust(context, &[before.to_owned(), edited.clone()])?;
    Ok(match <[String; 2]>::try_from(formatted) {
        Ok([old, new]) if old == before => new,
        _ => edited,
    })
}

/// Runs the rustfmt of the toolchain that is selected in `folder`. Returns none if the text does not parse.
fn run_rustfmt(rustfmt: &Path, settings: &Path, folder: &Path, text: &str) -> Result<Option<String>, Error> {
    let failed = |reason: String| Error::NoRustfmt {
        program: rustfmt.to_owned(),
        reason,
    };
    let command = || {
        let mut command = Command::new(rustfmt);
        command.current_dir(folder).stdin(Stdio::null());
        command
    };
    let output = command()
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(settings)
        .stdin(input(text).map_err(temporary_file)?)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let formatted = String::from_utf8(output.stdout).unwrap_or_default();
    if output.status.success() && !formatted.is_empty() {
        return Ok(Some(formatted));
    }
    // rustup's proxy fails in the same way if the toolchain has no rustfmt.
    let version = command().arg("--version").output();
    match version.map_err(|error| failed(error.to_string()))? {
        version if version.status.success() => Ok(None),
        version => {
            let message = String::from_utf8_lossy(&version.stderr).into_owned();
            let message = message.lines().next().unwrap_or("it fails");
            Err(failed(message.trim_start_matches("error: ").to_owned()))
        }
    }
}

/// Returns a file with the text, at its start.
fn input(text: &str) -> io::Result<Stdio> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

fn temporary_file(source: io::Error) -> Error {
    IoError::new("write", std::env::temp_dir(), source).into()
}
