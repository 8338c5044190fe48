//! Serves `/metrics`, with the names of controller-runtime and client-go where they have one. `metrics.md` beside this
//! folder lists all, for the documentation, the book and [`catalog`].

pub(crate) mod catalog;
mod collectors;
mod controller;

use std::sync::Arc;

use http::{StatusCode, Uri};
use prometheus_client::{
    encoding::{
        EncodeLabelSet,
        text::{encode_eof, encode_registry},
    },
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::server::{HttpHandler, TextResponse};
use crate::{
    cache::SharedInformerFactory,
    client::{ApplyCache, RequestMetrics},
    controller::RegistrationError,
    events::Recorder,
    webhooks::Webhooks,
};

pub(super) use collectors::QueueStatsReader;
pub(super) use controller::{ControllerFamilies, MeteredController};

/// Prefixes of the manager's own metrics.
const RESERVED_PREFIXES: [&str; 5] = [
    "controller_runtime_",
    "workqueue_",
    "rest_client_",
    "leader_election_",
    "kubewright_",
];

/// The metrics of one manager.
pub(super) struct Metrics {
    registry: Registry,
    /// The operator's own metrics, from [`Setup::metrics`](crate::controller::Setup::metrics).
    operator: Registry,
    controllers: ControllerFamilies,
    leading: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseLabels {
    name: String,
}

impl Metrics {
    /// Returns the metrics of an operator. `lease` is the name of its leader lease.
    pub(super) fn new(lease: &str, informers: SharedInformerFactory, recorder: Recorder) -> Self {
        let mut registry = Registry::default();
        let leading = Family::<LeaseLabels, Gauge>::default();
        registry.register(
            "leader_election_master_status",
            "Whether this replica leads",
            leading.clone(),
        );
        registry.register_collector(Box::new(collectors::InformerCollector(informers)));
        registry.register_collector(Box::new(collectors::EventCollector(recorder)));
        Self {
            controllers: ControllerFamilies::register(&mut registry),
            leading: leading.get_or_create_owned(&LeaseLabels {
                name: lease.to_owned(),
            }),
            registry,
            operator: Registry::default(),
        }
    }

    /// Adds the operator's own metrics. Fails if one has a reserved prefix.
    pub(super) fn add_operator(&mut self, operator: Registry) -> Result<(), Vec<RegistrationError>> {
        let mut text = String::new();
        // Writing to a `String` fails only if a metric of the operator does; the scrape reports that.
        let _ = encode_registry(&mut text, &operator);
        let names = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
        let errors: Vec<_> = names
            .filter_map(|name| {
                let prefix = RESERVED_PREFIXES
                    .into_iter()
                    .find(|prefix| name.starts_with(prefix))?;
                Some(RegistrationError::ReservedMetric {
                    name: name.to_owned(),
                    prefix,
                })
            })
            .collect();
        self.operator = operator;
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Adds the request metrics of the operator's connection.
    pub(super) fn count_requests(&mut self, requests: &RequestMetrics) {
        self.registry.sub_registry_with_prefix("rest_client").register(
            "requests",
            "Requests to the API server by code, method and host",
            requests.metric(),
        );
    }

    /// Adds the metrics of webhooks, of which there are some.
    pub(super) fn count_reviews(&mut self, webhooks: &Webhooks) {
        webhooks.metrics.register(&mut self.registry);
    }

    /// Adds the count of applies of the operator's clients that were not sent.
    pub(super) fn count_skipped_applies(&mut self, applies: &ApplyCache) {
        self.registry.register(
            "kubewright_client_applies_skipped",
            "Applies that were not sent, because the cache showed that they would change nothing",
            applies.skipped().clone(),
        );
    }

    /// Adds the count of annotations that conversions ignored.
    pub(super) fn count_ignored_annotations(&mut self, ignored: Counter) {
        self.registry.register(
            "kubewright_conversion_annotations_ignored",
            "Annotations with values of another version that did not decode",
            ignored,
        );
    }

    /// Returns the metrics of one controller.
    pub(super) fn controller(&self, name: &str, workers: usize) -> Arc<MeteredController> {
        Arc::new(self.controllers.of(name, workers))
    }

    /// Adds queues by controller name; their figures are read at each scrape.
    pub(super) fn observe_queues(&mut self, queues: Vec<(String, QueueStatsReader)>) {
        self.registry
            .register_collector(Box::new(collectors::QueueCollector(queues)));
    }

    /// Returns the gauge that is 1 while this replica leads.
    pub(super) fn leading(&self) -> Gauge {
        self.leading.clone()
    }

    /// Returns the handler of `/metrics`.
    pub(super) fn into_handler(self) -> HttpHandler {
        Arc::new(move |uri: &Uri| match uri.path().trim_end_matches('/') {
            "/metrics" => self.respond(),
            _ => TextResponse::not_found(),
        })
    }

    fn respond(&self) -> TextResponse {
        let mut body = String::new();
        let encoded = encode_registry(&mut body, &self.registry)
            .and_then(|()| encode_registry(&mut body, &self.operator))
            .and_then(|()| encode_eof(&mut body));
        match encoded {
            Ok(()) => TextResponse {
                status: StatusCode::OK,
                content_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
                body,
            },
            Err(error) => TextResponse::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        }
    }
}

#[cfg(test)]
mod tests;
