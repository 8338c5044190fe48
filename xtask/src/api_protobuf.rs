//! Generates the table of protobuf field numbers of built-in kinds, from the .proto files in Kubernetes' Go modules.

use crate::api_files::{download_module, staging_version, write_or_check};
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Staging modules of Kubernetes, and their folders with .proto files.
const SOURCES: &[(&str, &[&str])] = &[
    (
        "k8s.io/api",
        &[
            "admissionregistration/v1",
            "apps/v1",
            "authentication/v1",
            "authorization/v1",
            "autoscaling/v1",
            "autoscaling/v2",
            "batch/v1",
            "certificates/v1",
            "coordination/v1",
            "core/v1",
            "discovery/v1",
            "events/v1",
            "flowcontrol/v1",
            "networking/v1",
            "node/v1",
            "policy/v1",
            "rbac/v1",
            "resource/v1",
            "scheduling/v1",
            "storage/v1",
        ],
    ),
    ("k8s.io/kube-aggregator", &["pkg/apis/apiregistration/v1"]),
    (
        "k8s.io/apimachinery",
        &[
            "pkg/apis/meta/v1",
            "pkg/runtime",
            "pkg/api/resource",
            "pkg/util/intstr",
        ],
    ),
];

/// Writes `messages.txt`; with `check`, fails if it is stale.
pub(crate) fn run(check: bool) -> Result<()> {
    let mut messages = BTreeMap::new();
    for (module, folders) in SOURCES {
        let root = download_module(module, &staging_version())?;
        for folder in *folders {
            let path = root.join(folder).join("generated.proto");
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            parse_proto(&text, &mut messages)?;
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apimachinery/src/protobuf/messages.txt");
    write_or_check(&file, &render(&messages), check)
}

/// Parses the fields of each message, one line each.
fn parse_proto(text: &str, messages: &mut BTreeMap<String, Vec<String>>) -> Result<()> {
    let (mut package, mut message) = (String::new(), None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("package ") {
            name.trim_end_matches(';').clone_into(&mut package);
        } else if let Some(name) = line.strip_prefix("message ") {
            let name = short_name(&format!("{package}.{}", name.trim_end_matches(['{', ' '])));
            messages.insert(name.clone(), vec![]);
            message = Some(name);
        } else if line == "}" {
            message = None;
        } else if let Some(name) = &message
            && let Some((declaration, number)) = line.trim_end_matches(';').split_once(" = ")
            && !line.starts_with("//")
        {
            let Some((ty, field)) = declaration.rsplit_once(' ') else {
                bail!("not a field: {line}");
            };
            let ty = ty.trim_start_matches("optional ");
            let ty = if let Some(values) = ty.strip_prefix("map<string, ") {
                format!("{{}}{}", resolve(values.trim_end_matches('>'), &package))
            } else if let Some(items) = ty.strip_prefix("repeated ") {
                format!("[]{}", resolve(items, &package))
            } else {
                resolve(ty, &package)
            };
            if let Some(fields) = messages.get_mut(name) {
                fields.push(format!(" {number} {} {ty}", json_name(field)));
            }
        }
    }
    Ok(())
}

/// The JSON name of a field: it begins with a lower case letter, and protobuf spells acronyms differently.
fn json_name(field: &str) -> String {
    match field {
        "uID" => return "uid".to_owned(),
        "aPIGroup" => return "apiGroup".to_owned(),
        _ => {}
    }
    let mut letters = field.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Shortens the names of messages; scalars keep their names.
fn resolve(ty: &str, package: &str) -> String {
    let scalars = [
        "string", "bytes", "bool", "int32", "int64", "double", "float", "uint32", "uint64",
    ];
    if scalars.contains(&ty) {
        ty.to_owned()
    } else if ty.contains('.') {
        short_name(ty.trim_start_matches('.'))
    } else {
        short_name(&format!("{package}.{ty}"))
    }
}

/// The name without its common prefix: `core.v1.Pod`, `meta.v1.ObjectMeta`, `resource.Quantity`.
fn short_name(name: &str) -> String {
    let prefixes = [
        "k8s.io.apimachinery.pkg.apis.",
        "k8s.io.apimachinery.pkg.api.",
        "k8s.io.apimachinery.pkg.util.",
        "k8s.io.apimachinery.pkg.",
        "k8s.io.kube_aggregator.pkg.apis.",
        "k8s.io.api.",
    ];
    let rest = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.unwrap_or(name).to_owned()
}

fn render(messages: &BTreeMap<String, Vec<String>>) -> String {
    let mut text = String::from(
        "# The protobuf messages of Kubernetes v1.36.3. Generated by `cargo xtask api-protobuf`: do not edit.\n\
         # A name, then its fields: number, name, type; `[]T` is a list of T, `{}T` a map from strings to T.\n",
    );
    for (name, fields) in messages.iter().filter(|(name, _)| !name.ends_with("List")) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}");
        for field in fields {
            let _ = writeln!(text, "{field}");
        }
    }
    text
}
