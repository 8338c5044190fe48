//! Formats tables, writes results into marked sections of a Markdown file, and describes the machine and conditions of a run.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

/// Returns a Markdown table of figures. A row is its label and a cell below each head.
pub fn table(heads: &[&str], rows: impl IntoIterator<Item = (String, Vec<String>)>) -> String {
    let rows = rows.into_iter();
    let rows = rows.map(|(label, cells)| format!("| {label} | {} |\n", cells.join(" | ")));
    format!(
        "| | {} |\n|---|{}\n{}",
        heads.join(" | "),
        "---:|".repeat(heads.len()),
        rows.collect::<String>()
    )
}

/// Replaces the text between `<!-- NAME -->` and `<!-- /NAME -->` in a file.
pub fn replace_section(file: &Path, name: &str, text: &str) -> Result<()> {
    let (begin, end) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let old = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let missing_marks = || format!("{} does not contain {begin} followed by {end}", file.display());
    let (head, rest) = old.split_once(&begin).with_context(missing_marks)?;
    let (_, tail) = rest.split_once(&end).with_context(missing_marks)?;
    fs::write(file, format!("{head}{begin}\n\n{}\n\n{end}{tail}", text.trim()))?;
    Ok(())
}

/// Describes the number of rounds and the machine's load average, which includes other processes.
pub fn conditions(rounds: usize) -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').nth(1).unwrap_or("unknown");
    let rounds = match rounds {
        1 => "One round".to_owned(),
        rounds => format!("Medians of {rounds} interleaved rounds"),
    };
    format!("{rounds}; load average at the end {load}")
}

/// Describes the machine: number and model of the processors, and the kernel version.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_a_cell_below_each_head() {
        let rows = [("CPU s", ["1", "2"]), ("MB", ["3", ""])];
        let rows = rows.map(|(label, cells)| (label.to_owned(), cells.map(str::to_owned).to_vec()));
        assert_eq!(
            table(&["ours", "ratio"], rows),
            "| | ours | ratio |\n|---|---:|---:|\n| CPU s | 1 | 2 |\n| MB | 3 |  |\n"
        );
    }
}
