//! Of files in volumes that lie over one another.

use super::items;
use crate::meta::text;
use crate::quote::quoted;
use serde_json::Value;

/// Of a pod's volumes.
pub(super) fn of_volumes(volumes: &Value, warnings: &mut Vec<String>) {
    for (_, volume) in items(volumes) {
        let name = quoted(text(volume, "name"));
        for (kind, key) in [
            ("configMap", "name"),
            ("secret", "secretName"),
            ("downwardAPI", ""),
        ] {
            let source = &volume[kind];
            let about = format!("volume {name} ({})", named(kind, text(source, key)));
            of_files(&about, files(source).map(|file| (file, String::new())), warnings);
        }
        let mut all = vec![];
        for (_, source) in items(&volume["projected"]["sources"]) {
            if source.as_object().is_none_or(serde_json::Map::is_empty) {
                warnings.push(format!("volume {name} (Projected) has no sources provided"));
            }
            for kind in ["secret", "downwardAPI", "configMap", "serviceAccountToken"] {
                let source = &source[kind];
                let of = named(kind, text(source, "name"));
                all.extend(files(source).map(|file| (file, of.clone())));
                if kind == "serviceAccountToken" && source.is_object() {
                    all.push((text(source, "path"), of));
                }
            }
        }
        of_files(&format!("volume {name} (Projected)"), all.into_iter(), warnings);
    }
}

fn of_files<'a>(about: &str, files: impl Iterator<Item = (&'a str, String)>, warnings: &mut Vec<String>) {
    let mut before: Vec<(&str, String)> = vec![];
    let shown = |(file, of): &(&str, String)| match of.as_str() {
        "" => quoted(file),
        of => format!("{} ({of})", quoted(file)),
    };
    for (file, of) in files {
        let file = (file.trim_end_matches('/'), of);
        for other in before.iter().filter(|other| overlap(file.0, other.0)) {
            let warning = format!(
                "{about}: overlapping paths: {} with {}",
                shown(&file),
                shown(other)
            );
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        before.push(file);
    }
}

/// Whether they are one file, or one would have to be the folder of the other.
fn overlap(one: &str, other: &str) -> bool {
    let within = |file: &str, folder: &str| {
        file.strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    one == other || within(one, other) || within(other, one)
}

fn files(source: &Value) -> impl Iterator<Item = &str> {
    items(&source["items"]).map(|(_, item)| text(item, "path"))
}

/// A source as the real server names it.
fn named(kind: &str, name: &str) -> String {
    match kind {
        "configMap" => format!("ConfigMap {}", quoted(name)),
        "secret" => format!("Secret {}", quoted(name)),
        "downwardAPI" => "DownwardAPI".to_owned(),
        _ => "ServiceAccountToken".to_owned(),
    }
}
