//! Edits the file of a kind's version: sets its version, and derives its conversion to the hub.

use syn::{Attribute, Item, ItemStruct};

use super::{InsertError, attributes, converted_types::ConvertedTypes, insertion::SourceText, kinds};

/// Returns the text with another version in `#[kube(version = …)]` of the kind.
pub fn set_version(text: &str, kind: &str, version: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let item = kind_struct(&source, kind)?;
    let literals = attributes::kube_literals(&item.attrs).into_iter();
    let literals = literals.filter(|(key, _)| key == "version");
    let edits = literals.map(|(_, literal)| (source.range(&literal), format!("{version:?}")));
    Ok(source.replace(edits.collect()))
}

/// Returns the text of a version that is no longer the hub: its spec, its status, and the file's types in them derive `Convert` with the types
/// of the hub, and the API server warns its clients.
pub fn derive_conversion(text: &str, kind: &str, hub: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let item = kind_struct(&source, kind)?;
    let types = ConvertedTypes::of(&source, item);
    let newline = source.newline();
    let mut edits = Vec::new();
    let mut insert_below = |attribute: &Attribute, lines: &[String]| {
        let range = source.range(attribute);
        let (indent, end) = (source.indentation(range.start), source.end_of_line(range.end));
        let lines: Vec<String> = lines
            .iter()
            .map(|line| format!("{newline}{indent}{line}"))
            .collect();
        edits.push((end..end, lines.concat()));
    };
    for (name, attributes) in types.converted.iter().filter_map(|name| types.attributes(name)) {
        let derive = attributes
            .iter()
            .rfind(|attribute| attribute.path().is_ident("derive"));
        if let Some(derive) = derive.filter(|_| !attributes::derives(attributes, "Convert")) {
            let hub = format!("#[convert(hub = super::{hub}::{name})]");
            insert_below(derive, &["#[derive(kubewright::Convert)]".to_owned(), hub]);
        }
    }
    let is_deprecated = is_deprecated(&item.attrs);
    let kube = item
        .attrs
        .iter()
        .rfind(|attribute| attribute.path().is_ident("kube"));
    if let (Some(kube), Some(found), false) = (kube, kinds::kind(item), is_deprecated) {
        let note = deprecation(&found.group, &found.version, kind, hub);
        insert_below(kube, &[format!("#[kube(deprecated = {note:?})]")]);
    }
    Ok(source.replace(edits))
}

/// Returns the text of a version that is not the hub, after the hub changed from `old` to `new`.
pub fn change_hub(text: &str, kind: &str, old: &str, new: &str) -> Result<String, InsertError> {
    let text = super::rename_module(text, old, new)?;
    let source = SourceText::parse(&text)?;
    let item = kind_struct(&source, kind)?;
    let Some(found) = kinds::kind(item) else {
        return Ok(text);
    };
    let note = |hub| deprecation(&found.group, &found.version, kind, hub);
    let literals = attributes::kube_literals(&item.attrs).into_iter();
    let literals = literals.filter(|(key, literal)| key == "deprecated" && literal.value() == note(old));
    let edits = literals.map(|(_, literal)| (source.range(&literal), format!("{:?}", note(new))));
    Ok(source.replace(edits.collect()))
}

/// Returns what `derive(Convert)` cannot convert in a version's file, each with its line.
pub fn unconverted(text: &str, kind: &str) -> Result<Vec<(usize, String)>, InsertError> {
    let source = SourceText::parse(text)?;
    let item = kind_struct(&source, kind)?;
    Ok(ConvertedTypes::of(&source, item).problems)
}

/// Returns the line of the first module in the file that is a file of its own: such a file must move with it.
pub fn file_module(text: &str) -> Result<Option<(usize, String)>, InsertError> {
    let source = SourceText::parse(text)?;
    let modules = source.file.items.iter().filter_map(|item| match item {
        Item::Mod(item) if item.content.is_none() => {
            Some((item.ident.span().start().line, item.ident.to_string()))
        }
        _ => None,
    });
    Ok(modules.into_iter().next())
}

fn kind_struct<'a>(source: &'a SourceText<'_>, kind: &str) -> Result<&'a ItemStruct, InsertError> {
    let mut structs = source.file.items.iter().filter_map(|item| match item {
        Item::Struct(item) => Some(item),
        _ => None,
    });
    let is_kind = |item: &&ItemStruct| kinds::kind(item).is_some_and(|found| found.kind == kind);
    structs.find(is_kind).ok_or(InsertError::NoInsertionPoint {
        reason: "found the kind only in an inline module: move it to the top of the file",
        line: format!("#[kube(…, kind = {kind:?})]"),
    })
}

fn is_deprecated(attributes: &[Attribute]) -> bool {
    let mut found = false;
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("kube"))
    {
        // Ignore errors: kube-derive reports them.
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("deprecated");
            if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            } else if meta.input.peek(syn::token::Paren) {
                meta.parse_nested_meta(|_| Ok(()))?;
            }
            Ok(())
        });
    }
    found
}

fn deprecation(group: &str, version: &str, kind: &str, hub: &str) -> String {
    format!("{group}/{version} {kind} is deprecated: use {hub}")
}

#[cfg(test)]
#[path = "old_version_tests.rs"]
mod tests;
