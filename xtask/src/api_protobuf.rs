//! Generates the table of protobuf field numbers of built-in kinds, from the .proto files in Kubernetes' Go modules.

use crate::api_files::{download_module, staging_version, write_or_check};
use anyhow::{Context as _, Result, bail};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

/// Staging modules of Kubernetes, and their folders with .proto files.
const SOURCES: &[(&str, &[&str])] = &[
    (
        "k8s.io/api",
        &[
            "admissionregistration/v1",
            "apidiscovery/v2",
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
    ("k8s.io/apiextensions-apiserver", &["pkg/apis/apiextensions/v1"]),
    (
        "k8s.io/apimachinery",
        &[
            "pkg/apis/meta/v1",
            "pkg/apis/meta/v1beta1",
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
            parse_proto(&text, &GoStructs::parse(&root.join(folder))?, &mut messages)?;
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apimachinery/src/protobuf/messages.txt");
    write_or_check(&file, &render(&messages), check)
}

/// Facts about the messages of a package that only the Go source has: the Go types, and the tags of the fields.
#[derive(Default)]
struct GoStructs {
    /// The types that are lists: a message has the only field `items`.
    lists: HashSet<String>,
    /// The structs that are kinds: they have `TypeMeta`, which is not a field of the message.
    kinds: HashSet<String>,
    /// The fields by struct and number.
    fields: HashMap<(String, String), GoField>,
}

struct GoField {
    json_name: String,
    is_pointer: bool,
    is_inline: bool,
}

impl GoStructs {
    fn parse(folder: &Path) -> Result<Self> {
        let mut structs = Self::default();
        for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "go") {
                structs.add_file(&std::fs::read_to_string(path)?);
            }
        }
        Ok(structs)
    }

    fn add_file(&mut self, source: &str) {
        let mut name = String::new();
        for line in source.lines() {
            if let Some(rest) = line.strip_prefix("type ") {
                rest.strip_suffix(" struct {")
                    .unwrap_or_default()
                    .clone_into(&mut name);
                if let Some((list, _)) = rest.split_once(" []") {
                    self.lists.insert(list.to_owned());
                }
            }
            let Some((declaration, tags)) = line.trim().split_once('`') else {
                continue;
            };
            if declaration.starts_with("//") {
                continue;
            }
            let tag = |key: &str| Some(tags.split_once(key)?.1.split_once('"')?.0);
            let json: Vec<&str> = tag("json:\"").unwrap_or_default().split(',').collect();
            let is_inline = json.contains(&"inline");
            let ty = declaration.split_whitespace().take(2).last().unwrap_or_default();
            let Some(number) = tag("protobuf:\"").and_then(|tag| tag.split(',').nth(1)) else {
                if is_inline && ty.ends_with("TypeMeta") {
                    self.kinds.insert(name.clone());
                }
                continue;
            };
            let field = GoField {
                json_name: json[0].to_owned(),
                is_pointer: ty.starts_with('*'),
                is_inline,
            };
            self.fields.insert((name.clone(), number.to_owned()), field);
        }
    }
}

/// Parses the fields of each message, one line each.
fn parse_proto(text: &str, structs: &GoStructs, messages: &mut BTreeMap<String, Vec<String>>) -> Result<()> {
    let (mut package, mut message) = (String::new(), None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("package ") {
            name.trim_end_matches(';').clone_into(&mut package);
        } else if let Some(name) = line.strip_prefix("message ") {
            let struct_name = name.trim_end_matches(['{', ' ']);
            let mark = match structs {
                _ if structs.kinds.contains(struct_name) => " kind",
                _ if structs.lists.contains(struct_name) => " list",
                _ => "",
            };
            let name = short_name(&format!("{package}.{struct_name}")) + mark;
            messages.insert(name.clone(), vec![]);
            message = Some((name, struct_name));
        } else if line == "}" {
            message = None;
        } else if let Some((name, struct_name)) = &message
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
            let go_field = structs
                .fields
                .get(&((*struct_name).to_owned(), number.to_owned()));
            let name_in_json = match go_field.map(|field| field.json_name.as_str()) {
                _ if go_field.is_some_and(|field| field.is_inline) => "-".to_owned(),
                None | Some("" | "-") => json_name(field),
                Some(name) => name.to_owned(),
            };
            let star = match go_field {
                Some(field) if field.is_pointer => "*",
                _ => "",
            };
            if let Some(fields) = messages.get_mut(name) {
                fields.push(format!(" {number} {name_in_json} {star}{ty}"));
            }
        }
    }
    Ok(())
}

/// The name of a field without a name in JSON: it begins with a lower case letter.
fn json_name(field: &str) -> String {
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
        "k8s.io.apiextensions_apiserver.pkg.apis.",
        "k8s.io.api.",
    ];
    let rest = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.unwrap_or(name).to_owned()
}

fn render(messages: &BTreeMap<String, Vec<String>>) -> String {
    let mut text = String::from(
        "# The protobuf messages of Kubernetes v1.36.3. Generated by `cargo xtask api-protobuf`: do not edit.\n\
         # A name, with `kind` if it is a kind, or `list` if it is a list in JSON; then its fields in the order of their numbers: number, name\n\
         # in JSON, type. `[]T` is a list of T, `{}T` a map from strings to T, `*T` may be absent. The fields of a field `-` are inlined.\n",
    );
    for (name, fields) in messages {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}");
        let mut fields: Vec<&String> = fields.iter().collect();
        fields.sort_by_key(|field| {
            field
                .split(' ')
                .nth(1)
                .and_then(|number| number.parse::<u64>().ok())
        });
        for field in fields {
            let _ = writeln!(text, "{field}");
        }
    }
    text
}
