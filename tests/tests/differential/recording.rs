//! The recorded responses, normalized: one file per suite. `recorded/` has the real server's, one line per response; `differing/` has the
//! embedded server's to the steps that are known to differ, so that they do not change unnoticed.

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
    serde_json::from_str(&text).unwrap()
}

/// Writes the recording of a suite: one line a response.
pub(crate) fn write(suite: &Suite, results: &[Vec<StepResult>]) {
    let cases = suite.cases.iter().zip(results).map(|(case, results)| {
        let line = |StepResult(code, body): &StepResult| serde_json::to_string(&(code, body)).unwrap();
        let lines: Vec<String> = results.iter().map(line).collect();
        let name = serde_json::to_string(&case.name).unwrap();
        format!("{name}: [\n{}\n]", lines.join(",\n"))
    });
    let cases: Vec<String> = cases.collect();
    std::fs::write(file(&suite.name), format!("{{\n{}\n}}\n", cases.join(",\n"))).unwrap();
}

/// The embedded server's responses to steps that differ, by case name and step.
pub(crate) type Differing = BTreeMap<String, BTreeMap<usize, (u16, Value)>>;

/// Reads the embedded server's responses to the steps of a suite that differ; empty if there are none.
pub(crate) fn read_differing(suite: &Suite) -> Differing {
    let text = std::fs::read_to_string(differing_file(&suite.name)).unwrap_or_else(|_| "{}".to_owned());
    serde_json::from_str(&text).unwrap()
}

/// Writes the embedded server's responses to the steps of a suite that differ.
pub(crate) fn write_differing(suite: &Suite, results: &[Vec<StepResult>]) {
    let mut differing = Differing::new();
    for (case, results) in suite.cases.iter().zip(results) {
        let steps = case.steps.iter().zip(results).enumerate();
        for (at, (_, StepResult(code, body))) in steps.filter(|(_, (step, _))| step.differs.is_some()) {
            let of_case = differing.entry(case.name.clone()).or_default();
            of_case.insert(at, (*code, body.clone()));
        }
    }
    let file = differing_file(&suite.name);
    if differing.is_empty() {
        let _ = std::fs::remove_file(file);
        return;
    }
    std::fs::create_dir_all(folder().join("differing")).unwrap();
    let text = serde_json::to_string_pretty(&differing).unwrap();
    std::fs::write(file, text + "\n").unwrap();
}

fn differing_file(suite: &str) -> PathBuf {
    folder().join(format!("differing/{suite}.json"))
}
