//! Compares responses and documents the known differences.

use crate::case::{Case, folder};
use crate::server::{StepResult, picked_nothing};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Areas in which no step may differ: semantics, patches, access.
const EXACT_AREAS: &[u8] = &[2, 3, 6];

/// Compares the embedded server's results of a case with the recording. Adds to `report` each unexpected difference, and each step that
/// is marked as different but is not.
pub(crate) fn check_embedded(
    case: &Case,
    recorded: &[(u16, Value)],
    differing: &BTreeMap<usize, (u16, Value)>,
    results: &[StepResult],
    report: &mut String,
) {
    if recorded.len() != case.steps.len() {
        let _ = writeln!(
            report,
            "{}: the case is not recorded: run the real server's test with UPDATE_DIFFERENTIAL=1",
            case.name
        );
        return;
    }
    for (at, ((step, recorded), StepResult(code, body))) in
        case.steps.iter().zip(recorded).zip(results).enumerate()
    {
        let is_same = recorded.0 == *code && recorded.1 == *body;
        let label = format!("{} #{at}: {}", case.name, step.title());
        if picked_nothing(body) {
            let _ = writeln!(report, "{label}: {body}");
        }
        let recorded_without_lacks = without_items(&recorded.1, &step.lacks);
        if !step.lacks.is_empty() && (recorded.0 != *code || recorded_without_lacks != *body) {
            let _ = writeln!(
                report,
                "{label}: the response differs in more than the items in `lacks`"
            );
            write_diff(&recorded_without_lacks, body, "", report);
        }
        match (&step.differs, is_same) {
            (None, true) => {}
            (Some(_), false) if !EXACT_AREAS.contains(&case.about) => {
                check_differing(differing.get(&at), *code, body, &label, report);
            }
            (Some(_), false) => {
                let _ = writeln!(report, "{label}: no step of area {} may differ", case.about);
            }
            (Some(_), true) => {
                let _ = writeln!(
                    report,
                    "{label}: the response no longer differs: remove `differs`"
                );
            }
            (None, false) => {
                let _ = writeln!(report, "{label}: {} {code}", recorded.0);
                write_diff(&recorded.1, body, "", report);
            }
        }
    }
}

/// Compares the embedded server's response to a step that differs with its recorded response to that step.
fn check_differing(known: Option<&(u16, Value)>, code: u16, body: &Value, label: &str, report: &mut String) {
    let Some((known_code, known_body)) = known else {
        let _ = writeln!(
            report,
            "{label}: this server's response is not recorded: run the test with UPDATE_DIFFERENTIAL=1"
        );
        return;
    };
    if (*known_code, known_body) != (code, body) {
        let _ = writeln!(
            report,
            "{label}: the response still differs, but from what this server responded before, too (shown as real)"
        );
        write_diff(known_body, body, "", report);
    }
}

/// Returns the value without the items of these names in these lists.
fn without_items(value: &Value, lacks: &BTreeMap<String, Vec<String>>) -> Value {
    let mut value = value.clone();
    for (pointer, names) in lacks {
        if let Some(Value::Array(items)) = value.pointer_mut(pointer) {
            items.retain(|item| {
                let mut texts = [item, &item["name"], &item["groupVersion"]]
                    .into_iter()
                    .filter_map(Value::as_str);
                !texts.any(|text| {
                    names.iter().any(|name| match name.strip_suffix('*') {
                        Some(start) => text.starts_with(start),
                        None => text == name,
                    })
                })
            });
        }
    }
    value
}

/// Adds every difference of two values to `report`.
pub(crate) fn write_diff(real: &Value, ours: &Value, at: &str, report: &mut String) {
    match (real, ours) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => write_diff(a, b, &format!("{at}/{key}"), report),
                    (a, b) => write_difference(a, b, &format!("{at}/{key}"), report),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for index in 0..a.len().max(b.len()) {
                match (a.get(index), b.get(index)) {
                    (Some(a), Some(b)) => write_diff(a, b, &format!("{at}/{index}"), report),
                    (a, b) => write_difference(a, b, &format!("{at}/{index}"), report),
                }
            }
        }
        (a, b) if a != b => write_difference(Some(a), Some(b), at, report),
        _ => {}
    }
}

fn write_difference(real: Option<&Value>, ours: Option<&Value>, at: &str, report: &mut String) {
    let text = |value: Option<&Value>| {
        value.map_or("missing".to_owned(), |value| {
            value.to_string().chars().take(600).collect()
        })
    };
    let _ = writeln!(
        report,
        "    {at}\n      real     {}\n      embedded {}",
        text(real),
        text(ours)
    );
}

/// Returns the text of DIFFERENCES.md, generated from the steps with `differs`.
pub(crate) fn differences(cases: &[Case]) -> String {
    let mut text = "\
# Differences from kube-apiserver

Generated by `tests/tests/differential` (`UPDATE_DIFFERENTIAL=1`). Each line names a step of a test case in which this server responds
differently from kube-apiserver, and the reason. The tests fail on a difference that is not listed, and on a listed one that no
longer exists.
"
    .to_owned();
    let mut is_empty = true;
    for case in cases {
        for step in &case.steps {
            if let Some(why) = &step.differs {
                is_empty = false;
                let _ = write!(
                    text,
                    "\n- {}, `{}` (\u{a7}{}): {why}",
                    case.name,
                    step.title(),
                    case.about
                );
            }
        }
    }
    text += if is_empty {
        "\nThere are no known differences.\n"
    } else {
        "\n"
    };
    text
}

/// Returns the path of DIFFERENCES.md.
pub(crate) fn differences_file() -> std::path::PathBuf {
    folder().join("../../../apiserver/DIFFERENCES.md")
}
