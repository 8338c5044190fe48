//! Child processes end when they should, and not later. Needs no control plane.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use kubewright_testkit::eventually;
use kubewright_testkit::process::{ChildProcess, Launch};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_mins(2);

/// Starts a shell script with a log in the folder.
fn start(folder: &Path, script: &str) -> ChildProcess {
    Launch::new("sh", folder.join("log"))
        .args(["-c", script])
        .start()
        .unwrap()
}

fn wait_for_log(child: &ChildProcess, text: &str) {
    eventually(&format!("`{text}` in the log"), TIMEOUT, || {
        let log = child.log();
        if log.contains(text) { Ok(()) } else { Err(log) }
    });
}

/// Whether the process runs. Zombies, which wait for their parent, do not count.
fn is_alive(pid: u32) -> bool {
    let output = Command::new("ps")
        .args(["-o", "stat=", "-p", &pid.to_string()])
        .output()
        .unwrap();
    let state = String::from_utf8(output.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

fn pid_in_log(child: &ChildProcess) -> u32 {
    eventually("a pid in the log", TIMEOUT, || {
        let log = child.log();
        log.strip_suffix('\n')
            .and_then(|line| line.parse().ok())
            .ok_or(log)
    })
}

#[test]
fn launch_sets_environment_arguments_working_directory_and_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Launch::new("sh", folder.path().join("log"))
        .args([
            "-c",
            "echo $GREETING ${HOME:-homeless} $1; basename $PWD; echo oops >&2; exit 3",
            "sh",
        ])
        .arg("argument")
        .env("GREETING", "hello")
        .env_remove("HOME")
        .current_dir("/usr")
        .start();
    let child = child.as_mut().unwrap();
    assert_eq!(child.wait(TIMEOUT).unwrap().unwrap().code(), Some(3));
    assert_eq!(
        child.exit_status().unwrap().unwrap().code(),
        Some(3),
        "exit status is cached"
    );
    let log = child.log();
    assert!(log.starts_with("hello homeless argument\n"), "{log}");
    assert!(log.contains("usr\n") && log.contains("oops\n"), "{log}");
}

#[test]
fn dropping_a_child_kills_its_descendants() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), "sleep 600 & echo $!; wait");
    let (parent, grandchild) = (child.pid(), pid_in_log(&child));
    assert!(is_alive(parent) && is_alive(grandchild));
    drop(child);
    assert!(!is_alive(parent));
    eventually("the grandchild is gone", TIMEOUT, || !is_alive(grandchild));
}

#[test]
fn panic_kills_the_child() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let pid = std::thread::spawn(move || {
        let child = start(&path, "exec sleep 600");
        std::panic::panic_any(child.pid());
    })
    .join()
    .unwrap_err();
    let pid = *pid.downcast::<u32>().unwrap();
    assert!(!is_alive(pid));
}

#[test]
fn terminate_is_graceful_and_kill_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = start(folder.path(), script);
    wait_for_log(&child, "ready");
    assert_eq!(child.terminate(TIMEOUT).unwrap().unwrap().code(), Some(7));
    assert!(
        child
            .terminate(TIMEOUT)
            .unwrap_err()
            .to_string()
            .contains("has exited")
    );

    child.restart().unwrap();
    eventually("ready again", TIMEOUT, || child.log() == "ready\nbye\nready\n");
    assert_eq!(child.kill().unwrap().code(), None, "killed by a signal");
    assert_eq!(child.log(), "ready\nbye\nready\n");
}

#[test]
fn wait_times_out_for_a_child_that_ignores_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(
        folder.path(),
        "trap '' TERM; echo ready; while :; do sleep 0.05; done",
    );
    wait_for_log(&child, "ready");
    assert!(child.terminate(Duration::from_millis(100)).unwrap().is_none());
    assert!(is_alive(child.pid()));
}

#[test]
fn paused_child_is_stopped_until_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "while :; do echo tick; sleep 0.02; done");
    wait_for_log(&child, "tick");
    child.pause().unwrap();
    // A write in progress may still complete.
    std::thread::sleep(Duration::from_millis(100));
    let paused = child.log().len();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(child.log().len(), paused);
    child.resume().unwrap();
    eventually("ticks again", TIMEOUT, || child.log().len() > paused);
}

#[test]
fn missing_program_is_reported_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Launch::new("/no/such/program", folder.path().join("log"))
        .start()
        .unwrap();
    assert_eq!(child.wait(TIMEOUT).unwrap().unwrap().code(), Some(127));
    assert!(child.log().contains("/no/such/program"), "{}", child.log());
}

#[test]
fn unwritable_log_is_an_error() {
    let error = Launch::new("true", "/no/such/folder/log")
        .start()
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot start true: "), "{error}");
}
