//! The order of things: who asks, whether they may, what they get, and a note of it.

use super::query::Query;
use super::respond::{self, Answer};
use super::{Asked, Broken, Form, RequestInfo, body, deadline, resources};
use crate::audit::{Owner, Record};
use crate::auth::{self, User};
use crate::discovery;
use crate::server::Shared;
use crate::status::ApiError;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, Method, Request};
use hyper::body::Incoming;
use jiff::Timestamp;
use std::sync::Arc;

/// Answers a request of somebody; an error ends the connection.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    asker: Asker,
) -> Result<Answer, Broken> {
    let Some(layer) = shared.layer.clone() else {
        return Ok(plain(shared, request, asker).await);
    };
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let info = RequestInfo::new(request.method(), request.uri().path(), &query);
    let mut note = Note::new(request.headers());
    // Whether it may is asked when it is served.
    let _ = identify(&shared, request.headers(), &asker, &info, &mut note);
    let question = Asked {
        user: note.user.name,
        info,
        query,
    };
    let next = async move { Ok(plain(shared, request, asker).await) };
    layer.call(question, Box::pin(next)).await
}

/// What a connection says of who asks.
#[derive(Clone, Debug)]
pub(crate) enum Asker {
    /// No certificate was shown.
    Uncertified,
    /// One was shown that is not believed, or names nobody.
    Doubtful,
    /// One was shown, and names this user.
    Certified(Arc<User>),
}

async fn plain(shared: Arc<Shared>, request: Request<Incoming>, asker: Asker) -> Answer {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let info = RequestInfo::new(request.method(), request.uri().path(), &query);
    let head = request.method() == Method::HEAD;
    let mut note = Note::new(request.headers());
    let answer = answer(&shared, request, &asker, &query, &info, &mut note).await;
    let code = answer.status().as_u16();
    shared.audit.add(|| note.record(&shared, &info, code));
    if head {
        respond::without_body(answer)
    } else {
        answer
    }
}

/// What the audit will say beside what was asked for.
struct Note {
    user: User,
    impersonator: Option<User>,
    user_agent: String,
    received: Timestamp,
    blocking_owners: Vec<Owner>,
    message: String,
}

impl Note {
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

    fn record(self, shared: &Shared, info: &RequestInfo, code: u16) -> Record {
        let catalog = shared.registry.catalog();
        let kind = catalog.resource(&info.group, &info.version, &info.resource);
        Record {
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

async fn answer(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
    asker: &Asker,
    query: &Query,
    info: &RequestInfo,
    note: &mut Note,
) -> Answer {
    let (parts, incoming) = request.into_parts();
    let watches = info.verb == "watch";
    let form = Form::negotiate(&parts.headers, query.flag("pretty"), watches);
    let spoken = form.as_ref().copied().unwrap_or(Form::DEFAULT);
    let form = form.and_then(|form| form.with_rows(query));
    let admitted = deadline::of(query).or_else(|error| {
        // A watch has none, whatever it says.
        if watches {
            deadline::of(&Query::default())
        } else {
            Err(error)
        }
    });
    let admitted = admitted.and_then(|limit| {
        identify(shared, &parts.headers, asker, info, note)?;
        let authorizer = &shared.registry.authorizer;
        authorizer.authorize(&shared.registry.store, &note.user, info)?;
        Ok(limit)
    });
    let limit = match admitted {
        Ok(limit) => limit,
        Err(error) => {
            note.message.clone_from(&error.message);
            return respond::refusal(spoken, &error);
        }
    };
    if !info.is_resource {
        let answer = discovery::handle(shared, &parts, query, info, spoken);
        return as_routed(shared, &parts.method, info, spoken, answer);
    }
    let outcome = match (form, body::read(incoming, limit).await) {
        (Ok(form), Ok(body)) => {
            note.blocking_owners = Owner::blocked_by(&body);
            let call = resources::Call {
                shared,
                user: &note.user,
                info,
                query,
                parts: &parts,
                body: &body,
                form,
            };
            resources::answer(&call).await
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    outcome.unwrap_or_else(|error| {
        note.message.clone_from(&error.message);
        respond::refusal(spoken, &error)
    })
}

/// What is answered about a path that is no resource's, as the routes of the real server would have it.
fn as_routed(shared: &Shared, method: &Method, info: &RequestInfo, form: Form, answer: Answer) -> Answer {
    let path: Vec<&str> = info.path.trim_matches('/').split('/').collect();
    let discovers = matches!(path[0], "api" | "apis" | "version");
    let catalog = shared.registry.catalog();
    if info.path.starts_with("//") {
        return respond::page_not_found();
    }
    match answer.status().as_u16() {
        200 if discovers && !matches!(*method, Method::GET | Method::HEAD) => {
            respond::refusal(form, &ApiError::method_not_allowed())
        }
        404 => match path.as_slice() {
            ["api", _] => respond::refusal(form, &ApiError::no_such_resource()),
            ["apis", group, _] if catalog.iter().any(|kind| kind.group == *group) => {
                respond::refusal(form, &ApiError::no_such_resource())
            }
            ["openapi", "v3", ..] => {
                let mut answer = respond::bytes(404, "text/plain", "");
                answer.headers_mut().remove(CONTENT_TYPE);
                answer
            }
            _ => answer,
        },
        _ => answer,
    }
}

/// Finds out who asks.
fn identify(
    shared: &Shared,
    headers: &HeaderMap,
    asker: &Asker,
    info: &RequestInfo,
    note: &mut Note,
) -> Result<(), ApiError> {
    let (store, authorizer) = (&shared.registry.store, &shared.registry.authorizer);
    let certificate = match asker {
        Asker::Certified(user) => Some(user.as_ref()),
        Asker::Uncertified | Asker::Doubtful => None,
    };
    let user = shared.authenticator.authenticate(store, headers, certificate)?;
    if matches!(asker, Asker::Doubtful) && user == User::anonymous() {
        return Err(ApiError::unauthorized());
    }
    note.user = user;
    let known = &shared.impersonators;
    if let Some(acting) = auth::impersonate(known, authorizer, store, &note.user, headers, info)? {
        note.impersonator = Some(std::mem::replace(&mut note.user, acting));
    }
    Ok(())
}
