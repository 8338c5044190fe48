//! `cargo xtask fuzz`: builds the fuzzer in `fuzz/` with coverage's flags, and runs each target for a while.

use anyhow::{Context, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What cargo-fuzz has rustc do without a sanitizer, of which there is nothing to find: our code has no `unsafe`.
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

/// Fewer runs than that in a second are no fuzzing.
const FEWEST: u64 = 20;

pub(crate) fn run(seconds: u64, only: Option<&str>) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join("target/fuzz");
    let program = build(&root, &folder)?;
    let listed = Command::new(&program).env("KUBEWRIGHT_FUZZ", "list").output();
    let listed = listed.with_context(|| format!("cannot run {}", program.display()))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let targets: Vec<&str> = listed.lines().collect();
    let is_chosen = |target: &&str| only.is_none_or(|only| only == *target);
    let chosen: Vec<&str> = targets.iter().copied().filter(is_chosen).collect();
    ensure!(
        !chosen.is_empty(),
        "there is no such target; there are {}",
        targets.join(", ")
    );
    for target in chosen {
        fuzz(&root, &folder, &program, target, seconds)?;
    }
    Ok(())
}

fn build(root: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let host = Command::new("rustc")
        .arg("-vV")
        .output()
        .context("cannot run rustc")?;
    let said = String::from_utf8_lossy(&host.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc does not name its host")?;
    // With a target named, what runs while building is built without these flags.
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
        "the fuzzer does not build; it needs a C++ compiler: {status}"
    );
    Ok(folder.join(host).join("release/kubewright-fuzz"))
}

fn fuzz(root: &Path, folder: &Path, program: &Path, target: &str, seconds: u64) -> anyhow::Result<()> {
    let (corpus, found) = (folder.join("corpus").join(target), folder.join("found"));
    for folder in [&corpus, &found] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let output = Command::new(program)
        .arg(&corpus)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-dict={}", root.join("fuzz/json.dict").display()))
        .arg(format!("-artifact_prefix={}/{target}-", found.display()))
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
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(60)..].join("\n");
        bail!("{target}: {}\n{last}", output.status);
    }
    let figure = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().parse::<u64>().ok()
    };
    let runs =
        figure("stat::number_of_executed_units").context("the fuzzer does not say how often it ran")?;
    let reached = said
        .lines()
        .rev()
        .find_map(|line| line.split_once(" cov: ")?.1.split(' ').next());
    eprintln!(
        "{target}: {runs} runs in {seconds} s, {} places reached",
        reached.unwrap_or("no")
    );
    ensure!(
        runs >= FEWEST * seconds,
        "{target} ran only {runs} times in {seconds} s"
    );
    Ok(())
}
