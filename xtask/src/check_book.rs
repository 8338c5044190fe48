//! Checks the book in `docs/` and the links of the other documents, without mdBook, which takes a minute to build.
//!
//! mdBook itself only warns about an include that it does not find. Links to other hosts are not fetched; those to this repository on GitHub are
//! looked up here.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, bail};

/// Documents outside the book whose links are checked too.
const DOCUMENTS: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "examples/cronjob/README.md",
    "examples/external-resource/README.md",
    "examples/node-labeler/README.md",
    "benches/README.md",
];

/// Languages of which the book has no code of its own: it is included from files that CI or the nightly run builds or tests.
const INCLUDED_LANGUAGES: [&str; 5] = ["go", "rust", "toml", "yaml", "yml"];

/// What the links to files and folders of this repository begin with.
const REPOSITORY_LINKS: [&str; 2] = [
    "https://github.com/kubewright/kubewright/blob/main/",
    "https://github.com/kubewright/kubewright/tree/main/",
];

/// Fails, and names the lines, if an included file or anchor, the target of a link, or a page of the table of contents does not exist.
#[expect(clippy::print_stdout, reason = "standard output is the result")]
pub(crate) fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies in no workspace")?;
    let book = root.join("docs/src");
    let mut failures = check_book(&book)?;
    for document in DOCUMENTS {
        let path = root.join(document);
        check_page(&path, root, &mut failures)?;
    }
    for failure in &failures {
        println!("{failure}");
    }
    if !failures.is_empty() {
        bail!(
            "{} errors in the documents: correct the links and includes above",
            failures.len()
        );
    }
    println!("all links and includes of the documents exist");
    Ok(())
}

/// Returns the errors of all pages below a folder with a `SUMMARY.md`.
fn check_book(book: &Path) -> anyhow::Result<Vec<String>> {
    let mut failures = Vec::new();
    let summary = book.join("SUMMARY.md");
    let listed: BTreeSet<_> = links(&read(&summary)?)
        .into_iter()
        .map(|(_, target)| normalized(&book.join(target)))
        .collect();
    for page in pages(book)? {
        if page != summary && !listed.contains(&page) {
            failures.push(format!("{}: SUMMARY.md does not list this page", page.display()));
        }
        check_page(&page, book, &mut failures)?;
    }
    Ok(failures)
}

/// Checks one page; its links must stay below `root`.
fn check_page(page: &Path, root: &Path, failures: &mut Vec<String>) -> anyhow::Result<()> {
    let text = read(page)?;
    let folder = page.parent().context("a page has a folder")?;
    let is_of_book = root.ends_with("docs/src");
    let mut fail =
        |line: usize, message: String| failures.push(format!("{}:{line}: {message}", page.display()));
    for (line, target) in links(&text) {
        if let Err(error) = check_link(page, root, &target) {
            fail(line, format!("link `{target}`: {error:#}"));
        }
    }
    // The language of the block of code, if the code must be included.
    let mut included_language = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(info) = line.strip_prefix("```") {
            let language = info
                .split([',', ' '])
                .next()
                .filter(|name| INCLUDED_LANGUAGES.contains(name));
            included_language = language.filter(|_| is_of_book);
            continue;
        }
        if let Some(target) = include(line) {
            match included(folder, target) {
                Err(error) => fail(number + 1, format!("include `{target}`: {error:#}")),
                // What an included page links to is looked for from here.
                Ok(text) if target.contains(".md") => {
                    for (_, link) in links(&text) {
                        if let Err(error) = check_link(page, root, &link) {
                            fail(number + 1, format!("link `{link}` in `{target}`: {error:#}"));
                        }
                    }
                }
                Ok(_) => {}
            }
        } else if let Some(language) = included_language {
            fail(
                number + 1,
                format!("{language} code in the book must be included from a file that is built or tested"),
            );
        }
    }
    Ok(())
}

/// Returns the target of a line that is an include of mdBook.
fn include(line: &str) -> Option<&str> {
    let directive = line.strip_prefix("{{#")?.strip_suffix("}}")?;
    let (name, target) = directive.split_once(' ')?;
    ["include", "rustdoc_include"]
        .contains(&name)
        .then_some(target.trim())
}

/// Returns the text of `path` or `path:anchor`.
fn included(folder: &Path, target: &str) -> anyhow::Result<String> {
    let (path, anchor) = target
        .split_once(':')
        .map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let text = read(&folder.join(path))?;
    let Some(anchor) = anchor else { return Ok(text) };
    // In Markdown the marker is a comment.
    let is_marked = |line: &str, marker: &str| {
        let line = line.trim_end();
        let line = line.strip_suffix("-->").unwrap_or(line).trim_end();
        line.ends_with(&format!("{marker}: {anchor}"))
    };
    let lines: Vec<&str> = text.lines().collect();
    let place = |marker: &str| lines.iter().position(|line| is_marked(line, marker));
    match (place("ANCHOR"), place("ANCHOR_END")) {
        (Some(start), Some(end)) if start < end => Ok(lines[start + 1..end].join("\n")),
        _ => bail!("the file has no `ANCHOR: {anchor}` with its `ANCHOR_END`"),
    }
}

/// Checks a link to a file, a heading, or both.
fn check_link(page: &Path, root: &Path, target: &str) -> anyhow::Result<()> {
    if let Some(path) = REPOSITORY_LINKS
        .iter()
        .find_map(|start| target.strip_prefix(start))
    {
        // The book is two folders below the repository's root.
        let repository = if root.ends_with("docs/src") {
            root.join("../..")
        } else {
            root.to_owned()
        };
        let repository = normalized(&repository);
        return check_link(&repository.join("README.md"), &repository, path);
    }
    if target.contains("://") {
        return Ok(());
    }
    let (path, fragment) = target
        .split_once('#')
        .map_or((target, None), |(path, part)| (path, Some(part)));
    let file = if path.is_empty() {
        page.to_owned()
    } else {
        normalized(&page.with_file_name(path))
    };
    if !file.exists() {
        bail!("the file does not exist");
    }
    if !file.starts_with(root) {
        bail!("the book does not contain the file: link to the repository on the web");
    }
    let Some(fragment) = fragment else { return Ok(()) };
    if file.extension().is_none_or(|extension| extension != "md") {
        bail!("the fragment of a file that is not Markdown cannot be checked: link to the file");
    }
    let headings = headings(&read(&file)?);
    if !headings.contains(fragment) {
        let headings: Vec<_> = headings.into_iter().collect();
        bail!("there is no such heading; headings: {}", headings.join(", "));
    }
    Ok(())
}

/// Returns the targets of the links of a page, with their lines, without those in code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Every second piece is code.
        let line: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for rest in line.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                found.push((number, target.to_owned()));
            }
        }
    }
    found
}

/// Returns the identifiers of the headings, as mdBook makes them.
fn headings(text: &str) -> BTreeSet<String> {
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').strip_prefix(' ')?;
        let characters = title.trim().chars().filter_map(|character| match character {
            ' ' => Some('-'),
            '-' | '_' => Some(character),
            other if other.is_alphanumeric() => Some(other.to_ascii_lowercase()),
            _ => None,
        });
        Some(characters.collect())
    };
    prose(text)
        .filter(|(_, line)| line.starts_with('#'))
        .filter_map(|(_, line)| heading(line))
        .collect()
}

/// Returns the lines outside of code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        (!in_code && !is_fence).then_some((number + 1, line))
    })
}

/// Returns the pages below a folder.
fn pages(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            pages.extend(self::pages(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    Ok(pages)
}

/// Resolves `..` without the file system.
fn normalized(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

#[cfg(test)]
#[path = "check_book_tests.rs"]
mod tests;
