//! Declarations: modules, exports, imports.

use std::ops::Range;

use syn::{Item, UseTree};

use super::{InsertError, insertion::Source};

/// `pub mod <module>;`
pub fn declare_module(text: &str, module: &str) -> Result<String, InsertError> {
    let source = Source::parse(text)?;
    let modules = source.file.items.iter().filter_map(|item| match item {
        Item::Mod(item) => Some((item.ident.to_string(), source.range(item), item.content.is_none())),
        _ => None,
    });
    let modules: Vec<_> = modules.collect();
    if modules.iter().any(|(name, ..)| name == module) {
        return Ok(text.to_owned());
    }
    // Modules with a body are something else: a prelude, tests.
    let siblings: Vec<_> = modules
        .into_iter()
        .filter(|(.., is_file)| *is_file)
        .map(|(name, range, _)| (name, range))
        .collect();
    let line = format!("pub mod {module};");
    let result = if siblings.is_empty() {
        at_the_top(&source, &line)
    } else {
        among(&source, &siblings, module, &line)
    };
    result.ok_or(InsertError::NoPlace {
        lacks: "no place was found for a module",
        line,
    })
}

/// `pub use super::<module>::*;` in `mod prelude`.
pub fn export_in_prelude(text: &str, module: &str) -> Result<String, InsertError> {
    let source = Source::parse(text)?;
    let line = format!("pub use super::{module}::*;");
    let prelude = source.file.items.iter().find_map(|item| match item {
        Item::Mod(item) if item.ident == "prelude" => item.content.as_ref(),
        _ => None,
    });
    let no_place = || InsertError::NoPlace {
        lacks: "there is no `mod prelude { … }`",
        line: format!("pub mod prelude {{ {line} }}"),
    };
    let (brace, items) = prelude.ok_or_else(no_place)?;
    let siblings: Vec<_> = uses(&source, items)
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
        among(&source, &siblings, &path, &line)
    };
    result.ok_or_else(no_place)
}

/// `pub use <module>::<Kind>Controller;`
pub fn export_controller(text: &str, module: &str, kind: &str) -> Result<String, InsertError> {
    let source = Source::parse(text)?;
    let path = format!("{module}::{kind}Controller");
    let all: Vec<_> = uses(&source, &source.file.items).collect();
    let names =
        |found: &str| found == path || found == format!("self::{path}") || found == format!("{module}::*");
    if all.iter().any(|(found, _)| names(found)) {
        return Ok(text.to_owned());
    }
    let line = format!("pub use {path};");
    let siblings: Vec<_> = all
        .into_iter()
        .filter(|(found, _)| found.ends_with("Controller"))
        .collect();
    let result = if siblings.is_empty() {
        below_modules(&source, &line)
    } else {
        among(&source, &siblings, &path, &line)
    };
    result.ok_or(InsertError::NoPlace {
        lacks: "no place was found for an export",
        line,
    })
}

/// `use <crate>::controllers::<Kind>Controller;`
pub fn import_controller(text: &str, crate_name: &str, kind: &str) -> Result<String, InsertError> {
    let source = Source::parse(text)?;
    let prefix = format!("{crate_name}::controllers::");
    let path = format!("{prefix}{kind}Controller");
    let all: Vec<_> = uses(&source, &source.file.items).collect();
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
        at_the_top(&source, &line)
    } else {
        among(&source, &siblings, &path, &line)
    };
    result.ok_or(InsertError::NoPlace {
        lacks: "no place was found for an import",
        line,
    })
}

/// The paths that `use` items name, each with its whole item.
fn uses<'a>(source: &'a Source<'_>, items: &'a [Item]) -> impl Iterator<Item = (String, Range<usize>)> + 'a {
    items.iter().flat_map(|item| {
        let mut paths = Vec::new();
        if let Item::Use(item) = item {
            flatten(&item.tree, "", &mut paths);
        }
        let range = source.range(item);
        paths.into_iter().map(move |path| (path, range.clone()))
    })
}

fn flatten(tree: &UseTree, prefix: &str, paths: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &format!("{prefix}{}::", path.ident), paths),
        UseTree::Name(name) => paths.push(format!("{prefix}{}", name.ident)),
        // What is called otherwise here is not there under its own name.
        UseTree::Rename(rename) => paths.push(format!("{prefix}{} as {}", rename.ident, rename.rename)),
        UseTree::Glob(_) => paths.push(format!("{prefix}*")),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, paths)),
    }
}

/// Among its like: in order where they are in order, else behind the last.
fn among(source: &Source<'_>, siblings: &[(String, Range<usize>)], key: &str, line: &str) -> Option<String> {
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
        // Something else stands before it on its line.
        .or_else(|| source.insert(first.start, &format!("{line} ")))
}

/// Behind the modules that are files, with a line between; at the top where there are none.
fn below_modules(source: &Source<'_>, line: &str) -> Option<String> {
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
        None => at_the_top(source, line),
    }
}

/// Before the first item; at the end of a file without items.
fn at_the_top(source: &Source<'_>, line: &str) -> Option<String> {
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
    fn modules_stand_in_order() {
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
    fn preludes_and_exports() {
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

        let edit = |text| export_controller(text, "bar", "Bar").unwrap();
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
    fn imports() {
        let edit = |text| import_controller(text, "shop", "Bar").unwrap();
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
    fn broken_rust_is_named_by_line() {
        let error = declare_module("pub mod foo;\nfn (\n", "bar").unwrap_err();
        assert!(matches!(error, InsertError::Syntax { line: 2, .. }), "{error}");
    }
}
