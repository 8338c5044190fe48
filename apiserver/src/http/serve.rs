//! The order of things: who asks, whether they may, what they get, and a note of it.

use super::query::Query;
use super::respond::{self, Answer};
use super::{Form, RequestInfo, body, resources};
use crate::audit::Record;
use crate::auth::{self, User};
use crate::discovery;
use crate::server::Shared;
use crate::status::ApiError;
use http::{Method, Request};
use hyper::body::Incoming;
use std::sync::Arc;

/// Answers a request over a connection whose certificate names `certificate`.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    certificate: Option<Arc<User>>,
) -> Answer {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let info = RequestInfo::new(request.method(), request.uri().path(), &query);
    let head = request.method() == Method::HEAD;
    let mut asks = Asks {
        user: User::anonymous(),
        impersonator: None,
    };
    let answer = answer(&shared, request, certificate.as_deref(), &query, &info, &mut asks).await;
    shared.audit.add(record(&info, asks, answer.status().as_u16()));
    if head {
        respond::without_body(answer)
    } else {
        answer
    }
}

/// Who asks.
struct Asks {
    user: User,
    impersonator: Option<User>,
}

async fn answer(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
    certificate: Option<&User>,
    query: &Query,
    info: &RequestInfo,
    asks: &mut Asks,
) -> Answer {
    let (parts, incoming) = request.into_parts();
    let watches = info.verb == "watch";
    let form = Form::negotiate(&parts.headers, query.flag("pretty"), watches);
    let spoken = form.as_ref().copied().unwrap_or(Form::DEFAULT);
    if let Err(error) = admit(shared, &parts.headers, certificate, info, asks) {
        return respond::refusal(spoken, &error);
    }
    if !info.is_resource {
        return discovery::answer(shared, &parts, query, info, spoken);
    }
    let outcome = match (form, body::read(incoming).await) {
        (Ok(form), Ok(body)) => {
            let call = resources::Call {
                shared,
                user: &asks.user,
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
    outcome.unwrap_or_else(|error| respond::refusal(spoken, &error))
}

/// Finds out who asks, and refuses what they may not.
fn admit(
    shared: &Shared,
    headers: &http::HeaderMap,
    certificate: Option<&User>,
    info: &RequestInfo,
    asks: &mut Asks,
) -> Result<(), ApiError> {
    let (store, authorizer) = (&shared.registry.store, &shared.registry.authorizer);
    asks.user = shared.authenticator.authenticate(store, headers, certificate)?;
    if let Some(acting) = auth::impersonate(authorizer, store, &asks.user, headers)? {
        asks.impersonator = Some(std::mem::replace(&mut asks.user, acting));
    }
    authorizer.authorize(store, &asks.user, info)
}

fn record(info: &RequestInfo, asks: Asks, code: u16) -> Record {
    Record {
        user: asks.user.name,
        impersonator: asks.impersonator.map(|user| user.name),
        verb: info.verb.clone(),
        group: info.group.clone(),
        resource: info.resource.clone(),
        subresource: info.subresource.clone(),
        namespace: info.namespace.clone(),
        name: info.name.clone(),
        path: info.path.clone(),
        code,
    }
}
