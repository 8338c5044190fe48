//! What the Go source says of a type's fields and the OpenAPI does not: which are pointers, and which are left out when they are empty.

use anyhow::Context;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

/// The fields of the structs of one package: by struct and name in JSON, what is known of the field, such as `pointer omitempty`.
pub(crate) type Structs = HashMap<String, BTreeMap<String, String>>;

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
            let fields = structs.get(inner).cloned().unwrap_or_default();
            structs.entry(outer.clone()).or_default().extend(fields);
        }
    }
    Ok(structs)
}

fn scan(source: &str, structs: &mut Structs, inlined: &mut Vec<(String, String)>) {
    let mut current: Option<String> = None;
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
                fields.extend(["apiVersion", "kind"].map(|field| (field.to_owned(), "omitempty".to_owned())));
            }
            [inner] if field.is_empty() && options.contains(&"inline") => {
                inlined.push((name.clone(), inner.trim_start_matches('*').to_owned()));
            }
            // An embedded struct with a name has no other.
            [ty] | [_, ty, ..] => {
                let pointer = ty.starts_with('*').then_some("pointer");
                let kept = options.into_iter().filter(|option| option.starts_with("omit"));
                let facts: Vec<&str> = pointer.into_iter().chain(kept).collect();
                structs
                    .entry(name.clone())
                    .or_default()
                    .insert(field.to_owned(), facts.join(" "));
            }
            _ => {}
        }
    }
}
