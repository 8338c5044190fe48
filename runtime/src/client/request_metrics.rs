//! Metrics of requests: `rest_client_requests_total`.

use std::{fmt, sync::Arc};

use super::http_client::{PendingResponse, ResponseBody};
use http::{Method, Response};
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder},
    metrics::{counter::Counter, family::Family},
};

/// Counts the requests of an operator by code, method and host. Cloning copies a pointer.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestMetrics(Family<RequestLabels, Counter>);

/// client-go's label names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    code: StatusLabel,
    method: MethodLabel,
    host: HostLabel,
}

/// The HTTP status; none if there was no response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StatusLabel(Option<u16>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MethodLabel(Method);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct HostLabel(Arc<str>);

impl EncodeLabelValue for StatusLabel {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        match self.0 {
            Some(code) => code.to_string().as_str().encode(encoder),
            None => "<error>".encode(encoder),
        }
    }
}

impl EncodeLabelValue for MethodLabel {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.0.as_str().encode(encoder)
    }
}

impl EncodeLabelValue for HostLabel {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        (&*self.0).encode(encoder)
    }
}

impl RequestMetrics {
    /// Returns the counters, exported as `rest_client_requests_total`.
    pub(crate) fn metric(
        &self,
    ) -> Family<impl EncodeLabelSet + Clone + fmt::Debug + Eq + std::hash::Hash + Send + Sync + use<>, Counter>
    {
        self.0.clone()
    }

    /// Waits for the response to a request, and counts it as soon as its head has arrived.
    pub(super) async fn count(
        self,
        host: Arc<str>,
        method: Method,
        response: PendingResponse,
    ) -> Result<Response<ResponseBody>, kube::Error> {
        let response = response.await;
        let code = StatusLabel(response.as_ref().ok().map(|response| response.status().as_u16()));
        let (method, host) = (MethodLabel(method), HostLabel(host));
        self.0.get_or_create(&RequestLabels { code, method, host }).inc();
        response
    }
}
