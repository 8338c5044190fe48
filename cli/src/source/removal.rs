//! Removes what `items` and `manager_calls` insert: declarations, exports, imports and registrations.

use std::ops::Range;

use syn::{
    Expr, ExprMethodCall, Item, Stmt, UseTree,
    spanned::Spanned as _,
    visit::{self, Visit},
};

use super::{
    InsertError, ProjectItems, imported_names::ImportedNames, insertion::SourceText, items::flatten,
};

/// Removes the declaration of a file module, and what the file imports or exports of it; in inline modules by `super`, too.
pub fn remove_module(text: &str, module: &str) -> Result<String, InsertError> {
    let text = remove_imports(text, &|path| {
        let path = path.strip_prefix("self::").unwrap_or(path);
        path.split("::").next() == Some(module)
    })?;
    let is_module =
        |item: &Item| matches!(item, Item::Mod(item) if item.ident == module && item.content.is_none());
    let source = SourceText::parse(&text)?;
    let item = source.file.items.iter().find(|item| is_module(item));
    Ok(item.map_or_else(|| text.clone(), |item| remove_line(&source, source.range(item))))
}

/// Removes the imports and the registrations of a type of the project.
pub fn unregister(text: &str, project: ProjectItems<'_>, name: &str) -> Result<String, InsertError> {
    let imports = ImportedNames::of(&SourceText::parse(text)?.file, project);
    let mut text = remove_imports(text, &|path| {
        path.rsplit("::").next() == Some(name) && imports.is_own_import(path)
    })?;
    loop {
        let source = SourceText::parse(&text)?;
        let mut calls = Registrations {
            source: &source,
            imports: &imports,
            name,
            range: None,
        };
        calls.visit_file(&source.file);
        let Some(range) = calls.range else {
            return Ok(text);
        };
        text = remove_line(&source, range);
    }
}

/// Removes the imported paths for which `is_removed`. Those of inline modules are without their `super::`.
pub(super) fn remove_imports(text: &str, is_removed: &dyn Fn(&str) -> bool) -> Result<String, InsertError> {
    let mut text = text.to_owned();
    loop {
        let source = SourceText::parse(&text)?;
        let Some(edited) = remove_import(&source, is_removed) else {
            return Ok(text);
        };
        text = edited;
    }
}

/// Removes the first import with such paths.
fn remove_import(source: &SourceText<'_>, is_removed: &dyn Fn(&str) -> bool) -> Option<String> {
    let is_below = |path: &str| path.strip_prefix("super::").is_some_and(is_removed);
    for item in &source.file.items {
        match item {
            Item::Use(import) => {
                if let Some(range) = removed_range(source, &import.tree, "", is_removed) {
                    return Some(remove_range(source, source.range(item), range));
                }
            }
            Item::Mod(module) => {
                let Some((brace, items)) = &module.content else {
                    continue;
                };
                let imports = items.iter().filter_map(|item| match item {
                    Item::Use(import) => Some((item, &import.tree)),
                    _ => None,
                });
                for (item, tree) in imports {
                    let Some(range) = removed_range(source, tree, "", &is_below) else {
                        continue;
                    };
                    if range.is_none() && items.len() == 1 {
                        let item = source.range(item);
                        let [open, close] =
                            [brace.span.open(), brace.span.close()].map(|span| source.range(&span));
                        let around = [open.end..item.start, item.end..close.start];
                        if around
                            .into_iter()
                            .all(|range| source.text[range].trim().is_empty())
                        {
                            return Some(source.replace(vec![(open.end..close.start, String::new())]));
                        }
                    }
                    return Some(remove_range(source, source.range(item), range));
                }
            }
            _ => {}
        }
    }
    None
}

fn remove_range(source: &SourceText<'_>, item: Range<usize>, range: Option<Range<usize>>) -> String {
    match range {
        Some(range) => source.replace(vec![(range, String::new())]),
        None => remove_line(source, item),
    }
}

/// Returns what to remove of a tree: none if nothing, `Some(None)` if all of it.
#[expect(clippy::option_option, reason = "nothing, all of it, or a range")]
fn removed_range(
    source: &SourceText<'_>,
    tree: &UseTree,
    prefix: &str,
    is_removed: &dyn Fn(&str) -> bool,
) -> Option<Option<Range<usize>>> {
    let mut paths = Vec::new();
    flatten(tree, prefix, &mut paths);
    if !paths.iter().any(|path| is_removed(path)) {
        return None;
    }
    if paths.iter().all(|path| is_removed(path)) {
        return Some(None);
    }
    match tree {
        UseTree::Path(path) => {
            let prefix = format!("{prefix}{}::", path.ident);
            removed_range(source, &path.tree, &prefix, is_removed)
        }
        UseTree::Group(group) => {
            let items: Vec<&UseTree> = group.items.iter().collect();
            let found = items
                .iter()
                .enumerate()
                .find_map(|(at, item)| Some((at, removed_range(source, item, prefix, is_removed)?)));
            let (at, range) = found?;
            Some(range.or_else(|| {
                let item = source.range(items[at]);
                // With the comma that separates it from the next, or from the one before.
                match (items.get(at + 1), at.checked_sub(1)) {
                    (Some(next), _) => Some(item.start..source.range(next).start),
                    (None, Some(before)) => Some(source.range(items[before]).end..item.end),
                    (None, None) => Some(item),
                }
            }))
        }
        UseTree::Name(_) | UseTree::Rename(_) | UseTree::Glob(_) => None,
    }
}

/// Removes a node, with its line if nothing else is on it, and with one of the blank lines around it.
pub(super) fn remove_line(source: &SourceText<'_>, range: Range<usize>) -> String {
    let text = source.text;
    let newline = |text: &str| match text.as_bytes() {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => 0,
    };
    let mut start = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
    let mut end = source.end_of_line(range.end);
    let is_line =
        text[start..range.start].trim().is_empty() && (end == text.len() || newline(&text[end..]) > 0);
    if !is_line {
        let blank = usize::from(text[range.end..].starts_with(' '));
        return source.replace(vec![(range.start..range.end + blank, String::new())]);
    }
    let is_unterminated = end == text.len();
    end += newline(&text[end..]);
    let below = newline(&text[end..]);
    // The text above, without its last line break.
    let above = text[..start].strip_suffix('\n');
    match above.map(|above| above.strip_suffix('\r').unwrap_or(above)) {
        None => end += below,
        Some(above) => {
            let is_blank_above = above.is_empty() || above.ends_with('\n');
            if is_unterminated || (is_blank_above && (below > 0 || end == text.len())) {
                start = above.len();
            }
        }
    }
    source.replace(vec![(start..end, String::new())])
}

/// Finds `.register(<name>::register)`.
struct Registrations<'a> {
    source: &'a SourceText<'a>,
    /// Those of the text with the type's import.
    imports: &'a ImportedNames<'a>,
    name: &'a str,
    range: Option<Range<usize>>,
}

impl Registrations<'_> {
    fn is_registration(&self, call: &ExprMethodCall) -> bool {
        let Some(Expr::Path(argument)) = call.args.first() else {
            return false;
        };
        let path: Vec<_> = argument
            .path
            .segments
            .iter()
            .map(|segment| segment.ident.clone())
            .collect();
        let [path @ .., ty, function] = &*path else {
            return false;
        };
        let is_own = match path {
            [] => self.imports.is_own_type(self.name, false),
            path => self.imports.is_own_path(path),
        };
        call.method == "register"
            && call.args.len() == 1
            && function == "register"
            && ty == self.name
            && is_own
    }
}

impl<'ast> Visit<'ast> for Registrations<'_> {
    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(Expr::MethodCall(call), Some(_)) = statement
            && matches!(*call.receiver, Expr::Path(_))
            && self.is_registration(call)
        {
            self.range = Some(self.source.range(statement));
        } else {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if self.is_registration(call) {
            let dot = self.source.range(&call.dot_token).start;
            self.range = Some(dot..self.source.range(&call.span()).end);
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
#[path = "removal_tests.rs"]
mod tests;
