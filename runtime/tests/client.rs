//! The requests of each method of the typed client, and the handling of responses.

use http::StatusCode;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{ConfigMap, Node},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kubewright::{
    Kind, NamespacedName,
    client::{
        All, ApplyOptions, ClientErrorCause, ConnectError, Connection, DeleteParams, ListParams, PatchBody,
        Preconditions, TypedClient, retry_on_conflict,
    },
    kube::core::Status,
    testing::{Reply, Request, ScriptedApi},
    unstable::assert_requests,
};
use serde::Deserialize;
use serde_json::{Value, json};

fn client<K: Kind>(api: &ScriptedApi) -> TypedClient<K, All> {
    TypedClient::new(api.connection().with_field_manager("shop"))
}

fn web() -> NamespacedName {
    NamespacedName::namespaced("default", "web")
}

fn deployment() -> Deployment {
    Deployment {
        metadata: ObjectMeta {
            namespace: Some("default".to_owned()),
            name: Some("web".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: Some(2),
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn seeded() -> ScriptedApi {
    let api = ScriptedApi::new();
    api.put::<Deployment>(&deployment());
    api
}

fn query(request: &Request) -> Value {
    json!(request.query)
}

#[tokio::test]
async fn reads_one_object() {
    let api = seeded();
    let found = client::<Deployment>(&api).get(&web()).await.unwrap();
    assert_eq!(found, deployment());
    assert_requests(&api.requests(), &[Request::get::<Deployment>(&web())]);
}

#[tokio::test]
async fn get_decodes_a_user_defined_view_of_a_kind() {
    #[derive(Deserialize)]
    struct Replicas {
        spec: Spec,
    }
    #[derive(Deserialize)]
    struct Spec {
        replicas: i32,
    }
    impl Kind for Replicas {
        fn info() -> kubewright::ApiResource {
            Deployment::info()
        }
    }
    let api = seeded();
    let view = client::<Replicas>(&api).get(&web()).await.unwrap();
    assert_eq!(view.spec.replicas, 2);
}

#[tokio::test]
async fn create_uses_the_name_or_generate_name() {
    let api = ScriptedApi::new();
    let created = client::<Deployment>(&api).create(&deployment()).await.unwrap();
    assert_eq!(created.metadata.uid.as_deref(), Some("uid-1"));
    let sent = api.requests();
    assert_requests(&sent, &[Request::create(&deployment())]);
    assert_eq!(query(&sent[0]), json!({"fieldManager": "shop"}));

    let mut unnamed = deployment();
    unnamed.metadata.name = None;
    unnamed.metadata.generate_name = Some("web-".to_owned());
    let named = client::<Deployment>(&api).create(&unnamed).await.unwrap();
    assert!(named.metadata.name.unwrap().starts_with("web-"));
}

#[tokio::test]
async fn create_returning_decodes_another_type() {
    #[derive(Deserialize)]
    struct Named {
        metadata: Name,
    }
    #[derive(Deserialize)]
    struct Name {
        name: String,
    }
    #[derive(Debug, Deserialize)]
    struct Other {
        #[expect(dead_code, reason = "it is not in the response")]
        port: u16,
    }
    let api = ScriptedApi::new();
    let client = client::<Deployment>(&api);
    let created = client.create_returning::<Named, _>(&deployment()).await.unwrap();
    assert_eq!(created.metadata.name, "web");
    assert_requests(&api.requests(), &[Request::create(&deployment())]);

    let mut second = deployment();
    second.metadata.name = Some("second".to_owned());
    let error = client.create_returning::<Other, _>(&second).await.unwrap_err();
    assert!(matches!(error.cause(), ClientErrorCause::Decode(_)), "{error}");
}

#[tokio::test]
async fn update_replaces_the_object_or_its_status() {
    let (api, mut changed) = (seeded(), deployment());
    changed.spec.as_mut().unwrap().replicas = Some(3);
    let client = client::<Deployment>(&api);
    let updated = client.update(&changed).await.unwrap();
    assert_eq!(updated.spec.as_ref().unwrap().replicas, Some(3));
    client.update_status(&updated).await.unwrap();
    let sent = api.requests();
    assert_requests(
        &sent,
        &[Request::update(&changed), Request::update_status(&updated)],
    );
    assert!(
        sent.iter()
            .all(|request| query(request) == json!({"fieldManager": "shop"}))
    );
}

#[tokio::test]
async fn json_merge_and_strategic_patches() {
    let (api, name) = (seeded(), web());
    let client = client::<Deployment>(&api);
    let merge = PatchBody::Merge(json!({"spec": {"replicas": 5}}));
    assert_eq!(
        client.patch(&name, &merge).await.unwrap().spec.unwrap().replicas,
        Some(5)
    );
    let json_patch = PatchBody::Json(json!([{"op": "remove", "path": "/spec/replicas"}]));
    client.patch(&name, &json_patch).await.unwrap();
    client
        .patch(&name, &PatchBody::Strategic(json!({"spec": {}})))
        .await
        .unwrap();
    client
        .patch_status(&name, &PatchBody::Merge(json!({"status": {"replicas": 1}})))
        .await
        .unwrap();
    let expected = [
        Request::patch::<Deployment>(&name, &merge),
        Request::patch::<Deployment>(&name, &json_patch),
        Request::patch::<Deployment>(&name, &PatchBody::Strategic(json!({"spec": {}}))),
        Request::patch_status::<Deployment>(&name, &PatchBody::Merge(json!({"status": {"replicas": 1}}))),
    ];
    assert_requests(&api.requests(), &expected);
}

#[tokio::test]
async fn patches_have_their_content_types() {
    let (service, mut server) =
        tower_test::mock::pair::<http::Request<kube::client::Body>, http::Response<kube::client::Body>>();
    let connection = Connection::new(kube::Client::new(service, "default"));
    let client = TypedClient::<ConfigMap, All>::new(connection);
    let answers = tokio::spawn(async move {
        let mut types = Vec::new();
        while let Some((request, reply)) = server.next_request().await {
            types.push(request.headers()["content-type"].to_str().unwrap().to_owned());
            reply.send_response(http::Response::new(kube::client::Body::from(b"{}".to_vec())));
        }
        types
    });
    client.patch(&web(), &PatchBody::Json(json!([]))).await.unwrap();
    client.patch(&web(), &PatchBody::Merge(json!({}))).await.unwrap();
    client
        .patch(&web(), &PatchBody::Strategic(json!({})))
        .await
        .unwrap();
    client
        .apply(&json!({"metadata": {"name": "web", "namespace": "default"}}))
        .await
        .unwrap();
    drop(client);
    let expected = [
        "json-patch+json",
        "merge-patch+json",
        "strategic-merge-patch+json",
        "apply-patch+yaml",
    ];
    assert_eq!(
        answers.await.unwrap(),
        expected.map(|name| format!("application/{name}"))
    );
}

#[tokio::test]
async fn apply_adds_the_kind_and_forces_ownership() {
    let api = ScriptedApi::new();
    let wanted = json!({"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 2}});
    let applied = client::<Deployment>(&api).apply(&wanted).await.unwrap();
    assert_eq!(applied.spec.unwrap().replicas, Some(2));
    let sent = api.requests();
    assert_requests(&sent, &[Request::apply::<Deployment>(&wanted)]);
    assert_eq!(
        (&sent[0].body["apiVersion"], &sent[0].body["kind"]),
        (&json!("apps/v1"), &json!("Deployment"))
    );
    assert_eq!(query(&sent[0]), json!({"force": "true", "fieldManager": "shop"}));
}

#[tokio::test]
async fn apply_options_set_force_field_manager_and_dry_run() {
    let api = seeded();
    let options = ApplyOptions::new()
        .without_force()
        .field_manager("shop scaler")
        .dry_run();
    let wanted = json!({"kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}});
    client::<Deployment>(&api)
        .apply_with(&wanted, &options)
        .await
        .unwrap();
    client::<Deployment>(&api).apply_status(&wanted).await.unwrap();
    let sent = api.requests();
    assert_requests(
        &sent,
        &[
            Request::apply::<Deployment>(&wanted),
            Request::apply_status::<Deployment>(&wanted),
        ],
    );
    assert_eq!(
        query(&sent[0]),
        json!({"dryRun": "All", "fieldManager": "shop scaler"})
    );
}

#[tokio::test]
async fn apply_refuses_invalid_intents() {
    let api = ScriptedApi::new();
    let client = client::<Deployment>(&api);
    let cases = [
        (json!({"spec": {}}), "has no metadata.name"),
        (json!(3), "is not a Kubernetes object"),
        (
            json!({"kind": "Pod", "metadata": {"name": "a", "namespace": "b"}}),
            "has kind Pod, but the client is for Deployment",
        ),
        (
            json!({"metadata": {"name": "a", "managedFields": [{}]}}),
            "apply only the fields",
        ),
        (
            json!({"metadata": {"name": "a"}}),
            "cannot apply Deployment a: kind Deployment is namespaced",
        ),
    ];
    for (object, expected) in cases {
        let error = client.apply(&object).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(matches!(error.cause(), ClientErrorCause::Request(_)));
    }
    assert_requests(&api.requests(), &[]);
}

#[tokio::test]
async fn delete_sends_preconditions() {
    let api = seeded();
    let preconditions = Preconditions {
        uid: Some("u1".to_owned()),
        resource_version: None,
    };
    let params = DeleteParams::foreground().preconditions(preconditions);
    client::<Deployment>(&api).delete(&web(), &params).await.unwrap();
    let options = json!({"propagationPolicy": "Foreground", "preconditions": {"uid": "u1"}});
    assert_requests(
        &api.requests(),
        &[Request::delete::<Deployment>(&web()).with_body(&options)],
    );
}

#[tokio::test]
async fn scale_is_read_and_updated() {
    let api = seeded();
    let client = client::<Deployment>(&api);
    let mut scale = client.scale(&web()).await.unwrap();
    assert_eq!(scale.spec.as_ref().unwrap().replicas, Some(2));
    scale.spec.as_mut().unwrap().replicas = Some(4);
    assert_eq!(
        client.update_scale(&scale).await.unwrap().spec.unwrap().replicas,
        Some(4)
    );
    assert_eq!(
        client.scale_to(&web(), 5).await.unwrap().spec.unwrap().replicas,
        Some(5)
    );
    let sent: Vec<String> = api.requests().iter().map(ToString::to_string).collect();
    let verbs = ["get", "update", "patch"];
    assert_eq!(
        sent,
        verbs.map(|verb| format!("{verb} deployments.apps/scale default/web"))
    );
}

#[tokio::test]
async fn list_fetches_all_pages() {
    let api = ScriptedApi::new();
    let item = |name| json!({"metadata": {"name": name, "namespace": "default"}});
    let first = json!({"metadata": {"resourceVersion": "7", "continue": "next+page"}, "items": [item("a"), item("b")]});
    let second = json!({"metadata": {"resourceVersion": "7"}, "items": [item("c")]});
    api.reply_with(
        |request| !request.query.contains_key("continue"),
        Reply::object(StatusCode::OK, first),
    );
    api.reply_with(
        |request| request.query["continue"] == "next+page",
        Reply::object(StatusCode::OK, second),
    );
    let params = ListParams::default().labels("app=web");
    let list = client::<ConfigMap>(&api)
        .list(Some("default"), &params)
        .await
        .unwrap();
    let names: Vec<_> = list
        .items
        .iter()
        .filter_map(|map| map.metadata.name.as_deref())
        .collect();
    assert_eq!(
        (names, list.resource_version.as_str()),
        (vec!["a", "b", "c"], "7")
    );
    let sent = api.requests();
    assert_eq!(
        query(&sent[0]),
        json!({"limit": "500", "labelSelector": "app=web"})
    );
    assert_eq!(sent[1].to_string(), "list configmaps default");
}

#[tokio::test]
async fn expired_list_restarts_without_pages() {
    let api = ScriptedApi::new();
    let page = json!({"metadata": {"continue": "x"}, "items": [{"metadata": {"name": "old"}}]});
    let all = json!({"metadata": {"resourceVersion": "9"}, "items": [{"metadata": {"name": "new"}}]});
    api.reply_with(|_| true, Reply::object(StatusCode::OK, page));
    api.reply_with(
        |_| true,
        Reply::status(&Status::failure("too old", "Expired").with_code(410)),
    );
    api.reply_with(
        |request| request.query.is_empty(),
        Reply::object(StatusCode::OK, all),
    );
    let list = client::<Node>(&api)
        .list(None, &ListParams::default())
        .await
        .unwrap();
    assert_eq!(list.items.len(), 1);
    assert_eq!(list.items[0].metadata.name.as_deref(), Some("new"));
}

#[tokio::test]
async fn scope_is_checked_before_sending() {
    let api = ScriptedApi::new();
    let superfluous = client::<Node>(&api).get(&web()).await.unwrap_err();
    assert_eq!(
        superfluous.to_string(),
        "cannot get Node in namespace default: kind Node is cluster-scoped: leave the namespace out"
    );
    let missing = client::<Deployment>(&api)
        .get(&NamespacedName::cluster("web"))
        .await
        .unwrap_err();
    assert_eq!(
        missing.to_string(),
        "cannot get Deployment web: kind Deployment is namespaced: name the object's namespace"
    );
    for name in ["", "..", "a/b", "a?x=1", "a b"] {
        let error = client::<Node>(&api)
            .get(&NamespacedName::cluster(name))
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("is not a valid object name"),
            "{error}"
        );
    }
    assert_requests(&api.requests(), &[]);
}

#[tokio::test]
async fn error_has_the_status_of_the_response() {
    let api = ScriptedApi::new();
    let client = client::<Deployment>(&api);
    let missing = client.get(&web()).await.unwrap_err();
    assert!(missing.is_not_found() && !missing.is_kind_missing());
    assert_eq!(
        missing.to_string(),
        "cannot get Deployment default/web: deployments.apps \"web\" not found (404 NotFound)"
    );
    client.create(&deployment()).await.unwrap();
    let exists = client.create(&deployment()).await.unwrap_err();
    assert!(exists.is_already_exists() && !exists.is_conflict());
    assert_eq!(exists.status().map(|status| status.code), Some(409));
    api.reply_with(
        |_| true,
        Reply::status(&Status::failure("spec.replicas: too many", "Invalid").with_code(422)),
    );
    assert!(client.update(&deployment()).await.unwrap_err().is_invalid());
}

#[tokio::test]
async fn forbidden_names_the_missing_permission_and_the_fix() {
    let api = ScriptedApi::new();
    api.always_reply_with(|_| true, Reply::forbidden());
    let error = client::<Deployment>(&api)
        .update_status(&deployment())
        .await
        .unwrap_err();
    let message = error.to_string();
    assert!(error.is_forbidden());
    let expected = "cannot update the status of Deployment default/web: the operator's role does not allow `update` on \
                    deployments/status.apps in namespace default: run `kubewright generate` and apply manifests/rbac; \
                    the API server says: User ";
    assert!(message.starts_with(expected), "{message}");

    let quota = Status::failure("exceeded quota: pods", "Forbidden").with_code(403);
    let api = ScriptedApi::new();
    api.reply_with(|_| true, Reply::status(&quota));
    let message = client::<Deployment>(&api)
        .create(&deployment())
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "cannot create Deployment default/web: exceeded quota: pods (403 Forbidden)"
    );
}

#[tokio::test]
async fn unserved_kind_names_the_custom_resource_definition() {
    let api = ScriptedApi::new();
    api.reply_with(
        |_| true,
        Reply::object(StatusCode::NOT_FOUND, "404 page not found"),
    );
    let error = client::<Deployment>(&api).get(&web()).await.unwrap_err();
    assert!(error.is_not_found() && error.is_kind_missing());
    assert!(
        error
            .to_string()
            .contains("does not serve deployments.apps in version v1"),
        "{error}"
    );
}

#[tokio::test]
async fn missing_and_invalid_responses_are_different_errors() {
    let api = ScriptedApi::new();
    let client = client::<Deployment>(&api);
    api.reply_with(|_| true, Reply::lost());
    let lost = client.get(&web()).await.unwrap_err();
    assert!(lost.is_unanswered());
    assert!(
        std::error::Error::source(&lost)
            .is_some_and(|source| source.to_string().contains("lost the connection"))
    );

    api.reply_with(|_| true, Reply::object(StatusCode::OK, "<html>"));
    let html = client.get(&web()).await.unwrap_err();
    assert!(matches!(html.cause(), ClientErrorCause::Decode(_)), "{html}");
    api.reply_with(|_| true, Reply::object(StatusCode::BAD_GATEWAY, "<html>"));
    let proxy = client.get(&web()).await.unwrap_err();
    assert!(proxy.is_overloaded());
    assert!(proxy.to_string().contains("not a Kubernetes Status"), "{proxy}");
}

#[tokio::test]
async fn nothing_is_sent_before_the_future_is_awaited() {
    let api = seeded();
    let client = client::<Deployment>(&api);
    drop(client.get(&web()));
    let answer = client.get(&web());
    assert_requests(&api.requests(), &[]);
    drop(client);
    answer.await.unwrap();
    assert_eq!(api.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn retry_on_conflict_reads_the_object_again() {
    let api = seeded();
    let client = client::<Deployment>(&api);
    for _ in 0..4 {
        api.reply_with(|request| request.verb == "update", Reply::conflict());
    }
    let (client, name) = (&client, &web());
    let scale_up = || async move {
        let mut deployment = client.get(name).await?;
        deployment.spec.get_or_insert_default().replicas = Some(9);
        client.update(&deployment).await
    };
    let started = tokio::time::Instant::now();
    assert_eq!(
        retry_on_conflict(scale_up).await.unwrap().spec.unwrap().replicas,
        Some(9)
    );
    let verbs: Vec<_> = api.requests().iter().map(|request| request.verb).collect();
    assert_eq!(verbs, ["get", "update"].repeat(5));
    let waited = started.elapsed().as_millis();
    assert!((40..=48).contains(&waited), "{waited} ms");
}

#[tokio::test(start_paused = true)]
async fn fifth_conflict_and_other_errors_are_returned() {
    let api = seeded();
    let client = &client::<Deployment>(&api);
    api.always_reply_with(|request| request.verb == "update", Reply::conflict());
    let (api, web) = (&api, &web());
    let error = retry_on_conflict(|| client.update(&deployment()))
        .await
        .unwrap_err();
    assert!(error.is_conflict());
    assert_eq!(api.requests().len(), 5);
    let missing = NamespacedName::namespaced("default", "other");
    assert!(
        retry_on_conflict(|| client.get(&missing))
            .await
            .unwrap_err()
            .is_not_found()
    );
    assert_eq!(api.requests().len(), 1);
    client.get(web).await.unwrap();
}

#[tokio::test]
async fn request_before_connecting_is_an_error() {
    let connection = Connection::late();
    let client = TypedClient::<Deployment, All>::new(connection.clone());
    let early = client.get(&web()).await.unwrap_err();
    let source = std::error::Error::source(&early).unwrap().to_string();
    assert!(source.contains("not connected yet"), "{source}");
    connection.connect_to(&seeded().connection());
    client.get(&web()).await.unwrap();
}

#[tokio::test]
async fn connection_sends_the_user_agent_and_kube_does_not_retry() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let mut config = kubewright::kube::Config::new(address.parse().unwrap());
    config.default_retry = true;
    let connection = Connection::connect(config, "shop").unwrap();
    assert_eq!(connection.field_manager(), "shop");
    let answer = TypedClient::<Deployment, All>::new(connection.without_retries()).get(&web());
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
        while !request.ends_with(b"\r\n\r\n") {
            let read = socket.read(&mut buffer).await.unwrap();
            request.extend_from_slice(&buffer[..read]);
        }
        let refusal = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        socket.write_all(refusal).await.unwrap();
        String::from_utf8(request).unwrap().to_ascii_lowercase()
    };
    let (request, answer) = tokio::join!(server, answer);
    assert!(answer.unwrap_err().is_overloaded());
    assert!(
        request.starts_with("get /apis/apps/v1/namespaces/default/deployments/web http/1.1"),
        "{request}"
    );
    assert!(request.contains("\r\nuser-agent: shop ("), "{request}");
    assert!(matches!(
        Connection::connect(kubewright::kube::Config::new(address.parse().unwrap()), "a\nb"),
        Err(ConnectError::UserAgent(_))
    ));
}

#[tokio::test]
async fn proxy_is_refused_with_a_fix() {
    let mut config = kubewright::kube::Config::new("https://cluster.example:6443".parse().unwrap());
    config.proxy_url = Some("http://proxy.example:3128".parse().unwrap());
    let error = Connection::connect(config, "shop").err().unwrap().to_string();
    assert!(
        error.contains("proxy.example:3128") && error.contains("NO_PROXY"),
        "{error}"
    );
}
