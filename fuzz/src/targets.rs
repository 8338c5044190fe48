//! The fuzz targets.

use crate::{api_request, expression, request_seeds, seeds};
use kubewright::cache::fuzzing;
use std::{path::Path, sync::OnceLock};

type Target = fn(&[u8]);

/// A target fails by a panic. libFuzzer also fails inputs that take ten seconds or two gigabytes.
const TARGETS: [(&str, Target, fn() -> Vec<Vec<u8>>); 6] = [
    // The scan of the cache agrees with a JSON parser on everything that it accepts.
    ("cache-line", fuzzing::line, seeds::watch_lines),
    ("cache-list", fuzzing::list, seeds::lists),
    ("cache-lines", fuzzing::lines, seeds::watch_bodies),
    // Delta encoding is lossless.
    ("cache-differences", fuzzing::differences, seeds::object_pairs),
    // Expressions neither panic nor take for ever, and valid ones can be compiled.
    ("expression", expression::run, expression::seeds),
    // The API server gives a well-formed response to any request: decoders, selectors, patches, apply, validation.
    ("api-request", api_request::run, request_seeds::requests),
];

static SELECTED: OnceLock<Target> = OnceLock::new();

/// Selects the target, or prints all names for `list`. Writes the seeds to the folder in `KUBEWRIGHT_FUZZ_SEEDS`, if set.
pub fn init() {
    let name = std::env::var("KUBEWRIGHT_FUZZ").expect("set KUBEWRIGHT_FUZZ to a target");
    if name == "list" {
        TARGETS
            .iter()
            .for_each(|(target_name, ..)| println!("{target_name}"));
        std::process::exit(0);
    }
    let (_, target, seeds) = TARGETS
        .iter()
        .find(|(target_name, ..)| *target_name == name)
        .unwrap_or_else(|| {
            panic!(
                "unknown target {name}: choose one of {:?}",
                TARGETS.map(|(target_name, ..)| target_name)
            )
        });
    if let Some(folder) = std::env::var_os("KUBEWRIGHT_FUZZ_SEEDS") {
        for (number, seed) in seeds().into_iter().enumerate() {
            let file = Path::new(&folder).join(format!("seed-{number}"));
            std::fs::write(&file, seed).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
    }
    let _ = SELECTED.set(*target);
}

/// Runs the selected target.
pub fn run_selected(bytes: &[u8]) {
    if let Some(target) = SELECTED.get() {
        target(bytes);
    }
}
