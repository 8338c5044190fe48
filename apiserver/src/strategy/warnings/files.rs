//! Warnings about overlapping file paths in volumes.

use super::items;
use crate::meta::text;
use crate::quote::quoted;
use serde_json::Value;

/// Warns about the volumes of a pod.
pub(super) fn warn_volume_paths(volumes: &Value, warnings: &mut Vec<String>) {
    for (_, volume) in items(volumes) {
        let name = quoted(text(volume, "name"));
        for (kind, key) in [
            ("configMap", "name"),
            ("secret", "secretName"),
            ("downwardAPI", ""),
        ] {
            let source = &volume[kind];
            let subject = format!("volume {name} ({})", source_name(kind, text(source, key)));
            warn_overlaps(
                &subject,
                paths_of(source).map(|file| (file, String::new())),
                warnings,
            );
        }
        let mut paths = vec![];
        for (_, source) in items(&volume["projected"]["sources"]) {
            if source.as_object().is_none_or(serde_json::Map::is_empty) {
                warnings.push(format!("volume {name} (Projected) has no sources provided"));
            }
            for kind in ["secret", "downwardAPI", "configMap", "serviceAccountToken"] {
                let source = &source[kind];
                let source_label = source_name(kind, text(source, "name"));
                paths.extend(paths_of(source).map(|file| (file, source_label.clone())));
                if kind == "serviceAccountToken" && source.is_object() {
                    paths.push((text(source, "path"), source_label));
                }
            }
        }
        warn_overlaps(&format!("volume {name} (Projected)"), paths.into_iter(), warnings);
    }
}

fn warn_overlaps<'a>(
    subject: &str,
    files: impl Iterator<Item = (&'a str, String)>,
    warnings: &mut Vec<String>,
) {
    let mut before: Vec<(&str, String)> = vec![];
    let format_path = |(file, source_label): &(&str, String)| match source_label.as_str() {
        "" => quoted(file),
        source_label => format!("{} ({source_label})", quoted(file)),
    };
    for (file, source_label) in files {
        let file = (file.trim_end_matches('/'), source_label);
        for second in before.iter().filter(|second| overlap(file.0, second.0)) {
            let warning = format!(
                "{subject}: overlapping paths: {} with {}",
                format_path(&file),
                format_path(second)
            );
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        before.push(file);
    }
}

/// Whether two paths are equal, or one is below the other.
fn overlap(first: &str, second: &str) -> bool {
    let is_within = |file: &str, folder: &str| {
        file.strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    first == second || is_within(first, second) || is_within(second, first)
}

fn paths_of(source: &Value) -> impl Iterator<Item = &str> {
    items(&source["items"]).map(|(_, item)| text(item, "path"))
}

/// Names a source as kube-apiserver does.
fn source_name(kind: &str, name: &str) -> String {
    match kind {
        "configMap" => format!("ConfigMap {}", quoted(name)),
        "secret" => format!("Secret {}", quoted(name)),
        "downwardAPI" => "DownwardAPI".to_owned(),
        _ => "ServiceAccountToken".to_owned(),
    }
}
