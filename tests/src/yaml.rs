//! Reads manifest files.

use std::{fs, path::Path};

use serde_json::Value;

/// Reads all objects from the `.yaml` files of a folder, in the order of the file names. A file may contain several documents; the
/// `Kustomization` file has no extension and is skipped.
///
/// # Panics
///
/// If a file cannot be read, or the folder contains no objects.
pub fn read_manifests(folder: &Path) -> Vec<Value> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let objects: Vec<Value> = files.iter().flat_map(|file| read_file(file)).collect();
    assert!(!objects.is_empty(), "no objects in {}", folder.display());
    objects
}

fn read_file(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let read: Result<Vec<Value>, _> = serde_saphyr::from_multiple(&text);
    let mut objects = read.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    objects.retain(|object| !object.is_null());
    objects
}
