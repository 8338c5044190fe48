//! The order of things: who asks, whether they may, what they get, and a note of it.

use super::query::Query;
use super::respond::{self, Answer};
use super::{Asked, Broken, Form, RequestInfo, body, resources};
use crate::audit::{Owner, Record};
use crate::auth::{self, User};
use crate::discovery;
use crate::server::Shared;
use crate::status::ApiError;
use http::header::USER_AGENT;
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
    let _ = identify(&shared, request.headers(), asker.as_deref(), &mut note);
    let question = Asked {
        user: note.user.name,
        info,
    };
    let next = async move { Ok(plain(shared, request, asker).await) };
    layer.call(question, Box::pin(next)).await
}

/// Whom the connection's certificate names.
pub(crate) type Asker = Option<Arc<User>>;

async fn plain(shared: Arc<Shared>, request: Request<Incoming>, asker: Asker) -> Answer {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let info = RequestInfo::new(request.method(), request.uri().path(), &query);
    let head = request.method() == Method::HEAD;
    let mut note = Note::new(request.headers());
    let answer = answer(&shared, request, asker.as_deref(), &query, &info, &mut note).await;
    let code = answer.status().as_u16();
    shared.audit.add(note.record(&shared, &info, code));
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
    certificate: Option<&User>,
    query: &Query,
    info: &RequestInfo,
    note: &mut Note,
) -> Answer {
    let (parts, incoming) = request.into_parts();
    let watches = info.verb == "watch";
    let form = Form::negotiate(&parts.headers, query.flag("pretty"), watches);
    let spoken = form.as_ref().copied().unwrap_or(Form::DEFAULT);
    let admitted = identify(shared, &parts.headers, certificate, note).and_then(|()| {
        let authorizer = &shared.registry.authorizer;
        authorizer.authorize(&shared.registry.store, &note.user, info)
    });
    if let Err(error) = admitted {
        note.message.clone_from(&error.message);
        return respond::refusal(spoken, &error);
    }
    if !info.is_resource {
        return discovery::answer(shared, &parts, query, info, spoken);
    }
    let outcome = match (form, body::read(incoming).await) {
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

/// Finds out who asks.
fn identify(
    shared: &Shared,
    headers: &HeaderMap,
    certificate: Option<&User>,
    note: &mut Note,
) -> Result<(), ApiError> {
    let (store, authorizer) = (&shared.registry.store, &shared.registry.authorizer);
    note.user = shared.authenticator.authenticate(store, headers, certificate)?;
    if let Some(acting) = auth::impersonate(authorizer, store, &note.user, headers)? {
        note.impersonator = Some(std::mem::replace(&mut note.user, acting));
    }
    Ok(())
}
