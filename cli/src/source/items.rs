//! Inserts declarations: modules, exports, imports.

use std::ops::Range;

use syn::{Item, UseTree};

use super::{InsertError, insertion::SourceText};

/// Inserts `pub mod <module>;`.
pub fn declare_module(text: &str, module: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let modules = source.file.items.iter().filter_map(|item| match item {
        Item::Mod(item) => Some((item.ident.to_string(), source.range(item), item.content.is_none())),
        _ => None,
    });
    let modules: Vec<_> = modules.collect();
    if modules.iter().any(|(name, ..)| name == module) {
        return Ok(text.to_owned());
    }
    // Sort among file modules only; inline modules are preludes or tests.
    let siblings: Vec<_> = modules
        .into_iter()
        .filter(|(.., is_file)| *is_file)
        .map(|(name, range, _)| (name, range))
        .collect();
    let line = format!("pub mod {module};");
    let result = if siblings.is_empty() {
        insert_at_top(&source, &line)
    } else {
        insert_sorted(&source, &siblings, module, &line)
    };
    result.ok_or(InsertError::NoInsertionPoint {
        reason: "found no place to insert a module",
        line,
    })
}

/// Inserts `pub use super::<module>::*;` into `mod prelude`.
pub fn export_in_prelude(text: &str, module: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let line = format!("pub use super::{module}::*;");
    let prelude = source.file.items.iter().find_map(|item| match item {
        Item::Mod(item) if item.ident == "prelude" => item.content.as_ref(),
        _ => None,
    });
    let no_place = || InsertError::NoInsertionPoint {
        reason: "found no `mod prelude { … }`",
        line: format!("pub mod prelude {{ {line} }}"),
    };
    let (brace, items) = prelude.ok_or_else(no_place)?;
    let siblings: Vec<_> = imported_paths(&source, items)
        .filter(|(path, _)| path.starts_with("super::"))
        .collect();
    let path = format!("super::{module}::*");
    if siblings
        .iter()
        .any(|(found, _)| *found == path || found.starts_with(&format!("super::{module}::")))
    {
        return Ok(text.to_owned());
    }
    let result = if siblings.is_empty() {
        let open = source.range(&brace.span.open()).end;
        let newline = source.newline();
        source.insert(open, &format!("{newline}    {line}{newline}"))
    } else {
        insert_sorted(&source, &siblings, &path, &line)
    };
    result.ok_or_else(no_place)
}

/// Inserts `pub use <module>::<name>;`, beside those of other modules of the file.
pub fn export_type(text: &str, module: &str, name: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let path = format!("{module}::{name}");
    let all: Vec<_> = imported_paths(&source, &source.file.items).collect();
    let names =
        |found: &str| found == path || found == format!("self::{path}") || found == format!("{module}::*");
    if all.iter().any(|(found, _)| names(found)) {
        return Ok(text.to_owned());
    }
    let line = format!("pub use {path};");
    let is_module = |name: &str| {
        let mut items = source.file.items.iter();
        items.any(|item| matches!(item, Item::Mod(item) if item.content.is_none() && item.ident == name))
    };
    let siblings: Vec<_> = all
        .into_iter()
        .filter(|(found, _)| found.split_once("::").is_some_and(|(first, _)| is_module(first)))
        .collect();
    let result = if siblings.is_empty() {
        insert_below_modules(&source, &line)
    } else {
        insert_sorted(&source, &siblings, &path, &line)
    };
    result.ok_or(InsertError::NoInsertionPoint {
        reason: "found no place to insert an export",
        line,
    })
}

/// Inserts `use <module>::<name>;`, beside those of the same module.
pub fn import_type(text: &str, module: &str, name: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let prefix = format!("{module}::");
    let path = format!("{prefix}{name}");
    let all: Vec<_> = imported_paths(&source, &source.file.items).collect();
    if all
        .iter()
        .any(|(found, _)| *found == path || *found == format!("{prefix}*"))
    {
        return Ok(text.to_owned());
    }
    let line = format!("use {path};");
    let siblings: Vec<_> = all
        .iter()
        .filter(|(found, _)| found.starts_with(&prefix))
        .cloned()
        .collect();
    let result = if let Some((_, last)) = all.last().filter(|_| siblings.is_empty()) {
        source.insert_line_after(last.end, &line)
    } else if siblings.is_empty() {
        insert_at_top(&source, &line)
    } else {
        insert_sorted(&source, &siblings, &path, &line)
    };
    result.ok_or(InsertError::NoInsertionPoint {
        reason: "found no place to insert an import",
        line,
    })
}

/// Returns the paths that are imported by `use` items, each with the range of its item.
pub(super) fn imported_paths<'a>(
    source: &'a SourceText<'_>,
    items: &'a [Item],
) -> impl Iterator<Item = (String, Range<usize>)> + 'a {
    items.iter().flat_map(|item| {
        let mut paths = Vec::new();
        if let Item::Use(item) = item {
            flatten(&item.tree, "", &mut paths);
        }
        let range = source.range(item);
        paths.into_iter().map(move |path| (path, range.clone()))
    })
}

pub(super) fn flatten(tree: &UseTree, prefix: &str, paths: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &format!("{prefix}{}::", path.ident), paths),
        UseTree::Name(name) => paths.push(format!("{prefix}{}", name.ident)),
        // A renamed import does not make the original name available.
        UseTree::Rename(rename) => paths.push(format!("{prefix}{} as {}", rename.ident, rename.rename)),
        UseTree::Glob(_) => paths.push(format!("{prefix}*")),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, paths)),
    }
}

/// Inserts a line among its siblings: in order if they are sorted, otherwise after the last.
fn insert_sorted(
    source: &SourceText<'_>,
    siblings: &[(String, Range<usize>)],
    key: &str,
    line: &str,
) -> Option<String> {
    let smaller = siblings
        .iter()
        .take_while(|(sibling, _)| sibling.as_str() < key)
        .last();
    let anchor = if siblings.is_sorted_by(|(a, _), (b, _)| a <= b) {
        smaller
    } else {
        siblings.last()
    };
    if let Some((_, range)) = anchor {
        let indent = source.indentation(range.start);
        return source.insert_line_after(range.end, &format!("{indent}{line}"));
    }
    let (_, first) = siblings.first()?;
    let indent = source.indentation(first.start);
    source
        .insert_line_before(first.start, &format!("{indent}{line}"))
        // Other text precedes the sibling on its line.
        .or_else(|| source.insert(first.start, &format!("{line} ")))
}

/// Inserts a line below the file modules, after a blank line; at the top if there are none.
fn insert_below_modules(source: &SourceText<'_>, line: &str) -> Option<String> {
    let mut modules = source
        .file
        .items
        .iter()
        .filter(|item| matches!(item, Item::Mod(item) if item.content.is_none()));
    match modules.next_back() {
        Some(last) => {
            let line = format!("{}{line}", source.newline());
            source.insert_line_after(source.range(last).end, &line)
        }
        None => insert_at_top(source, line),
    }
}

/// Inserts a line before the first item; at the end of a file without items.
fn insert_at_top(source: &SourceText<'_>, line: &str) -> Option<String> {
    let newline = source.newline();
    match source.file.items.first() {
        Some(first) => source.insert_line_before(source.range(first).start, &format!("{line}{newline}")),
        None => source.insert(source.text.len(), &format!("{newline}{line}{newline}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_inserted_in_order() {
        let edit = |text| declare_module(text, "bar").unwrap();
        assert_eq!(edit("pub mod foo;\n"), "pub mod bar;\npub mod foo;\n");
        assert_eq!(
            edit("pub mod aaa; // first\npub mod foo;\n"),
            "pub mod aaa; // first\npub mod bar;\npub mod foo;\n"
        );
        assert_eq!(
            edit("pub mod zoo;\npub mod aaa;\n"),
            "pub mod zoo;\npub mod aaa;\npub mod bar;\n"
        );
        assert_eq!(
            edit("//! Doc.\n\n// About foo.\npub mod foo;\n"),
            "//! Doc.\n\npub mod bar;\n// About foo.\npub mod foo;\n"
        );
        assert_eq!(edit("//! Doc.\n"), "//! Doc.\n\npub mod bar;\n");
        assert_eq!(
            edit("pub mod prelude {}\n"),
            "pub mod bar;\n\npub mod prelude {}\n"
        );
        assert_eq!(edit("mod bar;\n"), "mod bar;\n");
    }

    #[test]
    fn exports_are_inserted_in_preludes_and_modules() {
        let edit = |text| export_in_prelude(text, "bar").unwrap();
        assert_eq!(
            edit("pub mod prelude {\n    pub use super::foo::*;\n}\n"),
            "pub mod prelude {\n    pub use super::bar::*;\n    pub use super::foo::*;\n}\n"
        );
        assert_eq!(
            edit("pub mod prelude {}\n"),
            "pub mod prelude {\n    pub use super::bar::*;\n}\n"
        );
        let error = export_in_prelude("pub mod foo;\n", "bar").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("pub mod prelude { pub use super::bar::*; }"),
            "{error}"
        );

        let edit = |text| export_type(text, "bar", "BarController").unwrap();
        assert_eq!(
            edit("pub mod foo;\n\npub use foo::FooController;\n"),
            "pub mod foo;\n\npub use bar::BarController;\npub use foo::FooController;\n"
        );
        assert_eq!(
            edit("pub mod foo;\n"),
            "pub mod foo;\n\npub use bar::BarController;\n"
        );
        assert_eq!(edit("pub use bar::*;\n"), "pub use bar::*;\n");
    }

    #[test]
    fn imports_are_inserted_in_order() {
        let edit = |text| import_type(text, "shop::controllers", "BarController").unwrap();
        assert_eq!(
            edit("use a::b;\n\nuse shop::controllers::FooController;\n"),
            "use a::b;\n\nuse shop::controllers::BarController;\nuse shop::controllers::FooController;\n"
        );
        let grouped = "use shop::{api, controllers::{FooController, BarController}};\n";
        assert_eq!(edit(grouped), grouped);
        assert_eq!(
            edit("use a::b;\nfn main() {}\n"),
            "use a::b;\nuse shop::controllers::BarController;\nfn main() {}\n"
        );
        assert_eq!(
            edit("fn main() {}\n"),
            "use shop::controllers::BarController;\n\nfn main() {}\n"
        );
    }

    #[test]
    fn syntax_errors_have_a_line_number() {
        let error = declare_module("pub mod foo;\nfn (\n", "bar").unwrap_err();
        assert!(matches!(error, InsertError::Syntax { line: 2, .. }), "{error}");
    }
}
