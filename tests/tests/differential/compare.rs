//! Answers beside answers.

use crate::case::{Case, folder};
use crate::subject::Answer;
use serde_json::Value;
use std::fmt::Write as _;

/// Promises that nothing may be excepted from: semantics, patches, access.
const KEPT: &[u8] = &[2, 3, 6];

/// Adds what is wrong about a case's answers: differences that are not listed, and listed ones that are none.
pub(crate) fn embedded(case: &Case, recorded: &[(u16, Value)], answers: &[Answer], wrong: &mut String) {
    if recorded.len() != case.steps.len() {
        let _ = writeln!(
            wrong,
            "{}: it is not recorded: run the real server's test with UPDATE_DIFFERENTIAL=1",
            case.name
        );
        return;
    }
    for (at, ((step, recorded), Answer(code, body))) in
        case.steps.iter().zip(recorded).zip(answers).enumerate()
    {
        let same = recorded.0 == *code && recorded.1 == *body;
        let where_ = format!("{} #{at}: {}", case.name, step.title());
        let rest = without(&recorded.1, &step.lacks);
        if !step.lacks.is_empty() && (recorded.0 != *code || rest != *body) {
            let _ = writeln!(wrong, "{where_}: it differs in more than what it lacks");
            apart(&rest, body, "", wrong);
        }
        match (&step.differs, same) {
            (None, true) => {}
            (Some(_), false) if !KEPT.contains(&case.about) => {}
            (Some(_), false) => {
                let _ = writeln!(wrong, "{where_}: nothing of paragraph {} may differ", case.about);
            }
            (Some(_), true) => {
                let _ = writeln!(wrong, "{where_}: it differs no longer");
            }
            (None, false) => {
                let _ = writeln!(wrong, "{where_}: {} {code}", recorded.0);
                apart(&recorded.1, body, "", wrong);
            }
        }
    }
}

/// A value without the items of these names.
fn without(value: &Value, names: &[String]) -> Value {
    let is_one = |item: &Value| {
        let mut texts = [item, &item["name"], &item["groupVersion"]]
            .into_iter()
            .filter_map(Value::as_str);
        texts.any(|text| {
            names.iter().any(|name| match name.strip_suffix('*') {
                Some(start) => text.starts_with(start),
                None => text == name,
            })
        })
    };
    match value {
        Value::Array(items) => {
            let items = items.iter().filter(|item| !is_one(item));
            items.map(|item| without(item, names)).collect()
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(name, value)| (name.clone(), without(value, names)))
                .collect()
        }
        other => other.clone(),
    }
}

/// Adds where two values differ.
pub(crate) fn apart(real: &Value, ours: &Value, at: &str, wrong: &mut String) {
    match (real, ours) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => apart(a, b, &format!("{at}/{key}"), wrong),
                    (a, b) => tell(a, b, &format!("{at}/{key}"), wrong),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for index in 0..a.len().max(b.len()) {
                match (a.get(index), b.get(index)) {
                    (Some(a), Some(b)) => apart(a, b, &format!("{at}/{index}"), wrong),
                    (a, b) => tell(a, b, &format!("{at}/{index}"), wrong),
                }
            }
        }
        (a, b) if a != b => tell(Some(a), Some(b), at, wrong),
        _ => {}
    }
}

fn tell(real: Option<&Value>, ours: Option<&Value>, at: &str, wrong: &mut String) {
    let text = |value: Option<&Value>| {
        value.map_or("nothing".to_owned(), |value| {
            value.to_string().chars().take(600).collect()
        })
    };
    let _ = writeln!(
        wrong,
        "    {at}\n      real     {}\n      embedded {}",
        text(real),
        text(ours)
    );
}

/// DIFFERENCES.md, as the cases' marks make it.
pub(crate) fn differences(cases: &[Case]) -> String {
    let mut text = "\
# Differences from kube-apiserver

Written by `tests/tests/differential` (`UPDATE_DIFFERENTIAL=1`): each line is a step of a test case in which this server responds
differently, and the reason. The suite fails on differences that are not listed, and on listed ones that no longer exist.
"
    .to_owned();
    let mut none = true;
    for case in cases {
        for step in &case.steps {
            if let Some(why) = &step.differs {
                none = false;
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
    text += if none { "\nNone is excepted.\n" } else { "\n" };
    text
}

/// Where it lies.
pub(crate) fn differences_file() -> std::path::PathBuf {
    folder().join("../../../apiserver/DIFFERENCES.md")
}
