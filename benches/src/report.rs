//! Where figures go: a file with hand-written text around marks, and where they came from.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

/// Replaces what stands between `<!-- NAME -->` and `<!-- /NAME -->`.
pub fn replace(file: &Path, name: &str, text: &str) -> Result<()> {
    let (begin, end) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let old = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let place = || format!("{} has no {begin} with {end} behind it", file.display());
    let (head, rest) = old.split_once(&begin).with_context(place)?;
    let (_, tail) = rest.split_once(&end).with_context(place)?;
    fs::write(file, format!("{head}{begin}\n\n{}\n\n{end}{tail}", text.trim()))?;
    Ok(())
}

/// How often it was measured, and what else the machine did meanwhile: its load is that of others, too.
pub fn conditions(rounds: usize) -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').nth(1).unwrap_or("unknown");
    let rounds = match rounds {
        1 => "One round".to_owned(),
        rounds => format!("Medians of {rounds} interleaved rounds"),
    };
    format!("{rounds}; load average at the end {load}")
}

/// What kind of machine this is.
pub fn machine() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let field = |name| {
        let lines = cpu.lines().filter(move |line| line.starts_with(name));
        lines
            .filter_map(|line| line.split_once(": "))
            .map(|(_, value)| value)
    };
    let model = field("model name").next().unwrap_or("unknown CPU");
    let release = read("/proc/sys/kernel/osrelease");
    let kernel: Vec<&str> = release.trim().split(['.', '-']).take(2).collect();
    format!(
        "Machine: {} × {model}, Linux {}.",
        field("processor").count(),
        kernel.join(".")
    )
}
