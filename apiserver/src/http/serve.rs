//! Request handling: authentication, authorization, the operation, the response, the audit record.

use super::blocking::{BlockingRequest, hooks_for, is_converted};
use super::run_to_end::RunToEnd;
use super::{LayerRequest, ServerState, connect, formats, resources};
use crate::admission::AdmissionReport;
use crate::audit::{AuditRecord, BlockingOwner};
use crate::auth::{self, TokenUse, User};
use crate::discovery;
use crate::meta::new_uid;
use crate::render::{ApiResponse, ConnectionAborted, ResponseFormat, respond};
use crate::request::{Query, RequestInfo, body, has_valid_escapes, timeout};
use crate::status::ApiError;
use http::header::{CACHE_CONTROL, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Handles a request; an error closes the connection.
pub(crate) async fn serve(
    state: Arc<ServerState>,
    request: Request<Incoming>,
    client_cert: ClientCert,
) -> Result<ApiResponse, ConnectionAborted> {
    if !has_valid_escapes(request.uri().path()) {
        return Ok(respond::malformed_request());
    }
    if RequestInfo::is_incomplete(request.uri().path()) {
        let uri = request.uri();
        let path = uri
            .path_and_query()
            .map_or(uri.path(), |path_and_query| path_and_query.as_str());
        return Ok(respond::incomplete_path(path));
    }
    let received = ReceivedRequest::new(&state, request, &client_cert);
    let layer = state.layer.clone().map(|layer| {
        let layer_request = LayerRequest {
            user: received.draft.user.name.clone(),
            info: received.info.clone(),
            query: received.query.clone(),
        };
        (layer, layer_request)
    });
    // A write that waits, as for a webhook, is recorded even if the client does not wait. kube-apiserver goes on with it, too.
    let answer = RunToEnd::new(async move { Ok(received.answer(&state).await) });
    match layer {
        Some((layer, layer_request)) => layer.call(layer_request, Box::pin(answer)).await,
        None => answer.await,
    }
}

/// The client certificate of a connection.
#[derive(Clone, Debug)]
pub(crate) enum ClientCert {
    /// The client sent no certificate.
    Absent,
    /// The certificate is not signed by the client CA, or names no user.
    Untrusted,
    /// The certificate is valid and names this user.
    Verified(Arc<User>),
}

/// A request that is parsed and authenticated, up to its body.
struct ReceivedRequest {
    parts: Parts,
    body: Incoming,
    query: Query,
    info: RequestInfo,
    draft: AuditDraft,
    /// When the response must have begun; an error for an invalid timeout, or for an unknown user.
    deadline: Result<Instant, ApiError>,
}

impl ReceivedRequest {
    fn new(state: &ServerState, request: Request<Incoming>, client_cert: &ClientCert) -> Self {
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let info = RequestInfo::new(&parts.method, parts.uri.path(), &query);
        let mut draft = AuditDraft::new(&parts.headers);
        // Watches and connections ignore the timeout, even an invalid one.
        let limit = if is_long_running(&info) {
            timeout::of_query(&Query::default())
        } else {
            timeout::of_query(&query)
        };
        let received = Instant::now();
        let deadline = limit.and_then(|limit| {
            authenticate(state, &parts.headers, client_cert, &info, &mut draft)?;
            Ok(received + limit)
        });
        Self {
            parts,
            body,
            query,
            info,
            draft,
            deadline,
        }
    }

    /// Answers the request and records it in the audit log.
    async fn answer(self, state: &Arc<ServerState>) -> ApiResponse {
        let Self {
            parts,
            body,
            query,
            info,
            mut draft,
            deadline,
        } = self;
        let until = deadline
            .as_ref()
            .ok()
            .copied()
            .filter(|_| !is_long_running(&info));
        let mut flow = HeaderMap::new();
        if deadline.is_ok() && !connect::is_connection(&info) {
            let store = &state.registry.store;
            state
                .flow_schemas
                .add_headers(store, &draft.user, &info, &mut flow);
        }
        let work = respond_to(state, &parts, body, &query, &info, deadline, &mut draft);
        let finished = before_deadline(until, work).await;
        let mut response = if let Some(mut response) = finished {
            response.headers_mut().extend(flow);
            response
        } else {
            let error = timeout::timeout_error();
            let response = respond::timed_out(&error);
            draft.message = error.message;
            response
        };
        respond::prepend_warnings(&mut response, &draft.warnings);
        respond::limit_warnings(&mut response);
        add_common_headers(&mut response, &parts.headers);
        let code = response.status().as_u16();
        state.audit.add(|| draft.finish(state, &info, code));
        if !matches!(info.verb.as_str(), "get" | "list" | "watch") {
            // Watches send the change before the writer gets its response. With kube-apiserver, most clients find their own write in their
            // caches after the response, and tests depend on it.
            tokio::task::yield_now().await;
        }
        if parts.method == Method::HEAD {
            respond::without_body(response)
        } else {
            response
        }
    }
}

/// True for watches and connections, which have no deadline.
fn is_long_running(info: &RequestInfo) -> bool {
    info.verb == "watch" || connect::is_connection(info)
}

/// Waits for the response; None if the deadline passes. A deadline that has passed counts, even if the response is ready at once.
async fn before_deadline(
    deadline: Option<Instant>,
    response: impl Future<Output = ApiResponse>,
) -> Option<ApiResponse> {
    match deadline {
        None => Some(response.await),
        Some(deadline) if deadline <= Instant::now() => None,
        Some(deadline) => tokio::time::timeout_at(deadline.into(), response).await.ok(),
    }
}

/// Adds the headers that all responses have: an id, which is the client's if it sent one, and that nobody else may keep the response.
fn add_common_headers(response: &mut ApiResponse, request: &HeaderMap) {
    let id = request.get(AUDIT_ID).filter(|id| !id.is_empty()).cloned();
    let id = id.or_else(|| HeaderValue::from_str(&new_uid()).ok());
    let headers = response.headers_mut();
    headers.extend(id.map(|id| (AUDIT_ID, id)));
    let cache_control = headers.entry(CACHE_CONTROL);
    cache_control.or_insert(HeaderValue::from_static("no-cache, private"));
}

/// The parts of an audit record that become known while a request is handled.
struct AuditDraft {
    user: User,
    impersonator: Option<User>,
    user_agent: String,
    received: Timestamp,
    blocking_owners: Vec<BlockingOwner>,
    annotations: BTreeMap<String, String>,
    message: String,
    /// The warnings of authentication.
    warnings: Vec<String>,
}

impl AuditDraft {
    fn new(headers: &HeaderMap) -> Self {
        let user_agent = headers
            .get(USER_AGENT)
            .map(|agent| String::from_utf8_lossy(agent.as_bytes()));
        Self {
            user: User::anonymous(),
            impersonator: None,
            user_agent: user_agent.unwrap_or_default().into_owned(),
            received: Timestamp::now(),
            blocking_owners: vec![],
            annotations: BTreeMap::new(),
            message: String::new(),
            warnings: vec![],
        }
    }

    /// Adds annotations. The first value of a key stays, as in kube-apiserver.
    fn add_annotations(&mut self, annotations: BTreeMap<String, String>) {
        for (key, value) in annotations {
            self.annotations.entry(key).or_insert(value);
        }
    }

    fn finish(self, state: &ServerState, info: &RequestInfo, code: u16) -> AuditRecord {
        let catalog = state.registry.catalog();
        let kind = catalog.resource(&info.group, &info.version, &info.resource);
        AuditRecord {
            user: self.user.name,
            impersonator: self.impersonator.map(|user| user.name),
            verb: info.verb.clone(),
            group: info.group.clone(),
            resource: info.resource.clone(),
            subresource: info.subresource.clone(),
            namespace: info.namespace.clone(),
            name: info.name.clone(),
            path: info.path.clone(),
            code,
            message: self.message,
            kind: kind.map(|kind| kind.kind.clone()).unwrap_or_default(),
            blocking_owners: self.blocking_owners,
            annotations: self.annotations,
            user_agent: self.user_agent,
            received: self.received,
            answered: Timestamp::now(),
        }
    }
}

async fn respond_to(
    state: &Arc<ServerState>,
    parts: &Parts,
    body: Incoming,
    query: &Query,
    info: &RequestInfo,
    deadline: Result<Instant, ApiError>,
    draft: &mut AuditDraft,
) -> ApiResponse {
    let format = formats::check_route(state, info, &parts.headers).and_then(|()| {
        ResponseFormat::negotiate(
            &parts.headers,
            query.flag("pretty"),
            info.verb == "watch",
            |format| formats::has_format(state, info, format),
        )
    });
    // Errors are always whole objects, and no route has checked their media types.
    let error_format = ResponseFormat::of_document(&parts.headers, query.flag("pretty"), false);
    let error_format = error_format.unwrap_or(ResponseFormat::DEFAULT);
    let format = format.and_then(|format| format.with_include_object(query));
    // The server at the other end of a connection negotiates by itself.
    let format = match format {
        Err(_) if connect::is_connection(info) => Ok(error_format),
        format => format,
    };
    let admitted = deadline.and_then(|deadline| {
        let authorizer = &state.registry.authorizer;
        authorizer.authorize(&state.registry.store, &draft.user, info)?;
        Ok(deadline)
    });
    let deadline = match admitted {
        Ok(deadline) => deadline,
        Err(error) => {
            draft.message.clone_from(&error.message);
            let mut response = respond::error(error_format, &error);
            if error.code == 403 {
                respond::forbid_sniffing(&mut response);
            }
            return response;
        }
    };
    if !info.is_resource {
        let response = discovery::handle(state.served_api(), parts, query, info, error_format);
        return adjust_to_routes(state, &parts.method, info, error_format, response);
    }
    let outcome = match (format, body::read(body).await) {
        (Ok(format), Ok(body)) => {
            draft.blocking_owners = BlockingOwner::from_body(&body);
            let hooks = hooks_for(state, info);
            if hooks.is_some() || is_converted(state, info) {
                let request = BlockingRequest {
                    state: state.clone(),
                    user: draft.user.clone(),
                    info: info.clone(),
                    query: query.clone(),
                    parts: parts.clone(),
                    body,
                    format,
                    deadline,
                };
                let (response, annotations) = request.run(hooks).await;
                draft.add_annotations(annotations);
                response
            } else {
                let report = AdmissionReport::default();
                let context = resources::RequestContext {
                    state,
                    user: &draft.user,
                    info,
                    query,
                    parts,
                    body: &body,
                    format,
                    report: &report,
                    webhooks: None,
                };
                let response = resources::handle(&context).await;
                draft.add_annotations(report.take_annotations());
                response
            }
        }
        (Err(error), _) => Err(resources::not_acceptable(state, info, error)),
        (_, Err(error)) => Err(error),
    };
    outcome.unwrap_or_else(|error| {
        draft.message.clone_from(&error.message);
        respond::error(error_format, &error)
    })
}

/// Adjusts the response to a non-resource path to what kube-apiserver's routes return.
fn adjust_to_routes(
    state: &ServerState,
    method: &Method,
    info: &RequestInfo,
    format: ResponseFormat,
    response: ApiResponse,
) -> ApiResponse {
    let path: Vec<&str> = info.path.trim_matches('/').split('/').collect();
    let catalog = state.registry.catalog();
    let is_built_in = |group: &str| {
        let mut kinds = catalog.group(group).iter();
        kinds.any(|kind| kind.definition.is_none())
    };
    // The lists of groups, the groups, and the versions of custom kinds have handlers for all methods.
    let is_routed_for_get = match path.as_slice() {
        ["api" | ".well-known" | "openid", ..] | ["version"] => true,
        ["apis", group, _] => is_built_in(group),
        _ => false,
    };
    if info.path.starts_with("//") {
        return respond::page_not_found();
    }
    match response.status().as_u16() {
        200 | 406 if is_routed_for_get && *method != Method::GET => {
            respond::error(format, &ApiError::method_not_allowed())
        }
        404 => match path.as_slice() {
            ["api", _] | ["openid", "v1", "jwks", ..] | [".well-known", "openid-configuration", ..] => {
                respond::error(format, &ApiError::no_such_resource())
            }
            ["apis", group, _] if is_built_in(group) => respond::error(format, &ApiError::no_such_resource()),
            ["openapi", "v3", ..] => respond::status(StatusCode::NOT_FOUND),
            _ => response,
        },
        _ => response,
    }
}

/// Authenticates the request, then impersonates.
fn authenticate(
    state: &ServerState,
    headers: &HeaderMap,
    client_cert: &ClientCert,
    info: &RequestInfo,
    draft: &mut AuditDraft,
) -> Result<(), ApiError> {
    let (store, authorizer) = (&state.registry.store, &state.registry.authorizer);
    let certificate = match client_cert {
        ClientCert::Verified(user) => Some(user.as_ref()),
        ClientCert::Absent | ClientCert::Untrusted => None,
    };
    let mut token_use = TokenUse::default();
    let user = state
        .authenticator
        .authenticate(store, headers, certificate, &mut token_use);
    state.registry.label_used_secret(&token_use);
    draft.annotations = token_use.annotations;
    draft.warnings = token_use.warnings;
    let user = user?;
    if matches!(client_cert, ClientCert::Untrusted) && user == User::anonymous() {
        return Err(ApiError::unauthorized());
    }
    draft.user = user;
    let modes = &state.impersonation_modes;
    if let Some(impersonated) = auth::impersonate(modes, authorizer, store, &draft.user, headers, info)? {
        draft.impersonator = Some(std::mem::replace(&mut draft.user, impersonated));
    }
    Ok(())
}
