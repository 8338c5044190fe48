//! Stores a sample of mutated examples on both servers: what is stored, and what later requests make of it, may differ from what a dry run
//! answers.

use super::exhaustive::{StoredExample, create_examples};
use super::mutations::{Mutation, pointers};
use super::{MAX_REPORTED_DIFFERENCES, install_definition, post};
use crate::case::Step;
use crate::compare;
use crate::normalize::Normalizer;
use crate::server::{StepResult, TestServer};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One mutation in this many is stored. A prime, so that the sample does not repeat one kind of mutation.
const SAMPLE: usize = 37;

/// Compares the servers and returns a report of their differences; empty if there are none.
pub(crate) async fn compare(ours: &TestServer, theirs: &TestServer) -> String {
    install_definition(&[ours, theirs], super::definition()).await;
    let (mut report, mut reported, mut number) = (String::new(), 0, 0);
    for example in create_examples(&[ours, theirs]).await {
        let StoredExample { all, object, .. } = &example;
        for pointer in pointers(object) {
            for mutation in Mutation::all() {
                number += 1;
                if number % SAMPLE != 0 {
                    continue;
                }
                let mut mutated = object.clone();
                mutation.apply(&mut mutated, &pointer);
                let name = format!("stored-{number}");
                if mutated["metadata"].is_object() {
                    mutated["metadata"]["name"] = json!(name);
                }
                let (here, there) = futures::join!(
                    store(ours, all, &name, mutated.clone()),
                    store(theirs, all, &name, mutated.clone())
                );
                if here == there || reported == MAX_REPORTED_DIFFERENCES {
                    continue;
                }
                reported += 1;
                let _ = writeln!(report, "{pointer} of {all}: {mutated}");
                compare::write_diff(&there, &here, "", &mut report);
            }
        }
    }
    report
}

/// Creates the object, reads it, writes it back as it was read, and deletes it. Returns all responses.
async fn store(server: &TestServer, all: &str, name: &str, object: Value) -> Value {
    let one = format!("{all}/{name}");
    let mut normalizer = Normalizer::default();
    let mut responses = vec![];
    let (StepResult(code, created), _) = server.run_next_step(&post(all, object), &mut normalizer).await;
    responses.push(json!([code, created]));
    if code != 201 {
        return responses.into();
    }
    let step = |method: &str, body: Option<Value>| Step {
        method: method.to_owned(),
        path: one.clone(),
        body,
        ..Step::default()
    };
    let (StepResult(code, read), raw) = server.run_next_step(&step("GET", None), &mut normalizer).await;
    responses.push(json!([code, read]));
    for step in [step("PUT", Some(raw)), step("DELETE", None)] {
        let (StepResult(code, body), _) = server.run_next_step(&step, &mut normalizer).await;
        responses.push(json!([code, body]));
    }
    responses.into()
}
