//! Builds the control plane for tests from its Go module.

use anyhow::{Context, bail};
use kubewright_testkit::binaries::{
    Binaries, BinariesError, ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER, KUBECTL,
};
use kubewright_testkit::control_plane_build;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The programs, with the Go packages that they are built from.
const PROGRAMS: [(&str, &str); 5] = [
    (ETCD, "go.etcd.io/etcd/server/v3"),
    (KUBE_APISERVER, "k8s.io/kubernetes/cmd/kube-apiserver"),
    (
        KUBE_CONTROLLER_MANAGER,
        "k8s.io/kubernetes/cmd/kube-controller-manager",
    ),
    (KUBE_SCHEDULER, "k8s.io/kubernetes/cmd/kube-scheduler"),
    (KUBECTL, "k8s.io/kubernetes/cmd/kubectl"),
];

/// Builds missing programs, and prints their folder.
pub(crate) fn run(print_only: bool) -> anyhow::Result<()> {
    let folder = control_plane_build::build_folder().ok_or(BinariesError::NoCacheFolder)?;
    if print_only {
        Binaries::built()?;
    } else if is_complete(&folder) {
        eprintln!("the control plane is already built");
    } else {
        build(&folder)?;
    }
    if std::env::var_os("KUBEBUILDER_ASSETS").is_some_and(|value| !value.is_empty()) {
        eprintln!("note: KUBEBUILDER_ASSETS is set; tests use that folder, not this build");
    }
    writeln!(io::stdout(), "{}", folder.display())?;
    Ok(())
}

/// Whether all programs are present. The folder appears atomically, but files may have been deleted since.
fn is_complete(folder: &Path) -> bool {
    PROGRAMS.iter().all(|(program, _)| folder.join(program).is_file())
}

/// Builds in a sibling folder from a copy of the module, so that neither the source tree nor a folder that tests use is ever in an
/// intermediate state.
fn build(folder: &Path) -> anyhow::Result<()> {
    let parent = folder
        .parent()
        .context("the cache folder is the root folder: set KUBEWRIGHT_CACHE to another folder")?;
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    let _lock = lock(&parent.join("build.lock"))?;
    if is_complete(folder) {
        eprintln!("another process has built the control plane");
        return Ok(());
    }
    let module = folder.with_added_extension("building");
    remove(&module)?;
    fs::create_dir(&module).with_context(|| format!("cannot create {}", module.display()))?;
    fs::write(module.join("go.mod"), control_plane_build::GO_MOD)?;
    fs::write(module.join("go.sum"), control_plane_build::GO_SUM)?;

    let go = go_version(&module)?;
    eprintln!(
        "building Kubernetes {} with {go}: some minutes on two cores",
        control_plane_build::kubernetes_version()
    );
    let start = Instant::now();
    let status = go_build(&module).status().context("cannot run go")?;
    if !status.success() {
        bail!("go build: {status}; see its messages above; if a download failed, run the same command again");
    }
    for (program, package) in PROGRAMS {
        let built = module.join(file_name(package));
        fs::rename(&built, module.join(program))
            .with_context(|| format!("go build did not create {}", built.display()))?;
    }
    remove(folder)?;
    fs::rename(&module, folder)
        .with_context(|| format!("cannot rename {} to its final name", module.display()))?;
    eprintln!("built in {} s", start.elapsed().as_secs());
    Ok(())
}

fn go_build(module: &Path) -> Command {
    // Run with low priority, if `nice` is available.
    let mut command = if Command::new("nice")
        .arg("true")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        let mut nice = Command::new("nice");
        nice.args(["-n", "10", "go"]);
        nice
    } else {
        Command::new("go")
    };
    // Each compiler or linker process uses up to 1.5 GB.
    let jobs = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let version = control_plane_build::kubernetes_version();
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
        .args(["-o", "./"])
        .args(PROGRAMS.map(|(_, package)| package));
    command
}

/// Returns the version of Go. Run within the module, Go downloads the toolchain that go.mod requires, or fails with the reason.
fn go_version(module: &Path) -> anyhow::Result<String> {
    let advice = "install Go 1.26 or newer (any Go from 1.21 on fetches it by itself, unless GOTOOLCHAIN=local), \
        or set KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl";
    let output = match Command::new("go")
        .args(["env", "GOVERSION"])
        .env("GOWORK", "off")
        .current_dir(module)
        .output()
    {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("`go` is not on PATH: {advice}"),
        Err(error) => return Err(error).context("cannot run go"),
    };
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        bail!(
            "go rejects the module: {}: {advice}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    // Versions before 1.21 neither switch toolchains nor fail.
    let minor = version
        .strip_prefix("go1.")
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    if minor
        .and_then(|minor| minor.parse::<u32>().ok())
        .is_some_and(|minor| minor < 21)
    {
        bail!("{version} is too old: {advice}");
    }
    Ok(version)
}

/// Locks the build until the value is dropped, since concurrent builds would compete for the same cores.
fn lock(path: &Path) -> anyhow::Result<File> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    if file.try_lock().is_err() {
        eprintln!("waiting for another build");
        file.lock()
            .with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(file)
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
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
