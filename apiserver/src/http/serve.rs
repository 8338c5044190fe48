//! Request handling: authentication, authorization, the operation, the response, the audit record.

use super::query::Query;
use super::respond::{self, ApiResponse};
use super::{
    ConnectionAborted, LayerRequest, RequestInfo, ResponseFormat, body, connect, resources, timeout,
};
use crate::audit::{AuditRecord, BlockingOwner};
use crate::auth::{self, User};
use crate::discovery;
use crate::server::ServerState;
use crate::status::ApiError;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, Method, Request};
use hyper::body::Incoming;
use jiff::Timestamp;
use std::sync::Arc;

/// Handles a request; an error closes the connection.
pub(crate) async fn serve(
    state: Arc<ServerState>,
    request: Request<Incoming>,
    client_cert: ClientCert,
) -> Result<ApiResponse, ConnectionAborted> {
    let Some(layer) = state.layer.clone() else {
        return Ok(serve_directly(state, request, client_cert).await);
    };
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let info = RequestInfo::new(request.method(), request.uri().path(), &query);
    let mut draft = AuditDraft::new(request.headers());
    // Errors are reported when the request is served.
    let _ = authenticate(&state, request.headers(), &client_cert, &info, &mut draft);
    let layer_request = LayerRequest {
        user: draft.user.name,
        info,
        query,
    };
    let next = async move { Ok(serve_directly(state, request, client_cert).await) };
    layer.call(layer_request, Box::pin(next)).await
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

async fn serve_directly(
    state: Arc<ServerState>,
    request: Request<Incoming>,
    client_cert: ClientCert,
) -> ApiResponse {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let info = RequestInfo::new(request.method(), request.uri().path(), &query);
    let head = request.method() == Method::HEAD;
    let mut draft = AuditDraft::new(request.headers());
    let response = respond_to(&state, request, &client_cert, &query, &info, &mut draft).await;
    let code = response.status().as_u16();
    state.audit.add(|| draft.finish(&state, &info, code));
    if head {
        respond::without_body(response)
    } else {
        response
    }
}

/// The parts of an audit record that become known while a request is handled.
struct AuditDraft {
    user: User,
    impersonator: Option<User>,
    user_agent: String,
    received: Timestamp,
    blocking_owners: Vec<BlockingOwner>,
    message: String,
}

impl AuditDraft {
    fn new(headers: &HeaderMap) -> Self {
        let user_agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
        Self {
            user: User::anonymous(),
            impersonator: None,
            user_agent: user_agent.unwrap_or_default().to_owned(),
            received: Timestamp::now(),
            blocking_owners: vec![],
            message: String::new(),
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
            user_agent: self.user_agent,
            received: self.received,
            answered: Timestamp::now(),
        }
    }
}

async fn respond_to(
    state: &Arc<ServerState>,
    request: Request<Incoming>,
    client_cert: &ClientCert,
    query: &Query,
    info: &RequestInfo,
    draft: &mut AuditDraft,
) -> ApiResponse {
    let (parts, incoming) = request.into_parts();
    let watches = info.verb == "watch";
    let format = ResponseFormat::negotiate(&parts.headers, query.flag("pretty"), watches);
    let error_format = format.as_ref().copied().unwrap_or(ResponseFormat::DEFAULT);
    let format = format.and_then(|format| format.with_include_object(query));
    // The server at the other end of a connection negotiates by itself.
    let format = format.or_else(|error| {
        if connect::is_connection(info) {
            Ok(error_format)
        } else {
            Err(error)
        }
    });
    let admitted = timeout::of_query(query).or_else(|error| {
        // Watches ignore the timeout, even an invalid one.
        if watches {
            timeout::of_query(&Query::default())
        } else {
            Err(error)
        }
    });
    let admitted = admitted.and_then(|limit| {
        authenticate(state, &parts.headers, client_cert, info, draft)?;
        let authorizer = &state.registry.authorizer;
        authorizer.authorize(&state.registry.store, &draft.user, info)?;
        Ok(limit)
    });
    let limit = match admitted {
        Ok(limit) => limit,
        Err(error) => {
            draft.message.clone_from(&error.message);
            return respond::error(error_format, &error);
        }
    };
    if !info.is_resource {
        let response = discovery::handle(state, &parts, query, info, error_format);
        return adjust_to_routes(state, &parts.method, info, error_format, response);
    }
    let outcome = match (format, body::read(incoming, limit).await) {
        (Ok(format), Ok(body)) => {
            draft.blocking_owners = BlockingOwner::from_body(&body);
            let context = resources::RequestContext {
                state,
                user: &draft.user,
                info,
                query,
                parts: &parts,
                body: &body,
                format,
            };
            resources::handle(&context).await
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
    let is_discovery = matches!(path[0], "api" | "apis" | "version");
    let catalog = state.registry.catalog();
    if info.path.starts_with("//") {
        return respond::page_not_found();
    }
    match response.status().as_u16() {
        200 if is_discovery && !matches!(*method, Method::GET | Method::HEAD) => {
            respond::error(format, &ApiError::method_not_allowed())
        }
        404 => match path.as_slice() {
            ["api", _] => respond::error(format, &ApiError::no_such_resource()),
            ["apis", group, _] if catalog.iter().any(|kind| kind.group == *group) => {
                respond::error(format, &ApiError::no_such_resource())
            }
            ["openapi", "v3", ..] => {
                let mut response = respond::bytes(404, "text/plain", "");
                response.headers_mut().remove(CONTENT_TYPE);
                response
            }
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
    let user = state.authenticator.authenticate(store, headers, certificate)?;
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
