//! Facts about fields that are only in the Go source, not in the OpenAPI documents: pointers, omission of empty values, and the names of
//! types.

use anyhow::Context;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

/// The fields of the structs of a package, by struct and JSON name.
pub(crate) type Structs = HashMap<String, BTreeMap<String, GoField>>;

/// The facts about a field.
#[derive(Clone, Default)]
pub(crate) struct GoField {
    /// Space-separated flags, such as `pointer omitempty`.
    pub(crate) flags: String,
    /// The type as Go's messages print it, such as `[]v1.Container`.
    pub(crate) ty: String,
    /// The inlined structs that contain the field, which messages name, such as `VolumeSource`.
    pub(crate) inlined_in: String,
    /// The line in its file, after those of the inlined structs that contain the field: Go encodes the fields in this order.
    pub(crate) order: Vec<usize>,
}

/// Parses the Go files of a package.
pub(crate) fn parse_package(folder: &Path) -> anyhow::Result<Structs> {
    let mut structs = Structs::new();
    let mut inlined: Vec<(String, String, usize)> = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "go") {
            parse_structs(&fs::read_to_string(&path)?, &mut structs, &mut inlined);
        }
    }
    // Inlined structs may inline others.
    for _ in 0..3 {
        for (outer, inner, line) in &inlined {
            let mut fields = structs.get(inner).cloned().unwrap_or_default();
            for field in fields.values_mut() {
                let dot = if field.inlined_in.is_empty() { "" } else { "." };
                field.inlined_in = format!("{inner}{dot}{}", field.inlined_in);
                field.order.insert(0, *line);
            }
            structs.entry(outer.clone()).or_default().extend(fields);
        }
    }
    Ok(structs)
}

fn parse_structs(source: &str, structs: &mut Structs, inlined: &mut Vec<(String, String, usize)>) {
    let mut current: Option<String> = None;
    let package = source.lines().find_map(|line| line.strip_prefix("package "));
    let package = package.unwrap_or_default().trim();
    for (number, line) in source.lines().enumerate() {
        if let Some(name) = line
            .strip_prefix("type ")
            .and_then(|rest| rest.strip_suffix(" struct {"))
        {
            current = Some(name.to_owned());
        } else if line == "}" {
            current = None;
        }
        let (Some(name), Some((declaration, tag))) = (&current, line.split_once("`json:\"")) else {
            continue;
        };
        let Some((tag, _)) = tag.split_once('"') else {
            continue;
        };
        let words: Vec<&str> = declaration.split_whitespace().collect();
        let mut options = tag.split(',');
        let field = options.next().unwrap_or_default();
        let options: Vec<&str> = options.collect();
        match *words {
            ["metav1.TypeMeta"] => {
                let fields = structs.entry(name.clone()).or_default();
                let type_meta_field = |at| GoField {
                    flags: "omitempty".to_owned(),
                    ty: "string".to_owned(),
                    inlined_in: "TypeMeta".to_owned(),
                    order: vec![number, at],
                };
                fields.insert("kind".to_owned(), type_meta_field(0));
                fields.insert("apiVersion".to_owned(), type_meta_field(1));
            }
            [inner] if field.is_empty() && options.contains(&"inline") => {
                inlined.push((name.clone(), inner.trim_start_matches('*').to_owned(), number));
            }
            // An embedded struct with a JSON name has no field name.
            [ty] | [_, ty, ..] => {
                let pointer = ty.starts_with('*').then_some("pointer");
                let omit_options = options.into_iter().filter(|option| option.starts_with("omit"));
                let flags: Vec<&str> = pointer.into_iter().chain(omit_options).collect();
                let field_facts = GoField {
                    flags: flags.join(" "),
                    ty: type_in_messages(ty.trim_start_matches('*'), package),
                    order: vec![number],
                    ..GoField::default()
                };
                structs
                    .entry(name.clone())
                    .or_default()
                    .insert(field.to_owned(), field_facts);
            }
            _ => {}
        }
    }
}

/// Formats a type as Go's messages print it.
fn type_in_messages(ty: &str, package: &str) -> String {
    for prefix in ["*", "[]"] {
        if let Some(inner) = ty.strip_prefix(prefix) {
            return format!("{prefix}{}", type_in_messages(inner, package));
        }
    }
    if let Some((key, inner)) = ty.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        return format!(
            "map[{}]{}",
            type_in_messages(key, package),
            type_in_messages(inner, package)
        );
    }
    match ty.split_once('.') {
        // Versioned packages are imported under other names.
        Some((alias, name)) if alias.ends_with("v1") => format!("v1.{name}"),
        None if ty == "byte" => "uint8".to_owned(),
        None if ty.starts_with(char::is_uppercase) => format!("{package}.{ty}"),
        _ => ty.to_owned(),
    }
}
