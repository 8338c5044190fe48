//! The same requests to the embedded API server and to the real one: the same answers.
//!
//! `cases/` has the cases: requests in order, as data. `recorded/` has what the real server answered, less what no two servers have in
//! common: uids, versions, times, addresses. Plain `cargo test` compares the embedded server with the recording; the ignored tests,
//! which need the real one, see whether the recording is still true (`UPDATE_DIFFERENTIAL=1` writes it), play what needs kubectl too.
//! Where the embedded server differs a step says why (`differs`), and so does apiserver/DIFFERENCES.md.

mod case;
mod compare;
mod normal;
mod recording;
mod subject;

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
    }
    suites
}

async fn compare_with_recording(suites: &[Suite]) {
    let server = embedded().await;
    let subject = Subject::embedded(&server).await;
    let mut wrong = String::new();
    let mut open = recording::open();
    let shown = std::env::var_os("DIFFERENTIAL_SHOW").is_some();
    for suite in suites {
        let recorded = recording::read(suite);
        for case in &suite.cases {
            let answers = subject.play(case).await;
            let recorded = recorded.get(&case.name).map_or(&[][..], |recorded| recorded);
            let known = open.remove(&case.name).filter(|_| !shown).unwrap_or_default();
            let differ = compare::embedded(case, recorded, &answers, &known, &mut wrong);
            if !differ.is_empty() {
                open.insert(case.name.clone(), differ);
            }
        }
    }
    if recording::updates() {
        recording::write_open(&open);
        return;
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
    let suites: Vec<Suite> = chosen()
        .into_iter()
        .filter(|suite| suite.name == KUBECTL)
        .collect();
    compare_with_recording(&suites).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn the_recording_is_what_the_real_server_answers() {
    let plane = real().await;
    let subject = Subject::real(&plane).await;
    let mut wrong = String::new();
    for suite in chosen() {
        let mut all = vec![];
        let recorded = recording::read(&suite);
        for case in &suite.cases {
            eprintln!("{}: {}", suite.name, case.name);
            let answers = subject.play(case).await;
            if !recording::updates() {
                let recorded = recorded.get(&case.name).map_or(&[][..], |recorded| recorded);
                for ((step, answer), recorded) in case.steps.iter().zip(&answers).zip(recorded) {
                    if answer.0 != recorded.0 || answer.1 != recorded.1 {
                        let _ = writeln!(
                            wrong,
                            "{}: {}: {} {}",
                            case.name,
                            step.title(),
                            recorded.0,
                            answer.0
                        );
                        compare::apart(&recorded.1, &answer.1, "", &mut wrong);
                    }
                }
                if recorded.len() != answers.len() {
                    let _ = writeln!(wrong, "{}: it is not recorded", case.name);
                }
            }
            all.push(answers);
        }
        if recording::updates() && std::env::var_os("DIFFERENTIAL_ONLY").is_none() {
            recording::write(&suite, &all);
        }
    }
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
    let (text, file) = (
        compare::differences(&cases, recording::open().values().map(Vec::len).sum()),
        compare::differences_file(),
    );
    if recording::updates() {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(file).unwrap_or_default(),
        text,
        "UPDATE_DIFFERENTIAL=1 writes it"
    );
}
