//! The same requests to the embedded API server and to the real one: the same answers.
//!
//! `cases/` has the cases: requests in order, as data. `recorded/` has what the real server answered, less what no two servers have in
//! common: uids, versions, times, addresses. Plain `cargo test` compares the embedded server with the recording; the ignored tests,
//! which need the real one, see whether the recording is still true (`UPDATE_DIFFERENTIAL=1` writes it), play what needs kubectl too.
//! A suite can be recorded alone (`DIFFERENTIAL_ONLY`): none shows what another made.
//! `random.rs` asks both, side by side, what nobody thought of, and `random/every.rs` every change of its examples, one by one.
//! Where the embedded server differs a step says why (`differs`), and so does apiserver/DIFFERENCES.md.

mod case;
mod compare;
mod normal;
mod random;
mod recording;
mod subject;
mod yaml;

use case::{Case, Suite, suites};
use std::fmt::Write as _;
use subject::{Subject, embedded, real};

/// Its cases are commands of kubectl, which not every machine has.
const KUBECTL: &str = "kubectl";

fn chosen() -> Vec<Suite> {
    let mut suites = suites();
    // One suite or case, while one works on it.
    if let Ok(only) = std::env::var("DIFFERENTIAL_ONLY") {
        for suite in &mut suites {
            let whole = suite.name == only;
            suite.cases.retain(|case| whole || case.name == only);
        }
        suites.retain(|suite| !suite.cases.is_empty());
    }
    suites
}

fn is_whole(suite: &Suite) -> bool {
    std::env::var("DIFFERENTIAL_ONLY")
        .ok()
        .is_none_or(|only| only == suite.name)
}

async fn compare_with_recording(suites: &[Suite]) {
    let server = embedded().await;
    let subject = Subject::embedded(&server).await;
    let mut wrong = String::new();
    for suite in suites {
        let recorded = recording::read(suite);
        for case in &suite.cases {
            let answers = subject.play(case).await;
            let recorded = recorded.get(&case.name).map_or(&[][..], |recorded| recorded);
            compare::embedded(case, recorded, &answers, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[tokio::test]
async fn the_embedded_server_answers_as_recorded() {
    let suites = chosen();
    let suites: Vec<Suite> = suites.into_iter().filter(|suite| suite.name != KUBECTL).collect();
    compare_with_recording(&suites).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn kubectl_prints_as_recorded() {
    let suites = chosen();
    let suites: Vec<Suite> = suites.into_iter().filter(|suite| suite.name == KUBECTL).collect();
    compare_with_recording(&suites).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn the_recording_is_what_the_real_server_answers() {
    let mut wrong = String::new();
    // Lists of kubectl would show what the other suites made.
    let (kubectl, others): (Vec<Suite>, Vec<Suite>) =
        chosen().into_iter().partition(|suite| suite.name == KUBECTL);
    for suites in [others, kubectl].iter().filter(|suites| !suites.is_empty()) {
        let plane = real().await;
        let subject = Subject::real(&plane).await;
        for suite in suites {
            compare_or_record(&subject, suite, &mut wrong).await;
        }
        tokio::task::spawn_blocking(move || drop(plane)).await.unwrap();
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

async fn compare_or_record(real: &Subject, suite: &Suite, wrong: &mut String) {
    let mut all = vec![];
    let recorded = recording::read(suite);
    for case in &suite.cases {
        eprintln!("{}: {}", suite.name, case.name);
        let answers = real.play(case).await;
        if !recording::updates() {
            let recorded = recorded.get(&case.name).map_or(&[][..], |recorded| recorded);
            for ((step, answer), recorded) in case.steps.iter().zip(&answers).zip(recorded) {
                if answer.0 != recorded.0 || answer.1 != recorded.1 {
                    let (case, step) = (&case.name, step.title());
                    let _ = writeln!(wrong, "{case}: {step}: {} {}", recorded.0, answer.0);
                    compare::apart(&recorded.1, &answer.1, "", wrong);
                }
            }
            if recorded.len() != answers.len() {
                let _ = writeln!(wrong, "{}: it is not recorded", case.name);
            }
        }
        all.push(answers);
    }
    // A suite stands by itself; a case does not.
    if recording::updates() && is_whole(suite) {
        recording::write(suite, &all);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn both_servers_answer_random_requests_alike() {
    let plane = real().await;
    let server = embedded().await;
    let (ours, theirs) = (Subject::embedded(&server).await, Subject::real(&plane).await);
    let wrong = random::compare(&ours, &theirs).await;
    tokio::task::spawn_blocking(move || drop(plane)).await.unwrap();
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn both_servers_answer_every_change_of_an_example_alike() {
    let plane = real().await;
    let server = embedded().await;
    let (ours, theirs) = (Subject::embedded(&server).await, Subject::real(&plane).await);
    let wrong = random::compare_every(&ours, &theirs).await;
    tokio::task::spawn_blocking(move || drop(plane)).await.unwrap();
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn names_of_cases_are_unique_and_differences_are_written_down() {
    let cases: Vec<Case> = suites().into_iter().flat_map(|suite| suite.cases).collect();
    let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    let (text, file) = (compare::differences(&cases), compare::differences_file());
    if recording::updates() {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(file).unwrap_or_default(),
        text,
        "UPDATE_DIFFERENTIAL=1 writes it"
    );
}
