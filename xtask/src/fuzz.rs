//! `cargo xtask fuzz`: builds the fuzzer in `fuzz/` with coverage instrumentation, and runs each target for some time.

use anyhow::{Context, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flags of cargo-fuzz without sanitizers, which would find nothing: our code has no `unsafe`.
const FLAGS: [&str; 8] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Ccodegen-units=1",
];

/// Fail below this rate, at which fuzzing is not effective.
const MIN_RUNS_PER_SECOND: u64 = 20;

pub(crate) fn run(seconds: u64, only: Option<&str>) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join("target/fuzz");
    let program = build(&root, &folder)?;
    let targets_output = Command::new(&program).env("KUBEWRIGHT_FUZZ", "list").output();
    let targets_output = targets_output.with_context(|| format!("cannot run {}", program.display()))?;
    let targets_output = String::from_utf8_lossy(&targets_output.stdout);
    let targets: Vec<&str> = targets_output.lines().collect();
    let is_selected = |target: &&str| only.is_none_or(|only| only == *target);
    let selected: Vec<&str> = targets.iter().copied().filter(is_selected).collect();
    ensure!(
        !selected.is_empty(),
        "unknown target: choose one of {}",
        targets.join(", ")
    );
    for target in selected {
        fuzz(&root, &folder, &program, target, seconds)?;
    }
    Ok(())
}

fn build(root: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let host = Command::new("rustc")
        .arg("-vV")
        .output()
        .context("cannot run rustc")?;
    let version_output = String::from_utf8_lossy(&host.stdout).into_owned();
    let host = version_output
        .lines()
        .find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc -vV does not print the host")?;
    // With an explicit target, build scripts and proc macros are built without these flags.
    let status = Command::new("cargo")
        .args([
            "build",
            "--locked",
            "--release",
            "--target",
            host,
            "--manifest-path",
        ])
        .arg(root.join("fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(folder)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"))
        .status()
        .context("cannot run cargo")?;
    ensure!(
        status.success(),
        "cargo build failed: {status}; check that a C++ compiler is installed"
    );
    Ok(folder.join(host).join("release/kubewright-fuzz"))
}

fn fuzz(root: &Path, folder: &Path, program: &Path, target: &str, seconds: u64) -> anyhow::Result<()> {
    let (corpus, findings) = (folder.join("corpus").join(target), folder.join("found"));
    for folder in [&corpus, &findings] {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let dictionary = if target == "expression" {
        "fuzz/cel.dict"
    } else {
        "fuzz/json.dict"
    };
    let output = Command::new(program)
        .arg(&corpus)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-dict={}", root.join(dictionary).display()))
        .arg(format!("-artifact_prefix={}/{target}-", findings.display()))
        .args([
            "-timeout=10",
            "-rss_limit_mb=2048",
            "-max_len=16384",
            "-print_final_stats=1",
        ])
        .env("KUBEWRIGHT_FUZZ", target)
        .env("KUBEWRIGHT_FUZZ_SEEDS", &corpus)
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let lines: Vec<&str> = stderr.lines().collect();
        let last = lines[lines.len().saturating_sub(60)..].join("\n");
        bail!("{target}: {}\n{last}", output.status);
    }
    let statistic = |name: &str| {
        let line = stderr.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().parse::<u64>().ok()
    };
    let runs = statistic("stat::number_of_executed_units")
        .context("the fuzzer does not print its number of runs")?;
    let coverage = stderr
        .lines()
        .rev()
        .find_map(|line| line.split_once(" cov: ")?.1.split(' ').next());
    eprintln!(
        "{target}: {runs} runs in {seconds} s, {} coverage points reached",
        coverage.unwrap_or("no")
    );
    ensure!(
        runs >= MIN_RUNS_PER_SECOND * seconds,
        "{target}: only {runs} runs in {seconds} s, fewer than {MIN_RUNS_PER_SECOND} per second"
    );
    Ok(())
}
