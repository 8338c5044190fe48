use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::apps::v1::Deployment;
use prometheus_client::metrics::counter::Counter;
use serde_json::json;

use super::*;
use crate::{
    ApiResource, Kind, NamespacedName,
    cache::{InformerOptions, StorageMode, Transform},
    client::{Connection, Get, TypedClient},
    controller::{ControllerMetrics, Outcome},
    testing::ScriptedApi,
    webhooks::{AdmissionHandler, Validator, WebhookBuilder, router::Routes},
    workqueue::{Priority, QueueMetrics, QueueStats},
};

/// Returns the metrics of an operator with one Deployment in its cache.
fn metrics() -> Metrics {
    let informers = SharedInformerFactory::new(Connection::late());
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
async fn controller_runtime_and_client_go_metric_names_are_exported() {
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
    foo.write_wait_started();
    foo.write_wait_started();
    foo.write_wait_timed_out();
    foo.own_event_ignored();
    foo.follow_up_scheduled();
    foo.follow_up_scheduled();
    foo.follow_up_delayed();

    let handler = metrics.into_handler();
    assert_eq!(handler(&Uri::from_static("/other")), TextResponse::not_found());
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
        r#"kubewright_controller_follow_ups_total{controller="foo"} 2"#,
        r#"kubewright_controller_follow_ups_delayed_total{controller="foo"} 1"#,
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

/// Prometheus rejects a scrape with a duplicate series.
#[tokio::test]
async fn no_two_informers_share_a_series() {
    let informers = SharedInformerFactory::new(Connection::late());
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

struct AcceptAll;

impl Validator<Deployment> for AcceptAll {}

#[tokio::test]
async fn documented_metrics_equal_the_exported_ones() {
    let mut metrics = metrics();
    let controller = metrics.controller("foo", 1);
    controller.started();
    controller.finished(Some(Outcome::Success), Duration::ZERO);
    metrics.observe_queues(vec![("foo".into(), Box::new(QueueStats::default))]);
    let connection = Connection::late();
    metrics.count_requests(connection.request_metrics().unwrap());
    connection.connect_to(&ScriptedApi::new().connection());
    let informers = SharedInformerFactory::new(connection.clone());
    let connection = connection.with_cached_objects(informers.cached_objects());
    if let Some(applies) = connection.apply_cache() {
        metrics.count_skipped_applies(applies);
    }
    let handler = AdmissionHandler::validating::<Deployment>(AcceptAll);
    let mut webhooks = Webhooks::default();
    webhooks.add(WebhookBuilder::new(false, Deployment::info(), handler));
    webhooks.add_to(&mut Routes::default(), &informers, &Arc::default(), |_| {
        unreachable!("there are no components")
    });
    webhooks.metrics.reviewed("/validate", None, None);
    metrics.count_reviews(&webhooks);
    metrics.count_ignored_annotations(Counter::default());
    // Counts with any response.
    let client = TypedClient::<Deployment, (Get,)>::new(connection);
    let _ = client.get(&NamespacedName::namespaced("default", "web")).await;
    let text = metrics.into_handler()(&Uri::from_static("/metrics")).body;
    let exported: BTreeSet<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .map(|(name, kind)| match kind {
            "counter" => (format!("{name}_total"), kind.to_owned()),
            _ => (name.to_owned(), kind.to_owned()),
        })
        .collect();
    let documented = catalog::metric_catalog().into_iter();
    let documented = documented.map(|metric| (metric.name, format!("{:?}", metric.kind).to_lowercase()));
    assert_eq!(documented.collect::<BTreeSet<_>>(), exported);
}

#[tokio::test]
async fn operator_metrics_are_served_beside_the_manager_metrics() {
    let counter = Counter::<u64>::default();
    let mut operator = Registry::default();
    operator.register("shop_backups", "Completed backups", counter.clone());
    let mut metrics = metrics();
    metrics.add_operator(operator).unwrap();
    counter.inc();
    let body = metrics.respond().body;
    assert!(body.contains("shop_backups_total 1\n"), "{body}");
    assert!(
        body.contains("# TYPE leader_election_master_status gauge"),
        "{body}"
    );
    assert_eq!(body.matches("# EOF").count(), 1);
    assert!(body.ends_with("# EOF\n"));
}

#[tokio::test]
async fn operator_metric_with_a_reserved_prefix_is_refused() {
    let mut operator = Registry::default();
    operator.register("workqueue_depth", "Mine", Counter::<u64>::default());
    let errors = metrics().add_operator(operator).unwrap_err();
    assert_eq!(
        errors,
        [RegistrationError::ReservedMetric {
            name: "workqueue_depth".into(),
            prefix: "workqueue_",
        }]
    );
    let message = errors[0].to_string();
    assert!(message.ends_with("give it another name"), "{message}");
}
