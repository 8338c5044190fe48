//! The recorded responses of the real server: one file per suite, one line per response.

use crate::case::{Suite, folder};
use crate::server::StepResult;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Status codes and bodies by case name, in the order of the steps.
pub(crate) type Recording = BTreeMap<String, Vec<(u16, Value)>>;

/// Returns whether `UPDATE_DIFFERENTIAL` is set: then recordings are written instead of compared.
pub(crate) fn is_update_requested() -> bool {
    std::env::var_os("UPDATE_DIFFERENTIAL").is_some()
}

fn file(suite: &str) -> PathBuf {
    folder().join(format!("recorded/{suite}.json"))
}

/// Reads the recording of a suite; empty if there is none.
pub(crate) fn read(suite: &Suite) -> Recording {
    let text = std::fs::read_to_string(file(&suite.name)).unwrap_or_else(|_| "{}".to_owned());
    let mut recording: Recording = serde_json::from_str(&text).unwrap();
    for (_, body) in recording.values_mut().flatten() {
        *body = crate::normalize::body(body.take());
    }
    recording
}

/// Writes the recording of a suite.
pub(crate) fn write(suite: &Suite, results: &[Vec<StepResult>]) {
    let mut text = "{\n".to_owned();
    for (at, (case, results)) in suite.cases.iter().zip(results).enumerate() {
        let lines: Vec<String> = results
            .iter()
            .map(|StepResult(code, body)| serde_json::to_string(&(code, body)).unwrap())
            .collect();
        let comma = if at + 1 < suite.cases.len() { "," } else { "" };
        let name = serde_json::to_string(&case.name).unwrap();
        text += &[&name, ": [\n", &lines.join(",\n"), "\n]", comma, "\n"].concat();
    }
    text += "}\n";
    std::fs::write(file(&suite.name), text).unwrap();
}
