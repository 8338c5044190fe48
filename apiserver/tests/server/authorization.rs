//! Authentication, authorization, impersonation and the audit log.

use crate::client::{CONFIG_MAPS, TestServer, config_map};
use serde_json::json;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

async fn grant_alice(server: &TestServer, verbs: &[&str]) {
    let rule = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs });
    server
        .create(
            &format!("{RBAC}/roles"),
            json!({ "metadata": { "name": "r" }, "rules": [rule] }),
        )
        .await;
    let subject = json!({ "kind": "User", "name": "alice" });
    let reference = json!({ "kind": "Role", "name": "r" });
    let binding = json!({ "metadata": { "name": "b" }, "roleRef": reference, "subjects": [subject] });
    server.create(&format!("{RBAC}/rolebindings"), binding).await;
}

#[tokio::test]
async fn rbac_roles_authorize_requests() {
    let server = TestServer::start().await;
    server.create(CONFIG_MAPS, config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let rejected = server.request_as_alice("GET", &path, &[]).await.expect(403);
    assert_eq!(
        rejected["message"],
        r#"configmaps "a" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "default""#
    );
    grant_alice(&server, &["get"]).await;
    server.request_as_alice("GET", &path, &[]).await.expect(200);
    server.request_as_alice("DELETE", &path, &[]).await.expect(403);
    assert_eq!(
        server.send("wrong", "GET", &path, &[], b"").await.expect(401)["reason"],
        "Unauthorized"
    );
    let anonymous = server.send("", "GET", &path, &[], b"").await.expect(403);
    assert!(
        anonymous["message"]
            .as_str()
            .unwrap()
            .contains(r#"User "system:anonymous""#)
    );
}

#[tokio::test]
async fn impersonation_requires_permission() {
    let server = TestServer::start().await;
    server.create(CONFIG_MAPS, config_map("a")).await;
    grant_alice(&server, &["list"]).await;
    let token = server.api.admin_token();
    let alice = [("Impersonate-User", "alice")];
    server
        .send(token, "GET", CONFIG_MAPS, &alice, b"")
        .await
        .expect(200);
    server
        .send(token, "GET", &format!("{CONFIG_MAPS}/a"), &alice, b"")
        .await
        .expect(403);
    let rejected = server
        .request_as_alice("GET", CONFIG_MAPS, &[("Impersonate-User", "bob")])
        .await
        .expect(403);
    assert_eq!(
        rejected["message"],
        r#"configmaps is forbidden: User "alice" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "default""#
    );
    let records = server.api.audit().records();
    let impersonated = records
        .iter()
        .find(|record| record.impersonator.is_some())
        .unwrap();
    assert_eq!(
        (
            impersonated.user.as_str(),
            impersonated.verb.as_str(),
            impersonated.code
        ),
        ("alice", "list", 200)
    );
}

#[tokio::test]
async fn service_account_token_authenticates_until_the_account_is_deleted() {
    let server = TestServer::start().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    server
        .create(accounts, json!({ "metadata": { "name": "op" } }))
        .await;
    let request = json!({ "spec": { "expirationSeconds": 600 } });
    let issued = server.create(&format!("{accounts}/op/token"), request).await;
    let token = issued["status"]["token"].as_str().unwrap();
    let rejected = server.send(token, "GET", CONFIG_MAPS, &[], b"").await.expect(403);
    assert!(
        rejected["message"]
            .as_str()
            .unwrap()
            .contains(r#"User "system:serviceaccount:default:op""#)
    );
    server
        .request("DELETE", &format!("{accounts}/op"), None)
        .await
        .expect(200);
    server.send(token, "GET", CONFIG_MAPS, &[], b"").await.expect(401);
}

#[tokio::test]
async fn every_request_is_in_the_audit_log() {
    let server = TestServer::start().await;
    server.create(CONFIG_MAPS, config_map("a")).await;
    server.api.audit().clear();
    server
        .request_as_alice("GET", &format!("{CONFIG_MAPS}/a"), &[])
        .await;
    server.get("/version").await.expect(200);
    let records = server.api.audit().records();
    let lines: Vec<String> = records
        .iter()
        .map(|record| {
            format!(
                "{} {} {}/{} {}",
                record.user, record.verb, record.resource, record.name, record.code
            )
        })
        .collect();
    assert_eq!(lines, ["alice get configmaps/a 403", "admin get / 200"]);
}
