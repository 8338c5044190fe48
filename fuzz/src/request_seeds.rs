//! The initial corpus of requests: those of the differential suite. Plain tests of the API server replay it.

use serde_json::Value;
use std::{fs, path::Path};

/// One of how many cases is used: the fuzzer begins with all, the plain test, without optimization, with some.
const EVERY: usize = if cfg!(fuzzing) { 1 } else { 17 };

/// Requests in the format of [`api_request`](crate::api_request): `METHOD path`, a line with the content type, and the body.
pub fn requests() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tests/differential/cases");
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).expect("a text"));
    let cases = texts.flat_map(|text| serde_json::from_str::<Vec<Value>>(&text).expect("cases"));
    let steps = cases
        .step_by(EVERY)
        .flat_map(|case| case["steps"].as_array().cloned().unwrap_or_default());
    steps.filter_map(|step| request(&step)).collect()
}

fn request(step: &Value) -> Option<Vec<u8>> {
    let (method, path) = (step["method"].as_str()?, step["path"].as_str()?);
    let body = match (&step["body"], &step["text"]) {
        (Value::Null, Value::String(text)) => text.clone(),
        (Value::Null, _) => String::new(),
        (body, _) => body.to_string(),
    };
    let content_type = step["type"].as_str().unwrap_or("application/json");
    let request = format!("{method} {path}\n{content_type}\n{body}").replace("${ns}", "default");
    Some(request.into_bytes())
}
