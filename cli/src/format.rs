//! Formats rendered Rust: how rustfmt breaks lines depends on how long the names are.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use crate::Context;

/// The texts as rustfmt lays them out, all at once; a text as it is where there is no rustfmt.
pub(crate) fn rust(context: &Context<'_>, texts: &[String]) -> Vec<String> {
    let rustfmt = context.rustfmt.as_path();
    std::thread::scope(|scope| {
        let threads: Vec<_> = texts
            .iter()
            .map(|text| scope.spawn(move || run(rustfmt, text)))
            .collect();
        let formatted = threads.into_iter().map(|thread| thread.join().ok().flatten());
        formatted
            .zip(texts)
            .map(|(formatted, text)| formatted.unwrap_or_else(|| text.clone()))
            .collect()
    })
}

fn run(rustfmt: &std::path::Path, text: &str) -> Option<String> {
    let mut child = Command::new(rustfmt)
        .args(["--edition", "2024", "--emit", "stdout"])
        // Away from any rustfmt.toml: equal names give equal files.
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
