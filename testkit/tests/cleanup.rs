//! Cleanup of control planes: nothing remains after a test, except the logs of a failed start.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use kubewright_testkit::binaries::Binaries;
use kubewright_testkit::plane::StartError;
use kubewright_testkit::{ControlPlane, eventually};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Processes with the folder on their command line: the three programs and the watchdogs.
fn processes(folder: &Path) -> Vec<String> {
    let output = Command::new("ps")
        .args(["-eo", "pid=,stat=,args=", "-ww"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .filter(|line| line.contains(folder.to_str().unwrap()))
        .map(str::to_owned)
        .collect()
}

fn is_running(folder: &Path, program: &str) -> bool {
    processes(folder)
        .iter()
        .any(|line| line.contains(&format!("/{program} ")))
}

#[track_caller]
fn assert_gone(folder: &Path) {
    assert_eq!(processes(folder), Vec::<String>::new());
    assert!(!folder.exists(), "{} is still there", folder.display());
}

/// Starts the example binary, which runs a control plane; returns the process and the plane's folder.
fn start_example() -> (Child, PathBuf) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_testkit-control-plane"))
        .arg("garbage-collector-controller")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let kubeconfig = Path::new(line.trim().strip_prefix("KUBECONFIG=").unwrap());
    let folder = kubeconfig.parent().unwrap().parent().unwrap().to_owned();
    for program in ["etcd", "kube-apiserver", "kube-controller-manager"] {
        assert!(
            is_running(&folder, program),
            "{program} is not running: {:?}",
            processes(&folder)
        );
    }
    (child, folder)
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn dropped_plane_is_cleaned_up() {
    let plane = ControlPlane::builder().start().unwrap();
    let folder = plane.folder().to_owned();
    assert!(is_running(&folder, "etcd") && is_running(&folder, "kube-apiserver"));
    drop(plane);
    assert_gone(&folder);
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn plane_is_cleaned_up_after_a_panic() {
    let test = std::thread::spawn(|| {
        let plane = ControlPlane::builder().start().unwrap();
        std::panic::panic_any(plane.folder().to_owned());
    });
    let folder = test.join().unwrap_err().downcast::<PathBuf>().unwrap();
    assert_gone(&folder);
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn plane_is_cleaned_up_after_the_test_process_is_killed() {
    let (mut child, folder) = start_example();
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    eventually("everything is cleaned up", TIMEOUT, || {
        let left = processes(&folder);
        if left.is_empty() && !folder.exists() {
            Ok(())
        } else {
            Err(format!("{left:?}, {}", folder.display()))
        }
    });
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn failed_start_keeps_only_the_logs() {
    let Err(error) = ControlPlane::builder().api_server_arg("--no-such-flag").start() else {
        panic!("it started");
    };
    let StartError::Ended {
        program, log, tail, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(*program, "kube-apiserver");
    assert!(tail.contains("unknown flag: --no-such-flag"), "{tail}");
    let text = error.to_string();
    assert!(
        text.contains(tail) && text.contains(log.to_str().unwrap()),
        "{text}"
    );
    let folder = log.parent().unwrap().parent().unwrap();
    assert!(log.is_file() && !folder.join("etcd").exists());
    assert_eq!(processes(folder), Vec::<String>::new());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn unknown_controller_is_a_start_error() {
    let Err(error) = ControlPlane::builder()
        .controller_manager(&["no-such-controller"])
        .start()
    else {
        panic!("it started");
    };
    let StartError::Ended {
        program, log, tail, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(*program, "kube-controller-manager");
    assert!(tail.contains("no-such-controller"), "{tail}");
    fs::remove_dir_all(log.parent().unwrap().parent().unwrap()).unwrap();
}

/// Starts a plane with an etcd that finds its port in use at the first attempt.
#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn start_is_retried_when_a_port_is_in_use() {
    let real = Binaries::find().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for program in ["kube-apiserver", "kubectl"] {
        symlink(real.folder().join(program), folder.path().join(program)).unwrap();
    }
    let etcd = folder.path().join("etcd");
    let script = format!(
        "#!/bin/sh\nif mkdir {0}/tried; then echo 'bind: address already in use'; exit 1; fi\nexec {1} \"$@\"\n",
        folder.path().display(),
        real.folder().join("etcd").display()
    );
    fs::write(&etcd, script).unwrap();
    fs::set_permissions(&etcd, fs::Permissions::from_mode(0o755)).unwrap();
    let plane = ControlPlane::builder()
        .binaries(Binaries::in_folder(folder.path()).unwrap())
        .start()
        .unwrap();
    assert!(folder.path().join("tried").exists());
    assert_eq!(plane.kubectl().run(["get", "--raw", "/readyz"]).unwrap(), "ok");
}

#[test]
fn missing_control_plane_error_names_the_command() {
    let cache = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_testkit-control-plane"))
        .env_remove("KUBEBUILDER_ASSETS")
        .env("KUBEWRIGHT_CACHE", cache.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(error.contains("`cargo xtask control-plane`"), "{error}");
    assert!(error.contains(cache.path().to_str().unwrap()), "{error}");
}
