//! Files of manifests.

use std::{fs, path::Path};

use serde_json::Value;

/// The objects of the folder's files, which are one each or several; what only lists files is left out.
///
/// # Panics
///
/// When a file cannot be read, or there is none.
pub fn objects(folder: &Path) -> Vec<Value> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let objects: Vec<Value> = files.iter().flat_map(|file| read(file)).collect();
    assert!(!objects.is_empty(), "nothing in {}", folder.display());
    objects
}

fn read(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let read: Result<Vec<Value>, _> = serde_saphyr::from_multiple(&text);
    let mut objects = read.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    objects.retain(|object| !object.is_null());
    objects
}
