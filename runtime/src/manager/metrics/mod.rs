//! `/metrics`, with the names of controller-runtime and client-go where they have one, so that dashboards and alerts for them
//! work. The names stand in the documentation of the folder above.

mod collectors;
mod controller;

use std::sync::Arc;

use http::{StatusCode, Uri};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};

use super::server::{Answer, Handler};
use crate::{
    cache::SharedInformerFactory,
    client::{ApplyCache, RequestMetrics},
    events::Recorder,
};

pub(super) use collectors::Queue;
pub(super) use controller::{ControllerFamilies, MeteredController};

/// All metrics of one manager.
pub(super) struct Metrics {
    registry: Registry,
    controllers: ControllerFamilies,
    leading: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Lease {
    name: String,
}

impl Metrics {
    /// The metrics of an operator. `lease` is the name of its leader lease.
    pub(super) fn new(lease: &str, informers: SharedInformerFactory, recorder: Recorder) -> Self {
        let mut registry = Registry::default();
        let leading = Family::<Lease, Gauge>::default();
        registry.register(
            "leader_election_master_status",
            "Whether this replica leads",
            leading.clone(),
        );
        registry.register_collector(Box::new(collectors::Informers(informers)));
        registry.register_collector(Box::new(collectors::Events(recorder)));
        Self {
            controllers: ControllerFamilies::register(&mut registry),
            leading: leading.get_or_create_owned(&Lease {
                name: lease.to_owned(),
            }),
            registry,
        }
    }

    /// Exports the requests of the operator's connection.
    pub(super) fn count_requests(&mut self, requests: &RequestMetrics) {
        self.registry.sub_registry_with_prefix("rest_client").register(
            "requests",
            "Requests to the API server by code, method and host",
            requests.metric(),
        );
    }

    /// Exports how many applies of the operator's clients were not sent.
    pub(super) fn count_skipped_applies(&mut self, applies: &ApplyCache) {
        self.registry.register(
            "kubewright_client_applies_skipped",
            "Applies that were not sent, because the cache showed that they would change nothing",
            applies.skipped().clone(),
        );
    }

    /// Counts for one controller.
    pub(super) fn controller(&self, name: &str, workers: usize) -> Arc<MeteredController> {
        Arc::new(self.controllers.of(name, workers))
    }

    /// Reads these queues, by the names of their controllers, whenever somebody asks.
    pub(super) fn observe_queues(&mut self, queues: Vec<(String, Queue)>) {
        self.registry
            .register_collector(Box::new(collectors::Queues(queues)));
    }

    /// 1 while this replica leads.
    pub(super) fn leading(&self) -> Gauge {
        self.leading.clone()
    }

    /// Serves `/metrics`.
    pub(super) fn into_handler(self) -> Handler {
        Arc::new(move |uri: &Uri| match uri.path().trim_end_matches('/') {
            "/metrics" => self.answer(),
            _ => Answer::not_found(),
        })
    }

    fn answer(&self) -> Answer {
        let mut body = String::new();
        match encode(&mut body, &self.registry) {
            Ok(()) => Answer {
                status: StatusCode::OK,
                content_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
                body,
            },
            Err(error) => Answer::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        }
    }
}

#[cfg(test)]
mod tests;
