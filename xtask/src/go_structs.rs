//! What the Go source says of a type's fields and the OpenAPI does not: which are pointers, which are left out when they are empty, and
//! what their types are called.

use anyhow::Context;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

/// The fields of the structs of one package: by struct and name in JSON.
pub(crate) type Structs = HashMap<String, BTreeMap<String, GoField>>;

/// What is known of a field.
#[derive(Clone, Default)]
pub(crate) struct GoField {
    /// Such as `pointer omitempty`.
    pub(crate) facts: String,
    /// Its type as Go's messages write it, such as `[]v1.Container`.
    pub(crate) ty: String,
    /// The inlined structs that it stands in, which messages name, such as `VolumeSource`.
    pub(crate) within: String,
}

/// Reads a package's folder.
pub(crate) fn read(folder: &Path) -> anyhow::Result<Structs> {
    let mut structs = Structs::new();
    let mut inlined: Vec<(String, String)> = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "go") {
            scan(&fs::read_to_string(&path)?, &mut structs, &mut inlined);
        }
    }
    // A struct may inline one that inlines another.
    for _ in 0..3 {
        for (outer, inner) in &inlined {
            let mut fields = structs.get(inner).cloned().unwrap_or_default();
            for field in fields.values_mut() {
                let dot = if field.within.is_empty() { "" } else { "." };
                field.within = format!("{inner}{dot}{}", field.within);
            }
            structs.entry(outer.clone()).or_default().extend(fields);
        }
    }
    Ok(structs)
}

fn scan(source: &str, structs: &mut Structs, inlined: &mut Vec<(String, String)>) {
    let mut current: Option<String> = None;
    let package = source.lines().find_map(|line| line.strip_prefix("package "));
    let package = package.unwrap_or_default().trim();
    for line in source.lines() {
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
                let text = GoField {
                    facts: "omitempty".to_owned(),
                    ty: "string".to_owned(),
                    within: "TypeMeta".to_owned(),
                };
                fields.extend(["apiVersion", "kind"].map(|field| (field.to_owned(), text.clone())));
            }
            [inner] if field.is_empty() && options.contains(&"inline") => {
                inlined.push((name.clone(), inner.trim_start_matches('*').to_owned()));
            }
            // An embedded struct with a name has no other.
            [ty] | [_, ty, ..] => {
                let pointer = ty.starts_with('*').then_some("pointer");
                let kept = options.into_iter().filter(|option| option.starts_with("omit"));
                let facts: Vec<&str> = pointer.into_iter().chain(kept).collect();
                let known = GoField {
                    facts: facts.join(" "),
                    ty: in_messages(ty.trim_start_matches('*'), package),
                    ..GoField::default()
                };
                structs
                    .entry(name.clone())
                    .or_default()
                    .insert(field.to_owned(), known);
            }
            _ => {}
        }
    }
}

/// A type of a package as messages write it.
fn in_messages(ty: &str, package: &str) -> String {
    for prefix in ["*", "[]"] {
        if let Some(inner) = ty.strip_prefix(prefix) {
            return format!("{prefix}{}", in_messages(inner, package));
        }
    }
    if let Some((key, inner)) = ty.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        return format!(
            "map[{}]{}",
            in_messages(key, package),
            in_messages(inner, package)
        );
    }
    match ty.split_once('.') {
        // Packages of versions are imported under other names.
        Some((alias, name)) if alias.ends_with("v1") => format!("v1.{name}"),
        None if ty == "byte" => "uint8".to_owned(),
        None if ty.starts_with(char::is_uppercase) => format!("{package}.{ty}"),
        _ => ty.to_owned(),
    }
}
