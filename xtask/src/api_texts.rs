//! Generates the descriptions of built-in types from the OpenAPI documents, and the columns of tables from the Go source.

use crate::api_files::{download_module, staging_version, write_or_check};
use crate::api_types::{OPERATION_TYPES, schemas, short_name};
use anyhow::{Context as _, Result, bail};
use kubewright_control_plane::kubernetes_version;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const PRINTERS: &str = "pkg/printers/internalversion/printers.go";
/// The table of APIServices, in the kube-aggregator module.
const API_SERVICE_TABLE: &str = "pkg/registry/apiservice/etcd/etcd.go";
/// The kind of a subresource that is served as a Table, too.
const SCALE: &str = "Scale";
/// A kind whose printer kube-apiserver does not use.
const UNPRINTED: &str = "CSIStorageCapacity";
/// zstd's compression level.
const ZSTD_LEVEL: i32 = 19;

/// Writes `texts.zst` and `columns.txt`; with `check`, fails if they are stale.
pub(crate) fn run(check: bool) -> Result<()> {
    let version = kubernetes_version();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let kubernetes = download_module("k8s.io/kubernetes", version)?;
    let staging_version = staging_version();
    let api = download_module("k8s.io/api", &staging_version)?;
    let aggregator = download_module("k8s.io/kube-aggregator", &staging_version)?;
    let schemas = schemas(&kubernetes)?;
    let served: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(root.join("apiserver/src/kinds/kinds.json"))?)?;
    write_or_check_compressed(
        &root.join("apimachinery/types/src/texts.zst"),
        &texts(&schemas, &served).to_string(),
        check,
    )?;
    let printers = fs::read_to_string(kubernetes.join(PRINTERS))?;
    let api_service_table = fs::read_to_string(aggregator.join(API_SERVICE_TABLE))?;
    let columns = Columns {
        version,
        schemas: &schemas,
        api,
    };
    write_or_check(
        &root.join("apiserver/src/render/tables/columns.txt"),
        &(columns.render(&printers, &served)? + &columns.render_api_service(&api_service_table)?),
        check,
    )
}

/// Writes compressed text unless the file has it. Compares the decompressed text, as zstd versions may compress differently.
fn write_or_check_compressed(path: &Path, text: &str, check: bool) -> Result<()> {
    let mut current = Vec::with_capacity(text.len() + 1);
    let compressed = fs::read(path).unwrap_or_default();
    if zstd_safe::decompress(&mut current, &compressed).is_ok() && current == text.as_bytes() {
        return Ok(());
    }
    if check {
        bail!(
            "{} is stale: run the same command without --check",
            path.display()
        );
    }
    let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
    if zstd_safe::compress(&mut compressed, text.as_bytes(), ZSTD_LEVEL).is_err() {
        bail!("zstd cannot compress the texts");
    }
    fs::write(path, compressed).with_context(|| path.display().to_string())
}

/// Returns the descriptions of all types that the served kinds refer to, by type and field; the type's own one has an empty field name.
fn texts(schemas: &BTreeMap<String, Value>, served: &[Value]) -> Value {
    let is_served = |schema: &Value| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        kinds.into_iter().flatten().any(|named| {
            served.iter().any(|kind| {
                let is_part = |part: &Value| {
                    part["group"] == named["group"]
                        && part["version"] == named["version"]
                        && part["kind"]
                            .as_str()
                            .zip(named["kind"].as_str())
                            .is_some_and(|(kind, named)| {
                                named.strip_suffix("List").unwrap_or(named) == kind || named == kind
                            })
                };
                let parts = kind["subresources"].as_array();
                is_part(kind) || parts.into_iter().flatten().any(is_part)
            })
        })
    };
    let mut queue: Vec<&str> = schemas
        .iter()
        .filter(|(name, schema)| is_served(schema) || OPERATION_TYPES.contains(&name.as_str()))
        .map(|(name, _)| name.as_str())
        .collect();
    let mut reachable: BTreeSet<&str> = queue.iter().copied().collect();
    while let Some(name) = queue.pop() {
        crate::api_types::references(&schemas[name], &mut |found| {
            if let Some((name, _)) = schemas.get_key_value(found)
                && reachable.insert(name)
            {
                queue.push(name);
            }
        });
    }
    let types: BTreeMap<String, BTreeMap<&str, &Value>> = reachable
        .into_iter()
        .map(|name| {
            let schema = &schemas[name];
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields = fields.map(|(name, field)| (name.as_str(), &field["description"]));
            let all = fields.chain([("", &schema["description"])]);
            (
                short_name(name),
                all.filter(|(_, text)| text.is_string()).collect(),
            )
        })
        .collect();
    json!(types)
}

struct Columns<'a> {
    version: &'a str,
    schemas: &'a BTreeMap<String, Value>,
    api: PathBuf,
}

impl Columns<'_> {
    /// Renders the columns of the served kinds from the source of the printers: a column list is a variable, which a later call connects to
    /// a print function; the function's argument has the kind.
    fn render(&self, printers: &str, served: &[Value]) -> Result<String> {
        let mut text = format!(
            "# The table columns of Kubernetes {}. Generated by `cargo xtask api-texts`: do not edit.\n\
             # A line `kind KIND` begins the columns of a kind. A column is its name, type, format, priority and text, or `@` and the field with the text.\n",
            self.version
        );
        let kinds: BTreeSet<&str> = served.iter().filter_map(|kind| kind["kind"].as_str()).collect();
        let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut current = None;
        let mut seen = BTreeSet::new();
        for line in printers.lines().map(str::trim) {
            if let Some((name, _)) = line.split_once(" := []metav1.TableColumnDefinition{") {
                lists.insert(name, vec![]);
                current = Some(name);
            } else if let Some((name, _)) = line.split_once(" = append(")
                && line.ends_with("[]metav1.TableColumnDefinition{")
            {
                current = Some(name);
            } else if line.starts_with('}') {
                current = None;
            } else if let (Some(name), true) = (current, line.starts_with("{Name:")) {
                lists.entry(name).or_default().push(self.column(line)?);
            } else if let Some((_, call)) = line.split_once("h.TableHandler(")
                && let Some((name, function)) = call.trim_end_matches(')').split_once(", ")
                && let Some(kind) = printed_kind(printers, function)
                && (kinds.contains(kind) || kind == SCALE)
                && kind != UNPRINTED
                && seen.insert(kind)
            {
                writeln!(text, "kind {kind}")?;
                for column in &lists[name] {
                    writeln!(text, "  {column}")?;
                }
            }
        }
        Ok(text)
    }

    /// Renders the columns of APIServices, which the aggregator prints itself.
    fn render_api_service(&self, source: &str) -> Result<String> {
        let mut text = String::from("kind APIService\n");
        let columns = source.lines().map(str::trim);
        for line in columns.filter(|line| line.starts_with("{Name: ")) {
            let line = line.replace(
                "swaggerMetadataDescriptions[",
                "metav1.ObjectMeta{}.SwaggerDoc()[",
            );
            writeln!(text, "  {}", self.column(&line)?)?;
        }
        Ok(text)
    }

    fn column(&self, line: &str) -> Result<String> {
        let quoted = |key: &str| -> Option<String> {
            let (_, rest) = line.split_once(&format!("{key}: \""))?;
            Some(rest.split_once('"')?.0.to_owned())
        };
        let priority = line.contains("Priority: 1");
        let (_, description) = line.split_once("Description: ").context("no description")?;
        let description = description.trim_end_matches(',').trim_end_matches('}');
        let text = match description.strip_prefix('"') {
            Some(literal) => literal.trim_end_matches('"').to_owned(),
            None => self.swagger_doc(description)?,
        };
        Ok(format!(
            "{}|{}|{}|{}|{text}",
            quoted("Name").context("no name")?,
            quoted("Type").unwrap_or_default(),
            quoted("Format").unwrap_or_default(),
            u8::from(priority)
        ))
    }

    /// Resolves `appsv1.DeploymentSpec{}.SwaggerDoc()["replicas"]`: a reference, if the OpenAPI documents have the text.
    fn swagger_doc(&self, expression: &str) -> Result<String> {
        let (ty, field) = expression
            .split_once(".SwaggerDoc()[\"")
            .context("unknown form of description")?;
        let field = field.trim_end_matches("\"]");
        // With a field access: `apiv1.Event{}.InvolvedObject`.
        let (ty, field_access) = ty.split_once("{}").context("no type")?;
        let (package, name) = ty.split_once('.').context("no package")?;
        let name = if field_access == ".InvolvedObject" {
            "ObjectReference"
        } else {
            name
        };
        let (group, version) = match package.split_at(package.rfind('v').unwrap_or(0)) {
            ("api", version) => ("core", version),
            (_, "resourceapi") => ("resource", "v1"),
            known => known,
        };
        let reachable = format!("{group}.{version}.{name}");
        let schema = self
            .schemas
            .iter()
            .find(|(known, _)| short_name(known) == reachable);
        if let Some((_, schema)) = schema {
            let has_description = schema["properties"][field]["description"].is_string();
            return Ok(if has_description {
                format!("@{reachable}.{field}")
            } else {
                String::new()
            });
        }
        // Types that are not served are only documented in Go.
        let file = self
            .api
            .join(group)
            .join(version)
            .join("types_swagger_doc_generated.go");
        let source = fs::read_to_string(&file).unwrap_or_default();
        let map = source.split_once(&format!("var map_{name} = map[string]string{{"));
        let line = map.and_then(|(_, rest)| {
            rest.lines()
                .take_while(|line| *line != "}")
                .find(|line| line.trim().starts_with(&format!("\"{field}\"")))
        });
        let text = line.and_then(|line| line.split_once('"')?.1.split_once(": "));
        let text = text.map(|(_, text)| text.trim().trim_end_matches(',').trim_matches('"'));
        Ok(text.unwrap_or_default().to_owned())
    }
}

/// Returns the kind that a function prints: `func printPod(pod *api.Pod, …`.
fn printed_kind<'a>(printers: &'a str, function: &str) -> Option<&'a str> {
    let (_, rest) = printers.split_once(&format!("\nfunc {function}("))?;
    let (_, ty) = rest.split_once(',')?.0.split_once(" *")?;
    Some(ty.split_once('.')?.1)
}
