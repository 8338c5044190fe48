//! How many requests were answered, and how.

use std::{fmt, sync::Arc};

use http::{Method, Request, Response};
use kube::client::Body;
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder},
    metrics::{counter::Counter, family::Family},
};
use tower::BoxError;

/// The requests of an operator by code, method and host. Cloning copies a pointer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests(Family<Labels, Counter>);

/// The names are client-go's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    code: Code,
    method: Verb,
    host: Host,
}

/// None where there was no answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Code(Option<u16>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Verb(Method);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Host(Arc<str>);

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        match self.0 {
            Some(code) => code.to_string().as_str().encode(encoder),
            None => "<error>".encode(encoder),
        }
    }
}

impl EncodeLabelValue for Verb {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.0.as_str().encode(encoder)
    }
}

impl EncodeLabelValue for Host {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        (&*self.0).encode(encoder)
    }
}

impl Requests {
    /// What is exported as `rest_client_requests_total`.
    pub(crate) fn metric(
        &self,
    ) -> Family<impl EncodeLabelSet + Clone + fmt::Debug + Eq + std::hash::Hash + Send + Sync + use<>, Counter>
    {
        self.0.clone()
    }

    /// Counts the answer to a request, when its head is there.
    pub(super) async fn count(
        &self,
        host: Arc<str>,
        client: kube::Client,
        request: Request<Body>,
    ) -> Result<Response<Body>, BoxError> {
        let method = Verb(request.method().clone());
        let answer = client.send(request).await;
        let code = Code(answer.as_ref().ok().map(|response| response.status().as_u16()));
        let host = Host(host);
        self.0.get_or_create(&Labels { code, method, host }).inc();
        Ok(answer?)
    }
}
