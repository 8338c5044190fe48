use http::HeaderValue;
use serde_json::json;
use tokio::time::advance;

use super::*;
use crate::testing::{Reply, Request, ScriptedApi};

const TOKENS: &str = "tokenreviews.authentication.k8s.io";
const ACCESSES: &str = "subjectaccessreviews.authorization.k8s.io";

fn created(resource: &'static str) -> impl Fn(&Request) -> bool + Send {
    move |request| request.verb == "create" && request.resource == resource
}

/// Returns an API server that knows every token except `bad` as that of one user, who may get `/metrics` or not.
fn api(is_allowed: bool) -> ScriptedApi {
    let api = ScriptedApi::new();
    script(&api, is_allowed);
    api
}

fn script(api: &ScriptedApi, is_allowed: bool) {
    let reviewed = |status| {
        Reply::object(
            StatusCode::CREATED,
            json!({"spec": {"token": ""}, "status": status}),
        )
    };
    let is_bad = |request: &Request| created(TOKENS)(request) && request.body["spec"]["token"] == "bad";
    let invalid = json!({"authenticated": false, "error": "invalid bearer token"});
    api.always_reply_with(is_bad, reviewed(invalid));
    let user = json!({"username": "scraper", "uid": "7", "groups": ["g"], "extra": {"a": ["b"]}});
    let valid = json!({"authenticated": true, "user": user});
    api.always_reply_with(created(TOKENS), reviewed(valid));
    api.always_reply_with(created(ACCESSES), reviewed(json!({"allowed": is_allowed})));
}

fn access(api: &ScriptedApi) -> MetricsAccess {
    MetricsAccess::new(api.connection().kube_client())
}

/// Returns the status code of a request; 200 if it is allowed.
async fn code(access: &MetricsAccess, authorization: Option<&str>, path: &str) -> u16 {
    let mut headers = HeaderMap::new();
    if let Some(text) = authorization {
        headers.insert(header::AUTHORIZATION, HeaderValue::from_str(text).unwrap());
    }
    let checked = access.check(&Method::GET, path, &headers).await;
    checked.map_or_else(|refusal| refusal.status.as_u16(), |()| 200)
}

/// Returns how many requests of a kind arrived since the last call.
fn count(api: &ScriptedApi, resource: &'static str) -> usize {
    api.requests()
        .iter()
        .filter(|request| created(resource)(request))
        .count()
}

#[tokio::test(start_paused = true)]
async fn user_of_the_token_is_authorized_for_verb_and_path() {
    let api = api(true);
    assert_eq!(code(&access(&api), Some("Bearer good"), "/metrics").await, 200);
    let requests = api.requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert_eq!(requests[0].body["spec"], json!({"token": "good"}));
    let expected = json!({
        "user": "scraper", "uid": "7", "groups": ["g"], "extra": {"a": ["b"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    });
    assert_eq!(requests[1].body["spec"], expected);
}

#[tokio::test(start_paused = true)]
async fn requests_without_a_usable_token_are_refused_without_a_review() {
    let api = api(true);
    let access = access(&api);
    let long = format!("Bearer {}", "x".repeat(MAX_TOKEN_BYTES + 1));
    for authorization in [
        None,
        Some("Basic Zm9v"),
        Some("Bearer"),
        Some("Bearer  "),
        Some(&*long),
    ] {
        assert_eq!(
            code(&access, authorization, "/metrics").await,
            401,
            "{authorization:?}"
        );
    }
    assert_eq!(api.requests().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn invalid_token_is_refused_with_401_and_missing_permission_with_403() {
    let api = api(false);
    let access = access(&api);
    assert_eq!(code(&access, Some("Bearer bad"), "/metrics").await, 401);
    assert_eq!(api.requests().len(), 1, "an unknown user is not authorized");
    assert_eq!(code(&access, Some("bearer good"), "/metrics").await, 403);
}

#[tokio::test(start_paused = true)]
async fn decisions_are_remembered_for_token_and_path_until_they_expire() {
    let allowing = api(true);
    let access_allowing = access(&allowing);
    for _ in 0..3 {
        assert_eq!(code(&access_allowing, Some("Bearer good"), "/metrics").await, 200);
    }
    assert_eq!(count(&allowing, TOKENS), 1);
    // Another token and another path are other requests.
    code(&access_allowing, Some("Bearer other"), "/metrics").await;
    code(&access_allowing, Some("Bearer good"), "/debug/kubewright").await;
    assert_eq!(count(&allowing, TOKENS), 2);
    advance(ALLOWED_TTL).await;
    code(&access_allowing, Some("Bearer good"), "/metrics").await;
    assert_eq!(count(&allowing, TOKENS), 1);

    let refusing = api(false);
    let access_refusing = access(&refusing);
    for _ in 0..3 {
        assert_eq!(code(&access_refusing, Some("Bearer good"), "/metrics").await, 403);
    }
    assert_eq!(count(&refusing, ACCESSES), 1);
    advance(REFUSED_TTL).await;
    code(&access_refusing, Some("Bearer good"), "/metrics").await;
    assert_eq!(count(&refusing, ACCESSES), 1);
}

#[tokio::test(start_paused = true)]
async fn number_of_remembered_decisions_is_limited() {
    let api = api(true);
    let access = access(&api);
    for number in 0..=MAX_DECISIONS {
        code(&access, Some(&format!("Bearer {number}")), "/metrics").await;
    }
    code(&access, Some("Bearer 0"), "/metrics").await;
    assert_eq!(
        count(&api, TOKENS),
        MAX_DECISIONS + 2,
        "the oldest was not forgotten"
    );
}

#[tokio::test(start_paused = true)]
async fn failed_review_is_500_and_not_remembered() {
    for reply in [Reply::lost(), Reply::forbidden()] {
        let api = ScriptedApi::new();
        api.reply_with(created(TOKENS), reply.clone());
        api.reply_with(created(ACCESSES), reply);
        script(&api, true);
        let access = access(&api);
        for expected in [500, 500, 200] {
            assert_eq!(code(&access, Some("Bearer good"), "/metrics").await, expected);
        }
    }
}
