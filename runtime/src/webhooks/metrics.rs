//! Metrics of webhooks: controller-runtime's, by HTTP request, and our own, by review.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use super::{Operation, admission::AdmissionOutcome};

/// The metrics of all webhooks. Cloning copies pointers.
#[derive(Clone, Debug)]
pub(crate) struct WebhookMetrics {
    requests: Family<RequestLabels, Counter>,
    in_flight: Family<WebhookLabels, Gauge>,
    latency: Family<WebhookLabels, Histogram, fn() -> Histogram>,
    reviews: Family<ReviewLabels, Counter>,
}

/// The label `webhook` is the path, as in controller-runtime.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WebhookLabels {
    webhook: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    webhook: String,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReviewLabels {
    webhook: String,
    operation: String,
    answer: &'static str,
}

impl Default for WebhookMetrics {
    fn default() -> Self {
        let latency: fn() -> Histogram = || Histogram::new(exponential_buckets(10e-9, 10.0, 12));
        Self {
            requests: Family::default(),
            in_flight: Family::default(),
            latency: Family::new_with_constructor(latency),
            reviews: Family::default(),
        }
    }
}

impl WebhookMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let webhook = registry.sub_registry_with_prefix("controller_runtime_webhook");
        webhook.register(
            "requests",
            "Requests to webhooks by HTTP status code",
            self.requests.clone(),
        );
        webhook.register(
            "requests_in_flight",
            "Requests that are being served",
            self.in_flight.clone(),
        );
        webhook.register("latency_seconds", "Duration of requests", self.latency.clone());
        registry.sub_registry_with_prefix("kubewright_webhook").register(
            "reviews",
            "Admission reviews by operation and answer",
            self.reviews.clone(),
        );
    }

    /// Counts a review; no outcome: the webhook failed.
    pub(crate) fn reviewed(
        &self,
        path: &str,
        operation: Option<Operation>,
        outcome: Option<AdmissionOutcome>,
    ) {
        let labels = ReviewLabels {
            webhook: path.to_owned(),
            operation: operation.map_or_else(String::new, |operation| operation.to_string()),
            answer: match outcome {
                Some(AdmissionOutcome::Allowed) => "allowed",
                Some(AdmissionOutcome::Denied) => "denied",
                None => "failed",
            },
        };
        self.reviews.get_or_create(&labels).inc();
    }

    /// The metrics of the requests to one path.
    pub(super) fn of_path(&self, path: &str) -> PathMetrics {
        let labels = WebhookLabels {
            webhook: path.to_owned(),
        };
        let metrics = PathMetrics {
            path: path.to_owned(),
            requests: self.requests.clone(),
            in_flight: self.in_flight.get_or_create_owned(&labels),
            latency: self.latency.get_or_create_owned(&labels),
        };
        // The series of the most likely codes exist from the start, as in controller-runtime.
        for code in [200, 500] {
            drop(metrics.requests.get_or_create(&metrics.labels(code)));
        }
        metrics
    }
}

/// The metrics of the requests to one path.
#[derive(Clone, Debug)]
pub(super) struct PathMetrics {
    path: String,
    requests: Family<RequestLabels, Counter>,
    pub(super) in_flight: Gauge,
    latency: Histogram,
}

impl PathMetrics {
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn answered(&self, code: u16, took: Duration) {
        self.latency.observe(took.as_secs_f64());
        self.requests.get_or_create(&self.labels(code)).inc();
    }

    fn labels(&self, code: u16) -> RequestLabels {
        RequestLabels {
            webhook: self.path.clone(),
            code,
        }
    }
}
