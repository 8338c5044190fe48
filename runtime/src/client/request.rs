//! One request of the typed client: it is prepared, sent, resent if that helps, and its response decoded. Every write of the library passes
//! through [`PreparedRequest::fetch`], but for those of the leader lease.

use std::fmt;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, WARNING},
};
use http_body_util::BodyExt;
use kube::{
    client::Body,
    core::params::{Patch, PatchParams},
};
use serde::de::{DeserializeOwned, Error as _};
use tokio::time::sleep;

use super::{
    ClientError, ClientErrorCause, Connection,
    apply_cache::SentApply,
    error_response::decode_error_response,
    fence::{Fence, FenceError},
    http_client::ResponseBody,
    removed_version,
    retry::{resend::resend_delay, retry_after::retry_after},
    user_agent,
    write_observer::SentWrite,
};
use crate::{ApiResource, NamespacedName, Scope};

/// The action and the target of a request, for its path, its errors and its permissions.
#[derive(Debug, Clone)]
pub(crate) struct ApiRequest {
    /// The RBAC verb, or `apply` or `delete all`.
    pub(crate) action: &'static str,
    pub(crate) info: ApiResource,
    pub(crate) subresource: Option<&'static str>,
    pub(crate) namespace: Option<String>,
    /// None for a collection. For an object to be named by the API server it is `generateName`.
    pub(crate) name: Option<String>,
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    api_request: ApiRequest,
    http_request: http::Request<Bytes>,
    is_repeatable: bool,
    /// Set for applies, which may be skipped.
    field_manager: Option<String>,
}

impl ApiRequest {
    /// Creates a request to the collection of one namespace, or of all.
    pub(crate) fn new(
        info: ApiResource,
        action: &'static str,
        namespace: Option<&str>,
    ) -> Result<Self, ClientError> {
        let request = Self {
            action,
            info,
            subresource: None,
            namespace: namespace.map(str::to_owned),
            name: None,
        };
        match (request.info.scope, namespace) {
            (Scope::Cluster, Some(_)) => {
                let why = format!(
                    "kind {} is cluster-scoped: leave the namespace out",
                    request.info.kind
                );
                Err(request.refuse(why))
            }
            (_, Some(namespace)) if !is_path_segment(namespace) => {
                let why = format!("{namespace:?} is not a valid namespace name");
                Err(request.refuse(why))
            }
            _ => Ok(request),
        }
    }

    /// Creates a request to one object. An object of a namespaced kind must have a namespace.
    pub(crate) fn object(
        info: ApiResource,
        action: &'static str,
        object: &NamespacedName,
    ) -> Result<Self, ClientError> {
        let mut request = Self::new(info, action, object.namespace())?;
        request.name = Some(object.name().to_owned());
        if !is_path_segment(object.name()) {
            let why = format!("{:?} is not a valid object name", object.name());
            return Err(request.refuse(why));
        }
        request.in_namespace()
    }

    /// Fails for a namespaced kind without a namespace.
    pub(crate) fn in_namespace(self) -> Result<Self, ClientError> {
        if self.info.scope == Scope::Namespaced && self.namespace.is_none() {
            let why = format!(
                "kind {} is namespaced: name the object's namespace",
                self.info.kind
            );
            return Err(self.refuse(why));
        }
        Ok(self)
    }

    pub(crate) fn subresource(mut self, subresource: Option<&'static str>) -> Self {
        self.subresource = subresource;
        self
    }

    /// Returns the object's name; `None` for a collection.
    pub(crate) fn namespaced_name(&self) -> Option<NamespacedName> {
        let name = self.name.as_deref()?;
        Some(NamespacedName::in_scope(self.namespace.as_deref(), name))
    }

    /// Returns the object's name in the path. Only for requests of [`object`](Self::object); empty otherwise.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Returns kube's builder of HTTP requests for this collection.
    pub(crate) fn builder(&self) -> kube::core::Request {
        kube::core::Request::new(self.info.path(self.namespace.as_deref()))
    }

    /// Builds a patch of the object, or of its subresource. kube builds path and query. Body and media type are set afterwards, because kube
    /// builds its own patches from a value, and JSON patches from another crate's type.
    pub(crate) fn patch(
        &self,
        params: &PatchParams,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<http::Request<Vec<u8>>, kube::core::request::Error> {
        let empty = Patch::Apply(());
        let mut request = match self.subresource {
            None => self.builder().patch(self.name(), params, &empty),
            Some(subresource) => self
                .builder()
                .patch_subresource(subresource, self.name(), params, &empty),
        }?;
        request
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        *request.body_mut() = body;
        Ok(request)
    }

    /// Returns the RBAC verb.
    pub(crate) fn verb(&self) -> &'static str {
        match self.action {
            "apply" => "patch",
            "delete all" => "deletecollection",
            action => action,
        }
    }

    /// Returns the resource as roles write it, with the namespace, for error messages.
    pub(crate) fn resource(&self) -> String {
        let subresource = self
            .subresource
            .map(|name| format!("/{name}"))
            .unwrap_or_default();
        let group = if self.info.group.is_empty() {
            String::new()
        } else {
            format!(".{}", self.info.group)
        };
        let scope = match (&self.namespace, self.info.scope) {
            (Some(namespace), _) => format!("in namespace {namespace}"),
            (None, Scope::Namespaced) => "in all namespaces".to_owned(),
            (None, Scope::Cluster) => "in the cluster".to_owned(),
        };
        format!("{}{subresource}{group} {scope}", self.info.plural)
    }

    /// The error of a request that is wrong and was not sent.
    pub(crate) fn refuse(self, why: impl Into<String>) -> ClientError {
        self.fail(ClientErrorCause::Request(why.into()))
    }

    pub(crate) fn fail(self, cause: ClientErrorCause) -> ClientError {
        ClientError::new(self, cause)
    }

    /// Serializes the body.
    pub(crate) fn body(self, object: &impl serde::Serialize) -> Result<(Self, Vec<u8>), ClientError> {
        match serde_json::to_vec(object) {
            Ok(body) => Ok((self, body)),
            Err(error) => Err(self.fail(ClientErrorCause::Serialize(error))),
        }
    }

    /// Adds the HTTP request.
    pub(crate) fn prepare(
        self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<PreparedRequest, ClientError> {
        match request {
            Ok(request) => Ok(PreparedRequest {
                is_repeatable: request.method().is_safe() || self.action == "apply",
                api_request: self,
                http_request: request.map(Bytes::from),
                field_manager: None,
            }),
            Err(error) => Err(self.refuse(error.to_string())),
        }
    }
}

impl PreparedRequest {
    /// Sends the request, resends it if it is repeatable and temporarily refused, and decodes the response. An apply that would change
    /// nothing is answered from the cache; see `apply_cache`.
    pub(crate) async fn fetch<T: DeserializeOwned>(
        mut self,
        connection: &Connection,
    ) -> Result<T, ClientError> {
        self.http_request = self
            .http_request
            .map(|body| connection.owner_versions().apply_to(body));
        let apply = self.sent_apply(connection);
        if let Some(apply) = &apply
            && let Some(object) = self.unchanged_object(connection, apply)
        {
            return Ok(object);
        }
        let (api_request, body) = self.fetch_body(connection, apply).await?;
        decode(&body).map_err(|error| api_request.fail(ClientErrorCause::Decode(error)))
    }

    /// Returns the apply that the request is; none if it is another request, or applies are always sent.
    fn sent_apply(&self, connection: &Connection) -> Option<SentApply> {
        let applies = connection.apply_cache().filter(|applies| applies.is_enabled())?;
        let field_manager = self.field_manager.as_deref().filter(|_| self.is_write())?;
        Some(SentApply {
            key: applies.key(&self.http_request, &self.api_request, field_manager),
            intent: self.http_request.body().clone(),
        })
    }

    /// Returns the object from the cache if the apply would not change it.
    fn unchanged_object<T: DeserializeOwned>(&self, connection: &Connection, apply: &SentApply) -> Option<T> {
        if !connection.fence().is_none_or(Fence::is_open) {
            return None;
        }
        let unchanged = connection
            .apply_cache()?
            .unchanged_object(&self.api_request, &apply.key, decode);
        if unchanged.is_some() {
            tracing::debug!(request = %self.api_request, "apply not sent: the cache shows that it would change nothing");
        }
        unchanged
    }

    /// Sends the request, and returns the body of the response. It is not generic, so that it is compiled once and not for each kind.
    async fn fetch_body(
        self,
        connection: &Connection,
        apply: Option<SentApply>,
    ) -> Result<(ApiRequest, Bytes), ClientError> {
        let applies = connection
            .apply_cache()
            .filter(|applies| applies.is_enabled() && self.is_write());
        let observed = SentWrite::before_send(&self.api_request, self.is_dry_run());
        let write = applies.map(|applies| applies.begin_write(&self.api_request));
        let mut attempts = 0;
        let response = self.send(connection, &mut attempts).await;
        match (write, &response) {
            (Some(write), Ok(SuccessfulResponse { headers, body, .. })) => {
                write.succeeded(body, headers.contains_key(WARNING), apply);
            }
            // After the first attempt, an earlier one may have been carried out.
            (Some(write), Err(error)) if attempts <= 1 && error.is_rejected() => write.refused(),
            _ => {}
        }
        let SuccessfulResponse {
            api_request, body, ..
        } = response?;
        if let Some(observed) = observed {
            observed.succeeded(&api_request, &body);
        }
        Ok((api_request, body))
    }

    fn is_write(&self) -> bool {
        !self.http_request.method().is_safe() && !self.is_dry_run()
    }

    /// Whether it is a dry run: by the query, or for a deletion by the body.
    fn is_dry_run(&self) -> bool {
        let query = self.http_request.uri().query().unwrap_or_default();
        let is_in_body = || memchr::memmem::find(self.http_request.body(), b"\"dryRun\"").is_some();
        query.contains("dryRun=") || (self.api_request.action == "delete" && is_in_body())
    }

    /// Sends the request once, over a connection of its own, and returns the response's body unread.
    pub(super) async fn open(
        self,
        connection: &Connection,
    ) -> Result<(ApiRequest, ResponseBody), ClientError> {
        let Self {
            api_request,
            mut http_request,
            ..
        } = self;
        user_agent::add_suffix(&mut http_request);
        connection.rate_limit().wait().await;
        let response = async {
            let response = connection.send_stream(http_request.map(Body::from)).await?;
            let (head, body) = response.into_parts();
            if head.status.is_success() {
                return Ok(Ok(body));
            }
            Ok(Err(decode_error_response(
                head.status,
                &head.headers,
                &body.collect().await?.to_bytes(),
            )))
        };
        match response.await {
            Ok(Ok(body)) => Ok((api_request, body)),
            Ok(Err(status)) => Err(api_request.fail(ClientErrorCause::Refused(Box::new(status)))),
            Err(error) => Err(api_request.fail(ClientErrorCause::Unanswered(error))),
        }
    }

    /// Counts the attempts in `attempts`.
    async fn send(
        self,
        connection: &Connection,
        attempts: &mut u32,
    ) -> Result<SuccessfulResponse, ClientError> {
        let mut may_reset = self.field_manager.is_some() && !self.is_dry_run();
        let Self {
            api_request,
            mut http_request,
            is_repeatable,
            field_manager: _,
        } = self;
        user_agent::add_suffix(&mut http_request);
        loop {
            let attempt = *attempts;
            *attempts += 1;
            let (code, headers, body) = match send_once(connection, http_request.clone()).await {
                Ok((code, headers, body)) if code.is_success() => {
                    return Ok(SuccessfulResponse {
                        api_request,
                        headers,
                        body,
                    });
                }
                Ok(response) => response,
                Err(cause) => return Err(api_request.fail(cause)),
            };
            let status = decode_error_response(code, &headers, &body);
            if removed_version::is_named_by(code, &status)
                && std::mem::take(&mut may_reset)
                && let Some(reset) = removed_version::reset_of(&http_request)
            {
                tracing::info!(
                    request = %api_request,
                    "managedFields name a version that the definition has no more: dropping them",
                );
                if let Ok((StatusCode::OK, ..)) = send_once(connection, reset).await {
                    continue;
                }
            }
            match resend_delay(attempt, code, retry_after(&status)) {
                Some(delay) if is_repeatable && connection.retries() => {
                    tracing::debug!(request = %api_request, %code, ?delay, "temporarily refused, sending again");
                    sleep(delay).await;
                }
                _ => return Err(api_request.fail(ClientErrorCause::Refused(Box::new(status)))),
            }
        }
    }

    /// Marks an apply of this field manager, which need not be sent if the cache shows that it would change nothing.
    pub(super) fn skippable(self, field_manager: String) -> Self {
        Self {
            field_manager: Some(field_manager),
            ..self
        }
    }

    /// Marks the request as idempotent: it may be resent.
    pub(super) fn repeatable(self) -> Self {
        Self {
            is_repeatable: true,
            ..self
        }
    }
}

/// A successful response and its request.
struct SuccessfulResponse {
    api_request: ApiRequest,
    headers: HeaderMap,
    body: Bytes,
}

/// Decodes JSON of the API server. The whole is checked to be UTF-8 at once, not each string. The cache's decoder also reads text, so that a
/// kind's `Deserialize` is compiled for one reader.
fn decode<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    let text = simdutf8::basic::from_utf8(json).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}

type RawResponse = (StatusCode, HeaderMap, Bytes);

/// Sends a request within the rate limit; a write only while the fence is open.
async fn send_once(
    connection: &Connection,
    request: http::Request<Bytes>,
) -> Result<RawResponse, ClientErrorCause> {
    connection.rate_limit().wait().await;
    let fence = connection.fence().filter(|_| !request.method().is_safe());
    let response = async {
        let response = connection.send(request.map(Body::from)).await?;
        let (head, body) = response.into_parts();
        Ok((head.status, head.headers, body.collect().await?.to_bytes()))
    };
    let response = match fence {
        None => response.await,
        Some(fence) => match fence.guard(response).await {
            Ok(response) => response,
            Err(FenceError::NotSent) => return Err(ClientErrorCause::NotLeading),
            Err(abandoned) => Err(kube::Error::Service(abandoned.into())),
        },
    };
    response.map_err(ClientErrorCause::Unanswered)
}

impl fmt::Display for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.action)?;
        if let Some(subresource) = self.subresource {
            write!(f, "the {subresource} of ")?;
        }
        f.write_str(&self.info.kind)?;
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (None, Some(name)) => write!(f, " {name}"),
            (Some(namespace), None) => write!(f, " in namespace {namespace}"),
            (None, None) => Ok(()),
        }
    }
}

/// Whether a name is valid as a path segment: the API server's check, and no character that would end the path.
fn is_path_segment(name: &str) -> bool {
    let is_invalid = |c: char| matches!(c, '/' | '%' | '?' | '#') || c.is_whitespace() || c.is_control();
    !(name.is_empty() || name == "." || name == ".." || name.contains(is_invalid))
}
