//! The places in a project's code that name something that a command removes.

use std::path::Path;

use crate::{
    Error,
    plan::{self, Plan, slashed},
    project::Project,
};

/// Returns the files and lines that `lines` finds in the project's Rust code after the plan was applied.
pub(super) fn in_code(
    project: &Project,
    plan: &Plan,
    lines: &dyn Fn(&Path, &str) -> Vec<usize>,
) -> Result<Vec<String>, Error> {
    let mut places = Vec::new();
    let folders =
        ["src", "tests", "benches", "examples"].map(|folder| plan::rust_files(&project.root.join(folder)));
    for folder in folders {
        for file in folder? {
            let path = file.strip_prefix(&project.root).unwrap_or(&file);
            let text = plan::read(&file)?.unwrap_or_default();
            let lines = match plan.changes().find(|change| change.path == *path) {
                None => lines(path, &text),
                Some(change) => match &change.after {
                    Some(after) => lines_of(&text, after, &lines(path, after)),
                    None => continue,
                },
            };
            places.extend(lines.into_iter().map(|line| format!("{}:{line}", slashed(path))));
        }
    }
    Ok(places)
}

/// Returns the numbers of these lines of an edited text in the text before.
fn lines_of(before: &str, after: &str, lines: &[usize]) -> Vec<usize> {
    let line = |number: &usize| {
        let text = after.lines().nth(number - 1)?;
        Some(before.lines().position(|line| line == text)? + 1)
    };
    lines.iter().filter_map(line).collect()
}
