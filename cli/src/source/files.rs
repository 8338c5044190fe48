//! Reads and parses the Rust files of a project.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use syn::File;

use super::{InsertError, insertion::SourceText};
use crate::plan::{self, IoError};

/// A file of the project's source.
pub struct SourceFile {
    /// Relative to the project.
    pub path: PathBuf,
    /// Its syntax tree.
    pub syntax: File,
}

/// Reads the files in a project's `src`. Files that do not parse are skipped: rustc reports them.
pub fn read_files(root: &Path) -> Result<Vec<SourceFile>, IoError> {
    let mut found = Vec::new();
    for file in plan::rust_files(&root.join("src"))? {
        if let Ok(syntax) = syn::parse_file(&plan::read(&file)?.unwrap_or_default()) {
            let path = file.strip_prefix(root).unwrap_or(&file).to_owned();
            found.push(SourceFile { path, syntax });
        }
    }
    Ok(found)
}

/// Parses a file. The error names the line.
pub fn parse(text: &str) -> Result<File, InsertError> {
    Ok(SourceText::parse(text)?.file)
}

/// Returns the texts of the [`package_files`].
pub fn package_texts(root: &Path) -> Result<BTreeMap<PathBuf, String>, IoError> {
    let read = |path: PathBuf| {
        let text = plan::read(&root.join(&path))?.unwrap_or_default();
        Ok((path, text))
    };
    package_files(root)?.into_iter().map(read).collect()
}

/// Returns the Rust files of a package, relative to it: those of its library, programs, tests, benchmarks and examples.
pub fn package_files(root: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut found = Vec::new();
    for folder in ["src", "tests", "benches", "examples"] {
        for file in plan::rust_files(&root.join(folder))? {
            found.push(file.strip_prefix(root).unwrap_or(&file).to_owned());
        }
    }
    Ok(found)
}
