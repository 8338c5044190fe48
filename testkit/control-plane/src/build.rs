//! Builds the control plane with Go.

use crate::recipe::{self, PROGRAMS};
use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Why the control plane is not built: what failed, and what to do about it.
#[derive(Debug)]
pub struct BuildError(String);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for BuildError {}

impl From<String> for BuildError {
    fn from(message: String) -> Self {
        Self(message)
    }
}

/// Adds what was attempted to an I/O error.
fn io_error(attempt: &str, path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let attempt = format!("cannot {attempt} {}", path.display());
    move |error| BuildError(format!("{attempt}: {error}"))
}

/// Returns the folder of the programs, without building them.
///
/// # Errors
///
/// If a program is missing, or there is no cache folder.
pub fn built() -> Result<PathBuf, BuildError> {
    let folder = folder()?;
    match PROGRAMS
        .iter()
        .find(|(program, _)| !folder.join(program).is_file())
    {
        None => Ok(folder),
        Some((program, _)) => Err(BuildError(format!(
            "no control plane: {} does not contain {program}; build it with `cargo xtask control-plane` (needs Go, takes some minutes, \
             once)",
            folder.display()
        ))),
    }
}

/// Builds missing programs, which takes minutes, and returns their folder. Waits if another process is building them.
///
/// # Errors
///
/// If Go is missing or too old, or the build fails.
pub fn build() -> Result<PathBuf, BuildError> {
    let folder = folder()?;
    if is_complete(&folder) {
        eprintln!("the control plane is already built");
    } else {
        build_in(&folder)?;
    }
    Ok(folder)
}

fn folder() -> Result<PathBuf, BuildError> {
    let none =
        "no control plane: there is no cache folder; set KUBEWRIGHT_CACHE to an absolute path, or HOME";
    recipe::build_folder().ok_or_else(|| BuildError(none.to_owned()))
}

/// Whether all programs are present. The folder appears atomically, but files may have been deleted since.
fn is_complete(folder: &Path) -> bool {
    PROGRAMS.iter().all(|(program, _)| folder.join(program).is_file())
}

/// Builds in a sibling folder from a copy of the module, so that neither the source tree nor a folder that tests use is ever in an
/// intermediate state.
fn build_in(folder: &Path) -> Result<(), BuildError> {
    let parent = folder.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(io_error("create", parent))?;
    let _lock = lock(&parent.join("build.lock"))?;
    if is_complete(folder) {
        eprintln!("another process has built the control plane");
        return Ok(());
    }
    let module = folder.with_added_extension("building");
    remove(&module)?;
    fs::create_dir(&module).map_err(io_error("create", &module))?;
    for (name, text) in [("go.mod", recipe::GO_MOD), ("go.sum", recipe::GO_SUM)] {
        let file = module.join(name);
        fs::write(&file, text).map_err(io_error("write", &file))?;
    }

    let go = go_version(&module)?;
    eprintln!(
        "building Kubernetes {} with {go}: some minutes on two cores",
        recipe::kubernetes_version()
    );
    let start = Instant::now();
    let status = go_build(&module).status();
    let status = status.map_err(|error| format!("cannot run go: {error}"))?;
    if !status.success() {
        return Err(BuildError(format!(
            "go build: {status}; see its messages above; if a download failed, run the same command again"
        )));
    }
    for (program, package) in PROGRAMS {
        let built = module.join(file_name(package));
        fs::rename(&built, module.join(program)).map_err(io_error("find what go build created,", &built))?;
    }
    remove(folder)?;
    fs::rename(&module, folder).map_err(io_error("rename to its final name", &module))?;
    eprintln!("built in {} s", start.elapsed().as_secs());
    Ok(())
}

fn go_build(module: &Path) -> Command {
    let mut command = Command::new("go");
    // Each compiler or linker process uses up to 2 GB.
    let jobs = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    // A compiler that collects its garbage less often needs a sixth less time.
    if std::env::var_os("GOGC").is_none() {
        command.env("GOGC", "400");
    }
    let version = recipe::kubernetes_version();
    let minor = version.split('.').nth(1).unwrap_or_default();
    let stamp = "-X k8s.io/component-base/version";
    command
        .current_dir(module)
        // Without a C compiler, and independent of a Go workspace around the cache folder.
        .envs([("CGO_ENABLED", "0"), ("GOWORK", "off")])
        .args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-p"])
        .arg(jobs.to_string())
        // Without a version, the server reports one that kubectl cannot parse.
        .arg(format!(
            "-ldflags=-s -w {stamp}.gitVersion={version} {stamp}.gitMajor=1 {stamp}.gitMinor={minor}"
        ))
        // Without debug information the compiler needs 7 % less time. Tests that build Go programs pass the same flag, to share Go's cache.
        .arg("-gcflags=all=-dwarf=false")
        .args(["-o", "./"])
        .args(PROGRAMS.map(|(_, package)| package));
    command
}

/// Returns the version of Go. Run within the module, Go downloads the toolchain that go.mod requires, or fails with the reason.
fn go_version(module: &Path) -> Result<String, BuildError> {
    let advice = "install Go 1.26 or newer (any Go from 1.21 on fetches it by itself, unless GOTOOLCHAIN=local), \
        or set KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl";
    let output = match Command::new("go")
        .args(["env", "GOVERSION"])
        .env("GOWORK", "off")
        .current_dir(module)
        .output()
    {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(BuildError(format!("`go` is not on PATH: {advice}")));
        }
        Err(error) => return Err(BuildError(format!("cannot run go: {error}"))),
    };
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(BuildError(format!(
            "go rejects the module: {}: {advice}",
            stderr.trim()
        )));
    }
    // Versions before 1.21 neither switch toolchains nor fail.
    let minor = version
        .strip_prefix("go1.")
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    if minor
        .and_then(|minor| minor.parse::<u32>().ok())
        .is_some_and(|minor| minor < 21)
    {
        return Err(BuildError(format!("{version} is too old: {advice}")));
    }
    Ok(version)
}

/// Locks the build until the value is dropped, since concurrent builds would compete for the same cores.
fn lock(path: &Path) -> Result<File, BuildError> {
    let file = File::create(path).map_err(io_error("create", path))?;
    if file.try_lock().is_err() {
        eprintln!("waiting for another build");
        file.lock().map_err(io_error("lock", path))?;
    }
    Ok(file)
}

fn remove(folder: &Path) -> Result<(), BuildError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error("remove", folder)(error)),
        _ => Ok(()),
    }
}

/// The name that Go gives a program: the last part of the package path that is not a version.
fn file_name(package: &str) -> &str {
    package
        .trim_end_matches("/v3")
        .rsplit('/')
        .next()
        .unwrap_or(package)
}
