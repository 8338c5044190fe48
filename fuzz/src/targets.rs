//! What is fuzzed, by name.

use crate::{api_request, seeds};
use kubewright::cache::fuzzing;
use std::{path::Path, sync::OnceLock};

type Target = fn(&[u8]);

/// Each fails by a panic. Beside that, libFuzzer ends what takes ten seconds, or two gigabytes.
const TARGETS: [(&str, Target, fn() -> Vec<Vec<u8>>); 5] = [
    // The scan of the cache agrees with a parser in all that it accepts.
    ("cache-line", fuzzing::line, seeds::lines),
    ("cache-list", fuzzing::list, seeds::lists),
    ("cache-lines", fuzzing::lines, seeds::bodies),
    // What is kept as a difference comes back.
    ("cache-differences", fuzzing::differences, seeds::pairs),
    // The API server answers whatever it is asked with an answer of a proper form: decoder, selectors, patches, apply, validation.
    ("api-request", api_request::one, seeds::requests),
];

static CHOSEN: OnceLock<Target> = OnceLock::new();

/// Chooses the target, or prints the names of all for `list`. A folder in `KUBEWRIGHT_FUZZ_SEEDS` is given what it begins with.
pub fn begin() {
    let name = std::env::var("KUBEWRIGHT_FUZZ").expect("KUBEWRIGHT_FUZZ names a target");
    if name == "list" {
        TARGETS.iter().for_each(|(known, ..)| println!("{known}"));
        std::process::exit(0);
    }
    let (_, target, seeds) = TARGETS
        .iter()
        .find(|(known, ..)| *known == name)
        .unwrap_or_else(|| panic!("{name} is none of {:?}", TARGETS.map(|(known, ..)| known)));
    if let Some(folder) = std::env::var_os("KUBEWRIGHT_FUZZ_SEEDS") {
        for (number, seed) in seeds().into_iter().enumerate() {
            let file = Path::new(&folder).join(format!("seed-{number}"));
            std::fs::write(&file, seed).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
    }
    let _ = CHOSEN.set(*target);
}

/// Tries some bytes.
pub fn one(bytes: &[u8]) {
    if let Some(target) = CHOSEN.get() {
        target(bytes);
    }
}
