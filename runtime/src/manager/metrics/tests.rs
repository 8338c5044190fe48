use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;

use super::*;
use crate::{
    ApiResource, Kind, NamespacedName,
    cache::{InformerOptions, StorageMode, Transform},
    client::{Connection, Get, TypedClient},
    controller::{ControllerMetrics, Outcome},
    testing::ScriptedApi,
    workqueue::{Priority, QueueMetrics, QueueStats},
};

/// Those of an operator with one Deployment in its cache.
fn metrics() -> Metrics {
    let informers = SharedInformerFactory::new(Connection::late().0);
    informers.of::<Deployment>();
    informers.with::<Deployment>(InformerOptions {
        namespaces: Some(vec![]),
        label_selector: Some("a=b".into()),
        storage: StorageMode::Raw,
        ..InformerOptions::default()
    });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "resourceVersion": "1", "uid": "u"},
    });
    informers.seed(&Deployment::info(), &deployment).unwrap();
    Metrics::new("shop", informers, Recorder::pipeline("shop").0)
}

#[tokio::test]
async fn dashboards_of_controller_runtime_find_their_names() {
    let mut metrics = metrics();
    let foo = metrics.controller("foo", 2);
    let stats = QueueStats {
        depth: 3,
        depths: [(Priority(7), 1), (Priority::NORMAL, 2)].into_iter().collect(),
        ..QueueStats::default()
    };
    metrics.observe_queues(vec![("foo".into(), Box::new(move || stats.clone()))]);
    metrics.leading().set(1);
    foo.added();
    foo.waited(Duration::from_millis(2));
    for outcome in [
        Some(Outcome::Success),
        Some(Outcome::TerminalError),
        Some(Outcome::Panic),
        Some(Outcome::Timeout),
        None,
    ] {
        foo.started();
        foo.finished(outcome, Duration::from_millis(20));
    }
    foo.started();
    foo.waits();
    foo.waits();
    foo.wait_overdue();
    foo.own_event();

    let handler = metrics.into_handler();
    assert_eq!(handler(&Uri::from_static("/other")), Answer::not_found());
    let text = handler(&Uri::from_static("/metrics")).body;
    for line in [
        r#"controller_runtime_reconcile_total{controller="foo",result="success"} 1"#,
        r#"controller_runtime_reconcile_total{controller="foo",result="error"} 3"#,
        r#"controller_runtime_reconcile_total{controller="foo",result="requeue_after"} 0"#,
        r#"controller_runtime_reconcile_errors_total{controller="foo"} 3"#,
        r#"controller_runtime_terminal_reconcile_errors_total{controller="foo"} 1"#,
        r#"controller_runtime_reconcile_panics_total{controller="foo"} 1"#,
        r#"controller_runtime_reconcile_timeouts_total{controller="foo"} 1"#,
        r#"kubewright_controller_write_waits_total{controller="foo"} 2"#,
        r#"kubewright_controller_write_waits_overdue_total{controller="foo"} 1"#,
        r#"kubewright_controller_own_events_total{controller="foo"} 1"#,
        r#"controller_runtime_reconcile_time_seconds_bucket{le="0.025",controller="foo"} 4"#,
        r#"controller_runtime_max_concurrent_reconciles{controller="foo"} 2"#,
        r#"controller_runtime_active_workers{controller="foo"} 1"#,
        r#"workqueue_adds_total{name="foo",controller="foo"} 1"#,
        r#"workqueue_retries_total{name="foo",controller="foo"} 0"#,
        r#"workqueue_queue_duration_seconds_count{name="foo",controller="foo"} 1"#,
        r#"workqueue_work_duration_seconds_count{name="foo",controller="foo"} 0"#,
        r#"workqueue_depth{name="foo",controller="foo",priority="-100"} 0"#,
        r#"workqueue_depth{name="foo",controller="foo",priority="0"} 2"#,
        r#"workqueue_depth{name="foo",controller="foo",priority="7"} 1"#,
        r#"workqueue_unfinished_work_seconds{name="foo",controller="foo"} 0.0"#,
        r#"workqueue_longest_running_processor_seconds{name="foo",controller="foo"} 0.0"#,
        r#"leader_election_master_status{name="shop"} 1"#,
        r#"kubewright_informer_objects{group="apps",version="v1",kind="Deployment",namespaces="",selector="",keep="compressed"} 1"#,
        r#"kubewright_informer_decode_errors_total{group="apps",version="v1",kind="Deployment",namespaces="",selector="",keep="compressed"} 0"#,
        r#"kubewright_informer_processing_seconds_total{group="apps",version="v1",kind="Deployment",namespaces="*",selector="a=b",keep="raw"} 0.0"#,
        "kubewright_events_dropped_total 0",
        "kubewright_events_suppressed_total 0",
        "# EOF",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line} is not in\n{text}"
        );
    }
}

/// A scrape with one series twice is refused.
#[tokio::test]
async fn no_two_informers_share_a_series() {
    let informers = SharedInformerFactory::new(Connection::late().0);
    for _ in 0..2 {
        informers.with::<Deployment>(InformerOptions {
            storage: StorageMode::Transformed(Transform::new(|_| {})),
            ..InformerOptions::default()
        });
    }
    informers.metadata_only::<Deployment>();
    informers.of::<Deployment>();
    informers.dynamic(
        ApiResource {
            version: "v2".into(),
            ..Deployment::info()
        },
        InformerOptions::default(),
    );
    let metrics = Metrics::new("shop", informers, Recorder::pipeline("shop").0);
    let text = metrics.into_handler()(&Uri::from_static("/metrics")).body;
    let series = text
        .lines()
        .filter(|line| line.starts_with("kubewright_informer_lists_total"));
    let series: Vec<_> = series.collect();
    let unique: BTreeSet<_> = series.iter().collect();
    assert_eq!((series.len(), unique.len()), (5, 5), "{series:#?}");
}

/// The names in the first column of the documentation's table. A name of `…` begins as the first one of its row does.
fn documented() -> BTreeSet<String> {
    let rows = include_str!("../mod.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `"));
    let mut names = BTreeSet::new();
    for row in rows {
        let (cell, _) = row.split_once(" |").unwrap();
        let mut cell = cell.split([',', '`', ' ']).filter(|name| !name.is_empty());
        let first = cell.next().unwrap();
        let beginning: Vec<_> = first.split('_').take(2).collect();
        names.insert(first.to_owned());
        names.extend(cell.map(|name| name.replace('…', &beginning.join("_"))));
    }
    names
}

#[tokio::test]
async fn the_table_names_what_is_exported_and_nothing_else() {
    let mut metrics = metrics();
    let controller = metrics.controller("foo", 1);
    controller.started();
    controller.finished(Some(Outcome::Success), Duration::ZERO);
    metrics.observe_queues(vec![("foo".into(), Box::new(QueueStats::default))]);
    let (connection, slot) = Connection::late();
    metrics.count_requests(slot.request_metrics());
    slot.connect(&ScriptedApi::new().connection());
    let informers = SharedInformerFactory::new(connection.clone());
    let connection = connection.with_cached_objects(informers.cached_objects());
    if let Some(applies) = connection.apply_cache() {
        metrics.count_skipped_applies(applies);
    }
    // Whatever the answer: it counts.
    let client = TypedClient::<Deployment, (Get,)>::new(connection);
    let _ = client.get(&NamespacedName::namespaced("default", "web")).await;
    let text = metrics.into_handler()(&Uri::from_static("/metrics")).body;
    let exported: BTreeSet<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .map(|(name, what)| match what {
            "counter" => format!("{name}_total"),
            _ => name.to_owned(),
        })
        .collect();
    assert_eq!(documented(), exported);
}
