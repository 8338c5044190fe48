//! Error messages and exit codes for an invalid command line, environment or kubeconfig. Each test starts a process, because environment
//! and exit code belong to a process.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{
    env, fs,
    process::{Command, Output},
};

use kubewright::Manager;

/// The command line of the started operator.
const ARGS: &str = "KUBEWRIGHT_TEST_OPERATOR_ARGS";

/// Not a test: the operator that the tests start. It does nothing without their variable.
#[tokio::test]
async fn operator() {
    let Ok(args) = env::var(ARGS) else { return };
    let manager = Manager::from_args("shop").with_args(args.split_whitespace());
    if let Err(error) = manager.run().await {
        panic!("an operator that is the process ends it: {error}");
    }
}

fn run(args: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "operator", "--nocapture"])
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", "/nowhere")
        .env("KUBECONFIG", "/nowhere/kubeconfig")
        .env(ARGS, args)
        .envs(variables.iter().copied());
    command.output().unwrap()
}

#[track_caller]
fn assert_ends(args: &str, variables: &[(&str, &str)], code: i32, messages: &[&str]) {
    let output = run(args, variables);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args} {variables:?}: {errors}");
    for part in messages {
        assert!(
            errors.contains(part),
            "{args} {variables:?}: no {part:?} in {errors}"
        );
    }
    assert!(!errors.contains("panicked"), "{errors}");
}

#[test]
fn invalid_variable_is_named() {
    for (variable, value, messages) in [
        ("GRACE_PERIOD", "soon", "write one such as `30s`"),
        ("LEADER_ELECT", "perhaps", "--leader-elect"),
        ("LEADER_ELECT_LEASE_DURATION", "15", "write one such as `30s`"),
        ("METRICS_BIND_ADDRESS", "8080", "write `host:port`"),
        ("WATCH_NAMESPACE", "Shop", "invalid namespace"),
        ("RUST_LOG", "info,kube=loud", "write a level"),
        ("LOG_FORMAT", "xml", "text"),
        ("DEBUG_PAGE", "2", "--debug-page"),
    ] {
        let from = format!("comes from the environment variable {variable}");
        assert_ends("", &[(variable, value)], 2, &[messages, &from]);
    }
}

#[test]
fn flag_overrides_its_variable_and_is_named_alone() {
    let output = run("--grace-period=later", &[("GRACE_PERIOD", "soon")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("'later'") && !errors.contains("environment variable"),
        "{errors}"
    );
    assert_ends(
        "--grace-period=30s",
        &[("GRACE_PERIOD", "soon")],
        1,
        &["/nowhere/kubeconfig cannot be read"],
    );
}

#[test]
fn inconsistent_lease_times_are_refused() {
    let shorter =
        "--leader-elect-renew-deadline (20s) must be shorter than --leader-elect-lease-duration (15s)";
    assert_ends("--leader-elect-renew-deadline=20s", &[], 2, &[shorter]);
    assert_ends(
        "",
        &[("LEADER_ELECT_LEASE_DURATION", "1500ms")],
        2,
        &["whole seconds"],
    );
}

#[test]
fn unusable_kubeconfig_ends_the_process_with_a_fix() {
    assert_ends(
        "",
        &[],
        1,
        &[
            "kubeconfig /nowhere/kubeconfig cannot be read",
            "check --kubeconfig and $KUBECONFIG",
        ],
    );
    assert_ends(
        "",
        &[("KUBECONFIG", "")],
        1,
        &["no kubeconfig found, and not running in a cluster: pass --kubeconfig"],
    );
    let page = env::temp_dir().join(format!("kubewright-page-{}", std::process::id()));
    fs::write(&page, "<html>Please log in</html>").unwrap();
    let path = page.to_str().unwrap();
    assert_ends("", &[("KUBECONFIG", path)], 1, &[path, "is invalid"]);
    assert_ends(&format!("--kubeconfig {path}"), &[], 1, &[path, "is invalid"]);
    fs::remove_file(&page).unwrap();
    let pod = [
        ("KUBECONFIG", ""),
        ("KUBERNETES_SERVICE_HOST", "127.0.0.1"),
        ("KUBERNETES_SERVICE_PORT", "1"),
    ];
    assert_ends(
        "",
        &pod,
        1,
        &[
            "the pod's service account cannot be used",
            "automountServiceAccountToken",
        ],
    );
}
