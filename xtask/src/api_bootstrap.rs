//! Generates the table of objects that a kube-apiserver creates at startup: local APIServices, whose priorities are in its source, and the
//! objects of flow control, which a Go program prints.

use anyhow::{Context as _, Result, bail};
use kubewright_testkit::control_plane_build::{GO_MOD, GO_SUM};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The files of the k8s.io/kubernetes module with the priorities of groups and versions.
const PRIORITIES: &[&str] = &[
    "cmd/kube-apiserver/app/aggregator.go",
    "pkg/controlplane/apiserver/aggregator.go",
];

/// Prints the objects of flow control, one a line.
const FLOW_CONTROL: &str = r#"package main

import (
	"encoding/json"
	"os"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
)

func main() {
	encoder := json.NewEncoder(os.Stdout)
	for _, list := range [][]*flowcontrol.PriorityLevelConfiguration{bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations} {
		for _, object := range list {
			object.Kind = "PriorityLevelConfiguration"
			encoder.Encode(object)
		}
	}
	for _, list := range [][]*flowcontrol.FlowSchema{bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas} {
		for _, object := range list {
			object.Kind = "FlowSchema"
			encoder.Encode(object)
		}
	}
}
"#;

/// Returns the APIServices of the served kinds, and the objects of flow control, from the k8s.io/kubernetes module.
pub(crate) fn objects(kinds: &[Value], kubernetes: &Path) -> Result<Vec<Value>> {
    let mut objects = api_services(kinds, kubernetes)?;
    objects.extend(flow_control()?);
    Ok(objects)
}

fn api_services(kinds: &[Value], kubernetes: &Path) -> Result<Vec<Value>> {
    let served: BTreeSet<(&str, &str)> = kinds
        .iter()
        .filter_map(|kind| Some((kind["group"].as_str()?, kind["version"].as_str()?)))
        .collect();
    // Some priorities are in both files.
    let mut services = BTreeMap::new();
    for file in PRIORITIES {
        let path = kubernetes.join(file);
        let source = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for line in source.lines() {
            if let Some((group, version, priorities)) = priority(line)
                && served.contains(&(group, version))
            {
                services.insert(
                    format!("{version}.{group}"),
                    api_service(group, version, priorities),
                );
            }
        }
    }
    // The aggregator serves its own group, which has no APIService.
    if services.len() + 1 != served.len() {
        bail!(
            "{} groups and versions are served, {} have a priority",
            served.len(),
            services.len()
        );
    }
    Ok(services.into_values().collect())
}

/// Parses `{Group: "apps", Version: "v1"}: {Group: 17800, Version: 15},`.
fn priority(line: &str) -> Option<(&str, &str, (i64, i64))> {
    let rest = line.trim().strip_prefix("{Group: \"")?;
    let (group, rest) = rest.split_once("\", Version: \"")?;
    let (version, rest) = rest.split_once("\"}:")?;
    let (group_priority, rest) = rest.trim().strip_prefix("{Group: ")?.split_once(", Version: ")?;
    let version_priority = rest.split('}').next()?;
    Some((
        group,
        version,
        (group_priority.parse().ok()?, version_priority.parse().ok()?),
    ))
}

fn api_service(group: &str, version: &str, (group_priority, version_priority): (i64, i64)) -> Value {
    let mut spec = json!({
        "version": version, "groupPriorityMinimum": group_priority, "versionPriority": version_priority,
    });
    if !group.is_empty() {
        spec["group"] = json!(group);
    }
    let labels = json!({ "kube-aggregator.kubernetes.io/automanaged": "onstart" });
    json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": { "name": format!("{version}.{group}"), "labels": labels }, "spec": spec,
    })
}

fn flow_control() -> Result<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    for (name, text) in [("main.go", FLOW_CONTROL), ("go.mod", GO_MOD), ("go.sum", GO_SUM)] {
        fs::write(folder.path().join(name), text)?;
    }
    let output = Command::new("go")
        .args(["run", "-mod=mod", "."])
        .envs([("CGO_ENABLED", "0"), ("GOWORK", "off")])
        .current_dir(folder.path())
        .output()
        .context("cannot run go")?;
    if !output.status.success() {
        bail!("go run: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    let objects = text.lines().map(|line| -> Result<Value> {
        let mut object: Value = serde_json::from_str(line)?;
        object["apiVersion"] = json!("flowcontrol.apiserver.k8s.io/v1");
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("creationTimestamp");
        }
        Ok(object)
    });
    objects.collect()
}

#[cfg(test)]
mod tests {
    use super::priority;

    #[test]
    fn priorities_are_parsed() {
        let line = "\t\t{Group: \"events.k8s.io\", Version: \"v1\"}:      {Group: 17750, Version: 15},";
        assert_eq!(priority(line), Some(("events.k8s.io", "v1", (17750, 15))));
        assert_eq!(priority("\t\t// {Group: x"), None);
    }
}
