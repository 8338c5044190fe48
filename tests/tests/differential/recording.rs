//! What the real server answered: a file a suite, a line an answer.

use crate::case::{Suite, folder};
use crate::subject::Answer;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// By case, in the order of its steps.
pub(crate) type Recording = BTreeMap<String, Vec<(u16, Value)>>;

/// Whether what is found is to be written, not compared.
pub(crate) fn updates() -> bool {
    std::env::var_os("UPDATE_DIFFERENTIAL").is_some()
}

fn file(suite: &str) -> PathBuf {
    folder().join(format!("recorded/{suite}.json"))
}

/// What was recorded of a suite; nothing where there is no recording.
pub(crate) fn read(suite: &Suite) -> Recording {
    let text = std::fs::read_to_string(file(&suite.name)).unwrap_or_else(|_| "{}".to_owned());
    let mut recording: Recording = serde_json::from_str(&text).unwrap();
    for (_, body) in recording.values_mut().flatten() {
        *body = crate::normal::of(body.take());
    }
    recording
}

/// Writes a recording.
pub(crate) fn write(suite: &Suite, answers: &[Vec<Answer>]) {
    let mut text = "{\n".to_owned();
    for (at, (case, answers)) in suite.cases.iter().zip(answers).enumerate() {
        let lines: Vec<String> = answers
            .iter()
            .map(|Answer(code, body)| serde_json::to_string(&(code, body)).unwrap())
            .collect();
        let comma = if at + 1 < suite.cases.len() { "," } else { "" };
        let name = serde_json::to_string(&case.name).unwrap();
        text += &[&name, ": [\n", &lines.join(",\n"), "\n]", comma, "\n"].concat();
    }
    text += "}\n";
    std::fs::write(file(&suite.name), text).unwrap();
}
