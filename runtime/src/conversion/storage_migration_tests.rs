use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::StatusCode;
use kube::{client::Body, core::Status};
use tower::Service as _;

use super::*;
use crate::testing::{Reply, Request, ScriptedApi};

fn kind() -> ApiResource {
    ApiResource {
        group: "demo.dev".into(),
        version: "v1".into(),
        kind: "Foo".into(),
        plural: "foos".into(),
        scope: Scope::Namespaced,
    }
}

fn definition(stored: &str, stored_versions: &[&str], generation: u64) -> Value {
    let version = |name: &str| json!({"name": name, "served": true, "storage": name == stored});
    json!({
        "metadata": {"name": "foos.demo.dev", "uid": "d", "resourceVersion": "7", "generation": generation},
        "spec": {"versions": [version("v1alpha1"), version("v1")]},
        "status": {"storedVersions": stored_versions},
    })
}

fn item(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": format!("uid of {name}"), "resourceVersion": "1"}})
}

fn page(names: &[&str], next: Option<&str>, remaining: Option<u64>) -> Reply {
    let items: Vec<_> = names.iter().map(|name| item(name)).collect();
    let metadata = json!({"resourceVersion": "9", "continue": next, "remainingItemCount": remaining});
    Reply::object(StatusCode::OK, json!({"metadata": metadata, "items": items}))
}

fn refusal(code: u16, reason: &str, message: &str) -> Reply {
    Reply::status(&Status::failure(message, reason).with_code(code))
}

/// An API whose definition needs a migration, with these pages of objects.
fn api(pages: Vec<Reply>) -> ScriptedApi {
    let api = ScriptedApi::new();
    api.always_reply_with(
        |request| request.verb == "get" && is_of_definition(request),
        Reply::object(StatusCode::OK, definition("v1", &["v1alpha1", "v1"], 2)),
    );
    for page in pages {
        api.reply_with(|request| request.verb == "list", page);
    }
    api.always_reply_with(
        |request| request.verb == "patch" && is_of_definition(request),
        Reply::object(StatusCode::OK, json!({})),
    );
    api
}

/// Has every patch of an object that no earlier reply is for succeed.
fn accept(api: &ScriptedApi) {
    api.always_reply_with(
        |request| request.verb == "patch",
        Reply::object(StatusCode::OK, item("any")),
    );
}

fn is_of_definition(request: &Request) -> bool {
    request.name.as_deref() == Some("foos.demo.dev")
}

fn is_patch_of(name: &'static str) -> impl Fn(&Request) -> bool + Send {
    move |request| request.verb == "patch" && request.name.as_deref() == Some(name)
}

fn is_get_of(name: &'static str) -> impl Fn(&Request) -> bool + Send {
    move |request| request.verb == "get" && request.name.as_deref() == Some(name)
}

/// A connection to the API, which shows in its discovery document the hashes of these versions in turn, at last always the last one.
fn connection(api: &ScriptedApi, stored: &[&str]) -> Connection {
    let hashes: Vec<_> = stored
        .iter()
        .map(|version| storage_version_hash::of("demo.dev", version, "Foo"))
        .collect();
    let (api, reads) = (api.clone(), Arc::new(AtomicUsize::new(0)));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let discovered = (request.uri().path() == "/apis/demo.dev/v1").then(|| {
            let read = reads.fetch_add(1, Ordering::Relaxed).min(hashes.len() - 1);
            let foos = json!({
                "name": "foos", "singularName": "foo", "namespaced": true, "kind": "Foo", "verbs": [],
                "storageVersionHash": hashes[read],
            });
            json!({"kind": "APIResourceList", "groupVersion": "demo.dev/v1", "resources": [foos]})
        });
        let mut api = api.clone();
        async move {
            match discovered {
                Some(list) => Ok(http::Response::new(Body::from(list.to_string().into_bytes()))),
                None => api.call(request).await,
            }
        }
    });
    Connection::new(kube::Client::new(service, "default")).without_retries()
}

async fn migrate(api: &ScriptedApi) -> (Result<Option<u64>, StorageMigrationError>, Vec<(u64, u64)>) {
    let mut progress = Vec::new();
    let migration = StorageMigration::to_version(connection(api, &["v1"]), kind());
    let result = migration.run(|done, all| progress.push((done, all))).await;
    (result, progress)
}

fn trimmed(sent: &[Request]) -> bool {
    sent.iter()
        .any(|request| is_of_definition(request) && request.verb == "patch")
}

#[tokio::test(start_paused = true)]
async fn every_object_is_patched_on_condition_and_the_status_trimmed() {
    let api = api(vec![
        page(&["a", "b"], Some("next"), Some(1)),
        page(&["c"], None, None),
    ]);
    accept(&api);
    let (result, progress) = migrate(&api).await;
    assert_eq!(result.unwrap(), Some(3));
    assert_eq!(progress, [(2, 3), (3, 3)]);
    let sent = api.requests();
    let patches: Vec<_> = sent.iter().filter(|request| request.verb == "patch").collect();
    assert_eq!(
        patches[0].body,
        json!({"metadata": {"uid": "uid of a", "resourceVersion": "1"}})
    );
    assert_eq!(patches.len(), 4);
    let last = patches[3];
    assert_eq!(last.subresource.as_deref(), Some("status"));
    assert_eq!(
        last.body,
        json!({"metadata": {"resourceVersion": "7"}, "status": {"storedVersions": ["v1"]}})
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_listed_when_one_version_is_stored() {
    let api = ScriptedApi::new();
    api.always_reply_with(
        |_| true,
        Reply::object(StatusCode::OK, definition("v1", &["v1"], 2)),
    );
    assert_eq!(migrate(&api).await.0.unwrap(), None);
    assert_eq!(api.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn another_stored_version_is_an_error_that_names_it() {
    let api = ScriptedApi::new();
    api.always_reply_with(
        |_| true,
        Reply::object(StatusCode::OK, definition("v1alpha1", &["v1alpha1"], 2)),
    );
    let error = migrate(&api).await.0.unwrap_err().to_string();
    assert_eq!(
        error,
        "the API server stores foos.demo.dev in version v1alpha1, not v1: apply the CustomResourceDefinition that stores v1, then migrate"
    );
}

#[tokio::test(start_paused = true)]
async fn objects_that_others_write_or_delete_need_nothing() {
    let api = api(vec![page(&["a", "b", "c"], None, None)]);
    for name in ["a", "c"] {
        api.reply_with(is_patch_of(name), refusal(409, "Conflict", "changed"));
    }
    let mut newer = item("a");
    newer["metadata"]["resourceVersion"] = json!("2");
    api.reply_with(is_get_of("a"), Reply::object(StatusCode::OK, newer));
    api.reply_with(is_get_of("c"), refusal(404, "NotFound", "gone"));
    api.reply_with(is_patch_of("b"), refusal(404, "NotFound", "gone"));
    accept(&api);
    assert_eq!(migrate(&api).await.0.unwrap(), Some(3));
    let sent = api.requests();
    for name in ["a", "b", "c"] {
        let patches = sent.iter().filter(|request| is_patch_of(name)(request)).count();
        assert_eq!(patches, 1, "{name}");
    }
    assert!(trimmed(&sent));
}

/// A webhook answers 409, and nobody wrote the object.
#[tokio::test(start_paused = true)]
async fn conflict_of_an_object_that_did_not_change_is_named() {
    let api = api(vec![page(&["a"], None, None)]);
    let conflict = refusal(409, "Conflict", "the sizes conflict");
    api.always_reply_with(is_patch_of("a"), conflict);
    api.always_reply_with(is_get_of("a"), Reply::object(StatusCode::OK, item("a")));
    accept(&api);
    let error = migrate(&api).await.0.unwrap_err().to_string();
    assert!(error.starts_with("1 objects cannot be rewritten"), "{error}");
    assert!(
        error.contains("\nshop/a: ") && error.contains("the sizes conflict"),
        "{error}"
    );
    let sent = api.requests();
    assert_eq!(sent.iter().filter(|request| is_patch_of("a")(request)).count(), 1);
    assert!(!trimmed(&sent));
}

#[tokio::test(start_paused = true)]
async fn expired_list_goes_on_with_the_token_of_the_answer() {
    let message = "the provided continue parameter is too old";
    let mut expired = Status::failure(message, "Expired").with_code(410);
    expired.metadata = Some(ListMeta {
        continue_: Some("rest".to_owned()),
        ..ListMeta::default()
    });
    let api = api(vec![
        page(&["a"], Some("next"), Some(1)),
        Reply::status(&expired),
        page(&["b"], None, None),
    ]);
    accept(&api);
    let (result, progress) = migrate(&api).await;
    assert_eq!(result.unwrap(), Some(2));
    assert_eq!(progress, [(1, 2), (2, 2)]);
    let sent = api.requests();
    let lists = sent.iter().filter(|request| request.verb == "list");
    let tokens: Vec<_> = lists
        .map(|request| request.query.get("continue").map(String::as_str))
        .collect();
    assert_eq!(tokens, [None, Some("next"), Some("rest")]);
}

#[tokio::test(start_paused = true)]
async fn expired_list_without_a_token_begins_again() {
    let expired = refusal(410, "Expired", "the provided continue parameter is too old");
    let api = api(vec![
        page(&["a"], Some("next"), Some(1)),
        expired,
        page(&["a", "b"], None, None),
    ]);
    accept(&api);
    let (result, progress) = migrate(&api).await;
    assert_eq!(result.unwrap(), Some(2));
    assert_eq!(progress, [(1, 2), (2, 2)]);
}

#[tokio::test(start_paused = true)]
async fn interrupted_migration_is_completed_by_the_next() {
    let api = api(vec![
        page(&["a"], Some("next"), Some(1)),
        Reply::lost(),
        page(&["a"], Some("next"), Some(1)),
        page(&["b"], None, None),
    ]);
    accept(&api);
    let (result, progress) = migrate(&api).await;
    assert!(
        matches!(result, Err(StorageMigrationError::Client(_))),
        "{result:?}"
    );
    assert_eq!(progress, [(1, 2)]);
    assert!(!trimmed(&api.requests()));

    let (result, progress) = migrate(&api).await;
    assert_eq!(result.unwrap(), Some(2));
    assert_eq!(progress, [(1, 2), (2, 2)]);
    assert!(trimmed(&api.requests()));
}

#[tokio::test(start_paused = true)]
async fn objects_that_are_refused_are_named_and_nothing_is_trimmed() {
    let names: Vec<String> = (0..12).map(|number| format!("foo-{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let api = api(vec![page(&names, None, None)]);
    api.always_reply_with(
        |request| request.verb == "patch",
        refusal(422, "Invalid", "spec.size: Required value"),
    );
    let error = migrate(&api).await.0.unwrap_err().to_string();
    assert!(
        error.starts_with(
            "12 objects cannot be rewritten, correct or delete them, then migrate again:\nshop/foo-"
        ),
        "{error}"
    );
    assert!(error.contains("spec.size: Required value"), "{error}");
    assert_eq!(error.lines().count(), 1 + MAX_NAMED);
    assert!(!trimmed(&api.requests()));
}

#[tokio::test(start_paused = true)]
async fn object_that_admission_denies_is_named_and_the_others_are_rewritten() {
    let api = api(vec![page(&["a", "b", "c"], None, None)]);
    let denied = "admission webhook \"sizes.demo.dev\" denied the request: User sizes cannot shrink";
    api.always_reply_with(is_patch_of("b"), refusal(403, "Forbidden", denied));
    accept(&api);
    let error = migrate(&api).await.0.unwrap_err().to_string();
    assert!(error.starts_with("1 objects cannot be rewritten"), "{error}");
    assert!(error.contains("\nshop/b: ") && error.contains(denied), "{error}");
    let sent = api.requests();
    assert_eq!(sent.iter().filter(|request| request.verb == "patch").count(), 3);
    assert!(!trimmed(&sent));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_rewritten_until_the_api_server_stores_the_version() {
    let api = api(vec![page(&["a"], None, None)]);
    accept(&api);
    let start = tokio::time::Instant::now();
    let slow = connection(&api, &["v1alpha1", "v1alpha1", "v1"]);
    let migration = StorageMigration::to_version(slow, kind());
    assert_eq!(migration.run(|_, _| {}).await.unwrap(), Some(1));
    assert_eq!(start.elapsed(), 2 * DISCOVERY_INTERVAL + OTHER_SERVERS_DELAY);

    api.requests();
    let stale = StorageMigration::to_version(connection(&api, &["v1alpha1"]), kind());
    let error = stale.run(|_, _| {}).await.unwrap_err().to_string();
    assert!(
        error.starts_with(
            "the definition stores foos.demo.dev in version v1, and after 30 seconds the API server still does not"
        ),
        "{error}"
    );
    let sent = api.requests();
    assert!(sent.iter().all(|request| request.verb == "get"), "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn missing_permission_ends_the_migration() {
    let api = api(vec![page(&["a", "b", "c"], None, None)]);
    api.always_reply_with(|request| request.verb == "patch", Reply::forbidden());
    let error = migrate(&api).await.0.unwrap_err();
    assert!(
        matches!(&error, StorageMigrationError::Client(error) if error.is_forbidden()),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn definition_that_changed_meanwhile_is_not_trimmed() {
    let api = ScriptedApi::new();
    let get = |request: &Request| request.verb == "get";
    let stored = ["v1alpha1", "v1"];
    api.reply_with(get, Reply::object(StatusCode::OK, definition("v1", &stored, 2)));
    api.reply_with(|request| request.verb == "list", page(&["a"], None, None));
    accept(&api);
    api.reply_with(
        get,
        Reply::object(StatusCode::OK, definition("v1alpha1", &stored, 3)),
    );
    let error = migrate(&api).await.0.unwrap_err().to_string();
    assert_eq!(
        error,
        "the CustomResourceDefinition foos.demo.dev changed during the migration: migrate again"
    );
    assert!(!trimmed(&api.requests()));
}

#[tokio::test(start_paused = true)]
async fn operator_waits_until_the_version_is_stored() {
    let api = ScriptedApi::new();
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = looks.clone();
    let old = Reply::object(StatusCode::OK, definition("v1alpha1", &["v1alpha1"], 1));
    let is_old =
        move |request: &Request| request.verb == "get" && counted.fetch_add(1, Ordering::Relaxed) < 3;
    api.always_reply_with(is_old, old);
    api.always_reply_with(
        |request| request.verb == "get",
        Reply::object(StatusCode::OK, definition("v1", &["v1alpha1", "v1"], 2)),
    );
    api.reply_with(|request| request.verb == "list", page(&["a"], None, None));
    accept(&api);
    let start = tokio::time::Instant::now();
    let migration = StorageMigration::to_version(connection(&api, &["v1"]), kind());
    migration.run_in_operator(CancellationToken::new()).await;
    assert_eq!(start.elapsed(), 3 * INTERVAL + OTHER_SERVERS_DELAY);
    assert!(trimmed(&api.requests()));
}
