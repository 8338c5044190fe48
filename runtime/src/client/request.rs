//! One request: what it does to what, sent, and its answer read. Every write of the library passes through here.

use std::fmt;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER, WARNING},
};
use http_body_util::BodyExt;
use kube::{
    client::Body,
    core::{
        Status,
        params::{Patch, PatchParams},
    },
};
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::{
    ClientError, ClientErrorCause, Connection,
    apply_cache::SentApply,
    fence::{Fence, Fenced},
    repeat, retry_after, user_agent, write_observer,
};
use crate::{ApiResource, NamespacedName, Scope};

/// What a request does to what.
#[derive(Debug, Clone)]
pub(crate) struct ApiRequest {
    /// What people call it: the role's verb, or `apply`.
    pub(crate) action: &'static str,
    pub(crate) info: ApiResource,
    pub(crate) subresource: Option<&'static str>,
    pub(crate) namespace: Option<String>,
    /// None for a collection, and for an object that the API server will name.
    pub(crate) name: Option<String>,
}

/// A call and its request.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    call: ApiRequest,
    request: http::Request<Bytes>,
    is_repeatable: bool,
    /// Of an apply that may be skipped.
    field_manager: Option<String>,
}

impl ApiRequest {
    /// A request to the collection of one namespace, or of all.
    pub(crate) fn new(
        info: ApiResource,
        action: &'static str,
        namespace: Option<&str>,
    ) -> Result<Self, ClientError> {
        let call = Self {
            action,
            info,
            subresource: None,
            namespace: namespace.map(str::to_owned),
            name: None,
        };
        match (call.info.scope, namespace) {
            (Scope::Cluster, Some(_)) => {
                let why = format!(
                    "kind {} is cluster-scoped: leave the namespace out",
                    call.info.kind
                );
                Err(call.refuse(why))
            }
            (_, Some(namespace)) if !is_path_segment(namespace) => {
                let why = format!("{namespace:?} is no name of a namespace");
                Err(call.refuse(why))
            }
            _ => Ok(call),
        }
    }

    /// The same of one object, which must have its namespace if the kind has namespaces.
    pub(crate) fn object(
        info: ApiResource,
        action: &'static str,
        object: &NamespacedName,
    ) -> Result<Self, ClientError> {
        let mut call = Self::new(info, action, object.namespace())?;
        call.name = Some(object.name().to_owned());
        if !is_path_segment(object.name()) {
            let why = format!("{:?} is no name of an object", object.name());
            return Err(call.refuse(why));
        }
        call.in_namespace()
    }

    /// Refuses a namespaced kind without a namespace.
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

    /// The object that the request names; none for a collection.
    pub(crate) fn namespaced_name(&self) -> Option<NamespacedName> {
        let name = self.name.as_deref()?;
        Some(match self.namespace.as_deref() {
            Some(namespace) => NamespacedName::namespaced(namespace, name),
            None => NamespacedName::cluster(name),
        })
    }

    /// The object's name in the path; only for calls of [`object`](Self::object).
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Makes requests to the collection.
    pub(crate) fn request(&self) -> kube::core::Request {
        kube::core::Request::new(self.info.path(self.namespace.as_deref()))
    }

    /// A patch of the object, or of the call's subresource. kube makes the path and the query; body and media type are put in afterwards,
    /// because its own patches are built from a value, and JSON patches from another crate's type.
    pub(crate) fn patch(
        &self,
        params: &PatchParams,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<http::Request<Vec<u8>>, kube::core::request::Error> {
        let empty = Patch::Apply(());
        let mut request = match self.subresource {
            None => self.request().patch(self.name(), params, &empty),
            Some(subresource) => self
                .request()
                .patch_subresource(subresource, self.name(), params, &empty),
        }?;
        request
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        *request.body_mut() = body;
        Ok(request)
    }

    /// The verb that a role must grant.
    pub(crate) fn verb(&self) -> &'static str {
        match self.action {
            "apply" => "patch",
            "delete all" => "deletecollection",
            action => action,
        }
    }

    /// The resource as roles write it, with its place.
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
        let place = match (&self.namespace, self.info.scope) {
            (Some(namespace), _) => format!("in namespace {namespace}"),
            (None, Scope::Namespaced) => "in all namespaces".to_owned(),
            (None, Scope::Cluster) => "in the cluster".to_owned(),
        };
        format!("{}{subresource}{group} {place}", self.info.plural)
    }

    pub(crate) fn refuse(self, why: impl Into<String>) -> ClientError {
        self.fail(ClientErrorCause::Request(why.into()))
    }

    pub(crate) fn fail(self, cause: ClientErrorCause) -> ClientError {
        ClientError::new(self, cause)
    }

    /// The JSON of what is to be sent.
    pub(crate) fn body(self, object: &impl serde::Serialize) -> Result<(Self, Vec<u8>), ClientError> {
        match serde_json::to_vec(object) {
            Ok(body) => Ok((self, body)),
            Err(error) => Err(self.fail(ClientErrorCause::Serialize(error))),
        }
    }

    /// The call with its request, to be sent.
    pub(crate) fn prepare(
        self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<PreparedRequest, ClientError> {
        match request {
            Ok(request) => Ok(PreparedRequest {
                is_repeatable: request.method().is_safe() || self.action == "apply",
                call: self,
                request: request.map(Bytes::from),
                field_manager: None,
            }),
            Err(error) => Err(self.refuse(error.to_string())),
        }
    }
}

impl PreparedRequest {
    /// Sends the request, again where that is harmless and may help, and decodes the answer.
    pub(crate) async fn fetch<T: DeserializeOwned>(self, connection: &Connection) -> Result<T, ClientError> {
        let is_dry_run = self.is_dry_run();
        let is_write = !is_dry_run && !self.request.method().is_safe();
        let applies = connection.apply_cache().filter(|_| is_write);
        let apply = applies.and_then(|applies| {
            let field_manager = self.field_manager.as_deref()?;
            Some(SentApply {
                key: applies.key(&self.request, &self.call, field_manager),
                intent: self.request.body().clone(),
            })
        });
        if let (Some(applies), Some(apply)) = (applies, &apply)
            && connection.fence().is_none_or(Fence::is_open)
            && let Some(object) = applies.unchanged_object(&self.call, &apply.key)
        {
            tracing::debug!(call = %self.call, "apply not sent: the cache shows that it would change nothing");
            return Ok(object);
        }
        let write = applies.map(|applies| applies.begin_write(&self.call));
        let mut attempts = 0;
        let answered = self.send(connection, &mut attempts).await;
        match (write, &answered) {
            (Some(write), Ok(Answered { headers, body, .. })) => {
                write.succeeded(body, headers.contains_key(WARNING), apply);
            }
            // After the first attempt, an earlier one may have been carried out.
            (Some(write), Err(error)) if attempts <= 1 && error.is_rejected() => write.refused(),
            _ => {}
        }
        let Answered { call, body, .. } = answered?;
        write_observer::note(&call, is_dry_run, &body);
        serde_json::from_slice(&body).map_err(|error| call.fail(ClientErrorCause::Decode(error)))
    }

    /// Deletes say it in their body.
    fn is_dry_run(&self) -> bool {
        let query = self.request.uri().query().unwrap_or_default();
        let is_said = || memchr::memmem::find(self.request.body(), b"\"dryRun\"").is_some();
        query.contains("dryRun=") || (self.call.action == "delete" && is_said())
    }

    /// Sends the request, once, for an answer that is read as it comes.
    pub(super) async fn open(self, connection: &Connection) -> Result<(ApiRequest, Body), ClientError> {
        let Self {
            call, mut request, ..
        } = self;
        user_agent::sign(&mut request);
        connection.limit().pass().await;
        let opened = async {
            let response = connection.client().send(request.map(Body::from)).await?;
            let (head, body) = response.into_parts();
            if head.status.is_success() {
                return Ok(Ok(body));
            }
            Ok(Err(refusal(
                head.status,
                &head.headers,
                &body.collect().await?.to_bytes(),
            )))
        };
        match opened.await {
            Ok(Ok(body)) => Ok((call, body)),
            Ok(Err(status)) => Err(call.fail(ClientErrorCause::Refused(Box::new(status)))),
            Err(error) => Err(call.fail(ClientErrorCause::Unanswered(error))),
        }
    }

    /// Counts the attempts in `attempts`.
    async fn send(self, connection: &Connection, attempts: &mut u32) -> Result<Answered, ClientError> {
        let Self {
            call,
            mut request,
            is_repeatable,
            field_manager: _,
        } = self;
        user_agent::sign(&mut request);
        loop {
            let attempt = *attempts;
            *attempts += 1;
            let (code, headers, body) = match once(connection, request.clone()).await {
                Ok((code, headers, body)) if code.is_success() => {
                    return Ok(Answered { call, headers, body });
                }
                Ok(answer) => answer,
                Err(cause) => return Err(call.fail(cause)),
            };
            let status = refusal(code, &headers, &body);
            match repeat::pause(attempt, code, retry_after::of(&status)) {
                Some(pause) if is_repeatable && connection.repeats() => {
                    tracing::debug!(%call, %code, ?pause, "refused for now, trying again");
                    sleep(pause).await;
                }
                _ => return Err(call.fail(ClientErrorCause::Refused(Box::new(status)))),
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

    /// Sending it twice does what sending it once does.
    pub(super) fn repeatable(self) -> Self {
        Self {
            is_repeatable: true,
            ..self
        }
    }
}

/// A successful answer and its request.
struct Answered {
    call: ApiRequest,
    headers: HeaderMap,
    body: Bytes,
}

type Answer = (StatusCode, HeaderMap, Bytes);

/// Sends a request, if its connection lets it pass.
async fn once(connection: &Connection, request: http::Request<Bytes>) -> Result<Answer, ClientErrorCause> {
    connection.limit().pass().await;
    let fence = connection.fence().filter(|_| !request.method().is_safe());
    let answer = async {
        let response = connection.client().send(request.map(Body::from)).await?;
        let (head, body) = response.into_parts();
        Ok((head.status, head.headers, body.collect().await?.to_bytes()))
    };
    let answer = match fence {
        None => answer.await,
        Some(fence) => match fence.guard(answer).await {
            Ok(answer) => answer,
            Err(Fenced::NotSent) => return Err(ClientErrorCause::NotLeading),
            Err(abandoned) => Err(kube::Error::Service(abandoned.into())),
        },
    };
    answer.map_err(ClientErrorCause::Unanswered)
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

/// The refusal as a `Status`, also where something between us and the API server wrote a text; with what the header says of when to come
/// back.
fn refusal(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Status {
    let mut status = match serde_json::from_slice::<Status>(body) {
        Ok(status) if status.code != 0 || !status.reason.is_empty() || !status.message.is_empty() => status,
        _ => {
            let text = String::from_utf8_lossy(body);
            let excerpt: String = text.trim().chars().take(200).collect();
            Status::failure(&format!("the answer is no Status of Kubernetes: {excerpt:?}"), "")
        }
    };
    if status.code == 0 {
        status.code = code.as_u16();
    }
    retry_after::note(&mut status, retry_after::seconds(headers.get(RETRY_AFTER)));
    status
}

/// Whether a name can stand in a path; the same check as the API server's, and no character that would end the path.
fn is_path_segment(name: &str) -> bool {
    let breaks = |c: char| matches!(c, '/' | '%' | '?' | '#') || c.is_whitespace() || c.is_control();
    !(name.is_empty() || name == "." || name == ".." || name.contains(breaks))
}
