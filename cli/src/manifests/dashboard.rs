//! Generates a Grafana dashboard, in a ConfigMap: a panel for each metric that every operator exports.
//!
//! It selects the operator by Prometheus' label `job`, which is `NAME-metrics` with the ServiceMonitor of [`MetricsSettings`].
//!
//! [`MetricsSettings`]: crate::deploy_settings::MetricsSettings

use std::path::PathBuf;

use kubewright::unstable::{MetricDescription, MetricKind, metric_catalog};
use serde_json::{Value, json};

use super::Manifests;

/// Directory of the file.
pub const FOLDER: &str = "manifests/monitoring";

/// Size of a panel, of the 24 columns of a dashboard.
const WIDTH: usize = 12;
const HEIGHT: usize = 8;

/// Returns the file with the ConfigMap.
pub fn file(manifests: &Manifests, namespace: &str) -> (PathBuf, String) {
    let operator = &manifests.operator;
    let dashboard = dashboard(operator);
    // Indented JSON is valid in a block scalar, and users can copy it into Grafana.
    let lines = format!("{dashboard:#}").replace('\n', "\n    ");
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {operator}-dashboard\n  namespace: {namespace}\n  labels:\n    \
         # The sidecar of Grafana's Helm chart loads ConfigMaps with this label.\n    grafana_dashboard: \"1\"\ndata:\n  \
         {operator}.json: |\n    {lines}\n"
    );
    (format!("{FOLDER}/dashboard.yaml").into(), text)
}

fn dashboard(operator: &str) -> Value {
    let mut panels: Vec<Value> = Vec::new();
    let (mut y, mut x, mut section) = (0, 0, "");
    let mut metrics = metric_catalog();
    metrics.sort_by_key(|metric| section_of(&metric.name).0);
    for (id, metric) in metrics.iter().enumerate() {
        let (_, title) = section_of(&metric.name);
        if title != section {
            // The row starts below the panels before it.
            y += if x > 0 { HEIGHT } else { 0 };
            x = 0;
            let position = json!({"x": 0, "y": y, "w": 2 * WIDTH, "h": 1});
            panels.push(json!({
                "id": metrics.len() + panels.len() + 1, "type": "row", "title": title, "gridPos": position,
                "collapsed": false, "panels": [],
            }));
            section = title;
            y += 1;
        }
        panels.push(panel(metric, id + 1, x, y));
        x += WIDTH;
        if x >= 2 * WIDTH {
            (x, y) = (0, y + HEIGHT);
        }
    }
    let query = format!("label_values(leader_election_master_status{{name=\"{operator}\"}}, job)");
    json!({
        "title": operator, "uid": format!("kubewright-{operator}").chars().take(40).collect::<String>(),
        "tags": ["kubewright"], "schemaVersion": 39, "editable": true, "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
            {"name": "job", "type": "query", "datasource": datasource(), "query": query, "refresh": 2, "label": "Job"},
        ]},
        "panels": panels,
    })
}

fn panel(metric: &MetricDescription, id: usize, x: usize, y: usize) -> Value {
    let labels = metric.labels.iter().map(|&label| match label {
        "informer" => "kind",
        label => label,
    });
    let labels: Vec<&str> = labels.collect();
    let (name, selector) = (&metric.name, "{job=\"$job\"}");
    let seconds = name.contains("_seconds");
    let by = |more: &[&str]| [more, &labels].concat().join(", ");
    let (expression, unit) = match metric.kind {
        MetricKind::Counter => (
            format!("sum by ({}) (rate({name}{selector}[$__rate_interval]))", by(&[])),
            if seconds { "percentunit" } else { "cps" },
        ),
        MetricKind::Histogram => (
            format!(
                "histogram_quantile(0.99, sum by ({}) (rate({name}_bucket{selector}[$__rate_interval])))",
                by(&["le"])
            ),
            "s",
        ),
        // Each replica has its own caches and queues.
        MetricKind::Gauge => (
            format!("sum by ({}) ({name}{selector})", by(&["pod"])),
            gauge_unit(name),
        ),
    };
    let mut legend: Vec<String> = labels.iter().map(|label| format!("{{{{{label}}}}}")).collect();
    if metric.kind == MetricKind::Gauge {
        legend.push("{{pod}}".to_owned());
    }
    json!({
        "id": id, "type": "timeseries", "title": name, "description": metric.meaning, "datasource": datasource(),
        "gridPos": {"x": x, "y": y, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [{"refId": "A", "datasource": datasource(), "expr": expression, "legendFormat": legend.join(" ")}],
    })
}

fn gauge_unit(name: &str) -> &'static str {
    if name.ends_with("_seconds") {
        "s"
    } else if name.ends_with("_bytes") {
        "bytes"
    } else {
        "short"
    }
}

fn datasource() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

/// The rows of the dashboard, by the beginning of their metrics' names; the longest that fits decides.
const SECTIONS: [(&str, &str); 8] = [
    ("controller_runtime", "Reconciles"),
    ("workqueue", "Work queues"),
    ("kubewright_controller", "Own writes"),
    ("rest_client", "API server"),
    ("kubewright_informer", "Informers"),
    ("controller_runtime_webhook", "Webhooks"),
    ("kubewright_webhook", "Webhooks"),
    ("", "Others"),
];

/// Returns the position of a metric's row, and its title.
fn section_of(name: &str) -> (usize, &'static str) {
    let fitting = SECTIONS
        .iter()
        .enumerate()
        .filter(|(_, (prefix, _))| name.starts_with(prefix));
    let longest = fitting.max_by_key(|(_, (prefix, _))| prefix.len());
    longest.map_or((SECTIONS.len(), ""), |(position, (_, title))| (position, title))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn panels() -> Vec<Value> {
        let text = json!({"manifestsVersion": 1, "operator": "shop", "kinds": [], "permissions": []});
        let (_, text) = file(&Manifests::from_json(text).unwrap(), "prod");
        let [object]: [Value; 1] = yaml::read_all(&text).unwrap().try_into().unwrap();
        assert_eq!(object["metadata"]["namespace"], "prod");
        let dashboard: Value = serde_json::from_str(object["data"]["shop.json"].as_str().unwrap()).unwrap();
        dashboard["panels"].as_array().unwrap().clone()
    }

    #[test]
    fn every_metric_has_a_panel_with_an_expression_of_its_type() {
        let panels = panels();
        let expression = |name: &str| {
            let panel = panels.iter().find(|panel| panel["title"] == name);
            panel.unwrap_or_else(|| panic!("{name} has no panel"))["targets"][0]["expr"].clone()
        };
        for metric in metric_catalog() {
            assert!(expression(&metric.name).to_string().contains(&metric.name));
        }
        for (name, expected) in [
            (
                "controller_runtime_reconcile_total",
                "sum by (controller, result) (rate(controller_runtime_reconcile_total{job=\"$job\"}[$__rate_interval]))",
            ),
            (
                "controller_runtime_reconcile_time_seconds",
                "histogram_quantile(0.99, sum by (le, controller) \
                 (rate(controller_runtime_reconcile_time_seconds_bucket{job=\"$job\"}[$__rate_interval])))",
            ),
            (
                "kubewright_informer_objects",
                "sum by (pod, kind) (kubewright_informer_objects{job=\"$job\"})",
            ),
            (
                "kubewright_events_dropped_total",
                "sum by () (rate(kubewright_events_dropped_total{job=\"$job\"}[$__rate_interval]))",
            ),
        ] {
            assert_eq!(expression(name), expected);
        }
    }

    #[test]
    fn panels_do_not_overlap_and_have_different_ids() {
        let mut cells = std::collections::BTreeSet::new();
        let mut ids = std::collections::BTreeSet::new();
        for panel in panels() {
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
            let at = |field: &str| panel["gridPos"][field].as_u64().unwrap();
            for (x, y) in (0..at("w")).flat_map(|x| (0..at("h")).map(move |y| (x, y))) {
                let cell = (at("x") + x, at("y") + y);
                assert!(cell.0 < 24 && cells.insert(cell), "{panel}");
            }
        }
    }
}
