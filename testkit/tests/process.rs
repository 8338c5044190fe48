//! Children end when they should, and never later. No control plane needed.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use kubewright_testkit::eventually;
use kubewright_testkit::process::{ChildProcess, Launch};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(20);

/// A shell script, and a folder for its log.
fn start(folder: &Path, script: &str) -> ChildProcess {
    Launch::new("sh", folder.join("log"))
        .args(["-c", script])
        .start()
        .unwrap()
}

fn wait_for_log(child: &ChildProcess, text: &str) {
    eventually(&format!("`{text}` in the log"), LONG, || {
        let log = child.log();
        if log.contains(text) { Ok(()) } else { Err(log) }
    });
}

/// Zombies do not count: they wait for their parent, not for us.
fn is_alive(pid: u32) -> bool {
    let output = Command::new("ps")
        .args(["-o", "stat=", "-p", &pid.to_string()])
        .output()
        .unwrap();
    let state = String::from_utf8(output.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

fn pid_in_log(child: &ChildProcess) -> u32 {
    eventually("a pid in the log", LONG, || {
        let log = child.log();
        log.strip_suffix('\n')
            .and_then(|line| line.parse().ok())
            .ok_or(log)
    })
}

#[test]
fn environment_arguments_folder_and_log() {
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
    assert_eq!(child.wait(LONG).unwrap().unwrap().code(), Some(3));
    assert_eq!(
        child.exit_status().unwrap().unwrap().code(),
        Some(3),
        "asked twice"
    );
    let log = child.log();
    assert!(log.starts_with("hello homeless argument\n"), "{log}");
    assert!(log.contains("usr\n") && log.contains("oops\n"), "{log}");
}

#[test]
fn dropped_child_is_gone_with_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), "sleep 600 & echo $!; wait");
    let (parent, grandchild) = (child.pid(), pid_in_log(&child));
    assert!(is_alive(parent) && is_alive(grandchild));
    drop(child);
    assert!(!is_alive(parent));
    eventually("the grandchild is gone", LONG, || !is_alive(grandchild));
}

#[test]
fn panic_ends_the_child() {
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
fn terminate_lets_it_finish_and_kill_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = start(folder.path(), script);
    wait_for_log(&child, "ready");
    assert_eq!(child.terminate(LONG).unwrap().unwrap().code(), Some(7));
    assert!(
        child
            .terminate(LONG)
            .unwrap_err()
            .to_string()
            .contains("has ended")
    );

    child.restart().unwrap();
    eventually("ready again", LONG, || child.log() == "ready\nbye\nready\n");
    assert_eq!(child.kill().unwrap().code(), None, "killed by a signal");
    assert_eq!(child.log(), "ready\nbye\nready\n");
}

#[test]
fn child_that_ignores_sigterm_runs_on() {
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
fn paused_child_does_nothing_until_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "while :; do echo tick; sleep 0.02; done");
    wait_for_log(&child, "tick");
    child.pause().unwrap();
    // A write that was under way may still land.
    std::thread::sleep(Duration::from_millis(100));
    let paused = child.log().len();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(child.log().len(), paused);
    child.resume().unwrap();
    eventually("ticks again", LONG, || child.log().len() > paused);
}

#[test]
fn missing_program_is_told_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Launch::new("/no/such/program", folder.path().join("log"))
        .start()
        .unwrap();
    assert_eq!(child.wait(LONG).unwrap().unwrap().code(), Some(127));
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
