//! Generates the tables of kinds and of bootstrap objects for the embedded API server, from the discovery documents and roles in the
//! k8s.io/kubernetes module.

use crate::api_bootstrap;
use crate::api_files::{download_module, write_or_check};
use anyhow::{Context as _, Result, bail};
use kubewright_control_plane::kubernetes_version;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Writes `kinds.json` and both `bootstrap.json`; with `check`, fails if they are stale.
pub(crate) fn run(check: bool) -> Result<()> {
    let module = download_module("k8s.io/kubernetes", kubernetes_version())?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apiserver/src");
    let rows = read_file(&source.join("kinds/rows.txt"))?;
    let discovery = serde_json::from_str(&read_file(&module.join("api/discovery/aggregated_v2.json"))?)?;
    let kinds = kinds(&rows, &discovery, &module)?;
    write_or_check(&source.join("kinds/kinds.json"), &lines(&kinds), check)?;
    write_or_check(
        &source.join("server/bootstrap.json"),
        &lines(&api_bootstrap::objects(&kinds, &module)?),
        check,
    )?;
    write_or_check(
        &source.join("auth/bootstrap.json"),
        &lines(&bootstrap(&module)?),
        check,
    )
}

/// Returns one object per row, in discovery order.
fn kinds(rows: &str, discovery: &Value, module: &Path) -> Result<Vec<Value>> {
    let mut requested = Map::new();
    for row in rows
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'))
    {
        let mut words = row.split_whitespace().map(str::to_owned);
        let (Some(version), Some(resource)) = (words.next(), words.next()) else {
            bail!("a row needs a version and a resource: {row}");
        };
        requested.insert(format!("{version} {resource}"), words.collect());
    }
    let mut found = vec![];
    let core: Value = json!([{ "metadata": {}, "versions": [core_group(module)?] }]);
    for group in list(&core).iter().chain(list(&discovery["items"])) {
        let group_name = group["metadata"]["name"].as_str().unwrap_or_default();
        for version in list(&group["versions"]) {
            let version_name = version["version"].as_str().unwrap_or_default();
            let group_version = match group_name {
                "" => version_name.to_owned(),
                group => format!("{group}/{version_name}"),
            };
            for resource in list(&version["resources"]) {
                let name = resource["resource"].as_str().unwrap_or_default();
                if let Some(flags) = requested.remove(&format!("{group_version} {name}")) {
                    found.push(kind(group_name, version_name, resource, &flags));
                }
            }
        }
    }
    match requested.keys().next() {
        Some(row) => bail!("discovery does not contain {row}: correct rows.txt"),
        None => Ok(found),
    }
}

fn kind(group: &str, version: &str, resource: &Value, flags: &Value) -> Value {
    let mut kind = json!({
        "group": group, "version": version, "resource": resource["resource"], "kind": resource["responseKind"]["kind"],
        "singular": resource["singularResource"], "verbs": resource["verbs"],
    });
    if resource["scope"] == "Namespaced" {
        kind["namespaced"] = json!(true);
    }
    for (key, value) in [
        ("shortNames", &resource["shortNames"]),
        ("categories", &resource["categories"]),
        ("flags", flags),
    ] {
        if !list(value).is_empty() {
            kind[key] = value.clone();
        }
    }
    let subresources: Vec<Value> = list(&resource["subresources"]).iter().map(subresource).collect();
    if !subresources.is_empty() {
        kind["subresources"] = json!(subresources);
    }
    kind
}

/// A subresource, with its group, version and kind, which may differ from the resource's.
fn subresource(subresource: &Value) -> Value {
    let kind = &subresource["responseKind"];
    json!({
        "name": subresource["subresource"], "verbs": subresource["verbs"],
        "group": kind["group"], "version": kind["version"], "kind": kind["kind"],
    })
}

/// The core group: the aggregated document omits it, and its own document has another format.
fn core_group(module: &Path) -> Result<Value> {
    let text = read_file(&module.join("api/discovery/api__v1.json"))?;
    let document: Value = serde_json::from_str(&text)?;
    let mut resources: Vec<Value> = vec![];
    for entry in list(&document["resources"]) {
        let name = entry["name"].as_str().unwrap_or_default();
        let kind = json!({ "group": entry["group"].as_str().unwrap_or(""), "version": entry["version"].as_str().unwrap_or(""), "kind": entry["kind"] });
        if let Some((parent, name)) = name.split_once('/') {
            let subresource = json!({ "subresource": name, "responseKind": kind, "verbs": entry["verbs"] });
            let parent = resources
                .iter_mut()
                .find(|resource| resource["resource"] == parent);
            if let Some(Value::Array(siblings)) = parent.map(|parent| &mut parent["subresources"]) {
                siblings.push(subresource);
            }
        } else {
            resources.push(json!({
                "resource": name, "responseKind": kind, "singularResource": entry["singularName"], "verbs": entry["verbs"],
                "scope": if entry["namespaced"] == true { "Namespaced" } else { "Cluster" },
                "shortNames": entry["shortNames"], "categories": entry["categories"], "subresources": [],
            }));
        }
    }
    Ok(json!({ "version": "v1", "resources": resources }))
}

/// The roles and bindings that the API server creates at startup.
fn bootstrap(module: &Path) -> Result<Vec<Value>> {
    let folder = module.join("plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata");
    let mut objects = vec![];
    for file in [
        "cluster-roles",
        "cluster-role-bindings",
        "controller-roles",
        "controller-role-bindings",
        "namespace-roles",
        "namespace-role-bindings",
    ] {
        let list_object: Value = crate::yaml::parse(&read_file(&folder.join(format!("{file}.yaml")))?)?;
        objects.extend(list(&list_object["items"]).iter().cloned());
    }
    Ok(objects)
}

/// Renders one value per line, for readable diffs.
fn lines(values: &[Value]) -> String {
    let lines: Vec<String> = values.iter().map(Value::to_string).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn read_file(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
