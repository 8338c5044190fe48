//! Formats rendered Rust with rustfmt: line breaks depend on the length of the names in it.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use crate::Context;

/// Formats all texts in parallel. A text that rustfmt cannot format (or without rustfmt) is returned unchanged.
pub(crate) fn format_rust(context: &Context<'_>, texts: &[String]) -> Vec<String> {
    let rustfmt = context.rustfmt.as_path();
    std::thread::scope(|scope| {
        let threads: Vec<_> = texts
            .iter()
            .map(|text| scope.spawn(move || run_rustfmt(rustfmt, text)))
            .collect();
        let formatted = threads.into_iter().map(|thread| thread.join().ok().flatten());
        formatted
            .zip(texts)
            .map(|(formatted, text)| formatted.unwrap_or_else(|| text.clone()))
            .collect()
    })
}

/// Returns an edited text, formatted if the text before was: edits leave lines that are too long or too short.
pub(crate) fn keep_formatted(context: &Context<'_>, before: &str, edited: String) -> String {
    let formatted = format_rust(context, &[before.to_owned(), edited.clone()]);
    match <[String; 2]>::try_from(formatted) {
        Ok([old, new]) if old == before => new,
        _ => edited,
    }
}

fn run_rustfmt(rustfmt: &std::path::Path, text: &str) -> Option<String> {
    let mut child = Command::new(rustfmt)
        .args(["--edition", "2024", "--emit", "stdout"])
        // Outside the project, so that no rustfmt.toml applies: the same names always give the same files.
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let formatted = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !formatted.is_empty()).then_some(formatted)
}
