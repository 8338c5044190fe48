//! Differential tests: the embedded API server must respond to the same requests as the real kube-apiserver does.
//!
//! `cases/` contains the cases as data: requests in order. `recorded/` contains the real server's responses, without values that differ
//! between servers: times, addresses, the numbers of uids and versions. Plain `cargo test` compares the embedded server with the recording.
//! `webhook` is called by both servers.
//! Steps that are known to differ are compared with what the embedded server responded before (`differing/`, written by
//! `UPDATE_DIFFERENTIAL=1`, after the real server's recording). The ignored
//! tests need the real server: they check that the recording is current (`UPDATE_DIFFERENTIAL=1` writes it) and run the cases that need
//! kubectl. A suite can be recorded alone (`DIFFERENTIAL_ONLY`), since suites do not depend on each other.
//! `subresource_matrix` and `owner_matrix` generate suites from the recorded discovery documents.
//! `random.rs` sends random requests to both servers side by side, and `random/exhaustive.rs` mutations of its
//! examples: a sample here, all in `.ci/nightly`.
//! Where the embedded server differs, the step says why (`differs`); apiserver/DIFFERENCES.md lists these steps.

mod case;
mod compare;
mod identities;
mod invalid;
mod json_bytes;
mod normalize;
mod openapi;
mod openapi_protobuf;
mod owner_matrix;
mod printed_table;
mod protobuf;
mod random;
mod recording;
mod server;
mod servers;
mod subresource_matrix;
mod waits;
#[allow(dead_code, reason = "functions that respond are for the test of conversion")]
#[path = "../support/webhook.rs"]
mod webhook;
mod yaml;

use case::{Case, Suite};
use server::{StepResult, TestServer, picked_nothing, waited_in_vain};
use servers::{Servers, embedded, real};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Returns where a suite runs, by its name. Not every machine has kubectl.
fn servers(suite: &Suite) -> Servers {
    match suite.name.as_str() {
        name if name.starts_with("kubectl") => Servers::Kubectl,
        "service-accounts" => Servers::WithServiceAccounts,
        "plugins-off" => Servers::WithoutPlugins,
        _ => Servers::Shared,
    }
}

/// Returns the selected suites that run on these servers.
fn suites_on(on: Servers) -> Vec<Suite> {
    let suites = selected_suites().into_iter();
    suites.filter(|suite| servers(suite) == on).collect()
}

/// Returns the suites of `cases/`, and those that are generated.
fn all_suites() -> Vec<Suite> {
    let mut suites = case::suites();
    let generated = [subresource_matrix::suite(&suites), owner_matrix::suite(&suites)];
    suites.extend(generated);
    suites
}

fn selected_suites() -> Vec<Suite> {
    let mut suites = all_suites();
    // Select one suite or one case, for work on it.
    if let Ok(only) = std::env::var("DIFFERENTIAL_ONLY") {
        for suite in &mut suites {
            let is_whole = suite.name == only;
            suite.cases.retain(|case| is_whole || case.name == only);
        }
        suites.retain(|suite| !suite.cases.is_empty());
    }
    suites
}

fn is_whole_suite(suite: &Suite) -> bool {
    std::env::var("DIFFERENTIAL_ONLY")
        .ok()
        .is_none_or(|only| only == suite.name)
}

async fn compare_with_recording(on: Servers) {
    let suites = suites_on(on);
    if suites.is_empty() {
        return;
    }
    let server = embedded(on).await;
    let subject = TestServer::embedded(&server).await;
    let mut report = String::new();
    for suite in &suites {
        let mut all = vec![];
        for case in &suite.cases {
            all.push(subject.run_case(case).await);
        }
        if recording::is_update_requested() && is_whole_suite(suite) {
            recording::write_differing(suite, &all);
        }
        let (recorded, differing) = (recording::read(suite), recording::read_differing(suite));
        let none = BTreeMap::new();
        for (case, results) in suite.cases.iter().zip(&all) {
            let recorded = recorded.get(&case.name).map_or(&[][..], |recorded| recorded);
            let differing = differing.get(&case.name).unwrap_or(&none);
            compare::check_embedded(case, recorded, differing, results, &mut report);
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[tokio::test]
async fn embedded_server_responds_as_recorded() {
    for on in Servers::ALL.into_iter().filter(|on| *on != Servers::Kubectl) {
        compare_with_recording(on).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn kubectl_prints_as_recorded() {
    compare_with_recording(Servers::Kubectl).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn recording_matches_the_real_server() {
    let mut report = String::new();
    for on in Servers::ALL {
        let suites = suites_on(on);
        if suites.is_empty() {
            continue;
        }
        let plane = real(on).await;
        let subject = TestServer::real(&plane).await;
        for suite in &suites {
            compare_or_record(&subject, suite, &mut report).await;
        }
        tokio::task::spawn_blocking(move || drop(plane)).await.unwrap();
    }
    assert!(report.is_empty(), "\n{report}");
}

async fn compare_or_record(real: &TestServer, suite: &Suite, report: &mut String) {
    let mut all = vec![];
    let recorded = recording::read(suite);
    // A mistake that panics is in this suite; all else is in the report.
    eprintln!("suite {}", suite.name);
    for case in &suite.cases {
        let results = real.run_case(case).await;
        for (step, StepResult(code, body)) in case.steps.iter().zip(&results) {
            if picked_nothing(body) {
                let _ = writeln!(report, "{}: {}: {body}", case.name, step.title());
            }
            if waited_in_vain(body) {
                let _ = writeln!(report, "{}: {}: {code} {body}", case.name, step.title());
            }
        }
        if !recording::is_update_requested() {
            let recorded = recorded.get(&case.name).map_or(&[][..], |recorded| recorded);
            for ((step, result), recorded) in case.steps.iter().zip(&results).zip(recorded) {
                if result.0 != recorded.0 || result.1 != recorded.1 {
                    let (case, step) = (&case.name, step.title());
                    let _ = writeln!(report, "{case}: {step}: {} {}", recorded.0, result.0);
                    compare::write_diff(&recorded.1, &result.1, "", report);
                }
            }
            if recorded.len() != results.len() {
                let _ = writeln!(report, "{}: the case is not recorded", case.name);
            }
        }
        all.push(results);
    }
    // Suites are independent of each other, single cases are not: record whole suites only.
    if recording::is_update_requested() && is_whole_suite(suite) {
        recording::write(suite, &all);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn servers_respond_alike_to_random_requests() {
    let plane = real(Servers::Shared).await;
    let server = embedded(Servers::Shared).await;
    let (ours, theirs) = (
        TestServer::embedded(&server).await,
        TestServer::real(&plane).await,
    );
    let mut report = random::compare(&ours, &theirs).await;
    report += &random::compare_races(&ours, &theirs).await;
    report += &random::compare_persisted(&ours, &theirs).await;
    tokio::task::spawn_blocking(move || drop(plane)).await.unwrap();
    assert!(report.is_empty(), "\n{report}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn servers_respond_alike_to_mutations_of_the_examples() {
    let plane = real(Servers::Shared).await;
    let server = embedded(Servers::Shared).await;
    let (ours, theirs) = (
        TestServer::embedded(&server).await,
        TestServer::real(&plane).await,
    );
    let report = random::compare_exhaustively(&ours, &theirs).await;
    tokio::task::spawn_blocking(move || drop(plane)).await.unwrap();
    assert!(report.is_empty(), "\n{report}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn servers_publish_alike_documents() {
    let plane = real(Servers::Shared).await;
    let server = embedded(Servers::Shared).await;
    let (ours, theirs) = (
        TestServer::embedded(&server).await,
        TestServer::real(&plane).await,
    );
    let report = openapi::compare_documents(&all_suites(), &ours, &theirs).await;
    tokio::task::spawn_blocking(move || drop(plane)).await.unwrap();
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn case_names_are_unique_and_differences_are_documented() {
    let cases: Vec<Case> = all_suites().into_iter().flat_map(|suite| suite.cases).collect();
    let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    let (text, file) = (compare::differences(&cases), compare::differences_file());
    if recording::is_update_requested() {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(file).unwrap_or_default(),
        text,
        "DIFFERENCES.md is out of date: run this test with UPDATE_DIFFERENTIAL=1"
    );
}

/// The real server authorizes by caches: a request right after a change of permissions may be answered by the old ones.
#[test]
fn users_wait_for_changed_permissions() {
    let mut report = String::new();
    for case in all_suites().into_iter().flat_map(|suite| suite.cases) {
        let mut has_changed = false;
        for step in &case.steps {
            let changes = step.method != "GET" && step.path.contains("/rbac.authorization.k8s.io/");
            if changes && step.r#as.is_none() {
                has_changed = true;
            } else if step.path.ends_with("/subjectaccessreviews") && step.becomes.is_some() {
                has_changed = false;
            } else if step.r#as.is_some() && std::mem::take(&mut has_changed) {
                // Who lacks the permission gets 401 or 403.
                if step.until.is_none_or(|code| [401, 403].contains(&code)) {
                    writeln!(report, "{}: {}: needs `until`", case.name, step.title()).unwrap();
                }
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// The fuzzer accepts a 500 that begins with one of these texts.
#[test]
fn every_500_that_the_fuzzer_accepts_is_recorded() {
    let suites = all_suites();
    let recorded = suites
        .iter()
        .flat_map(|suite| recording::read(suite).into_values().flatten());
    let messages: Vec<String> = recorded
        .filter(|(code, _)| *code == 500)
        .filter_map(|(_, body)| {
            let status = body.get("body").unwrap_or(&body);
            status["message"].as_str().map(str::to_owned)
        })
        .collect();
    for beginning in include_str!("../../../fuzz/upstream_500.txt").lines() {
        assert!(beginning.len() > 5, "{beginning:?} says too little");
        let is_recorded = messages.iter().any(|message| message.starts_with(beginning));
        assert!(is_recorded, "no recorded response begins with {beginning:?}");
    }
}
