//! Who may do what, and the record of who did.

use crate::client::{MAPS, World, map};
use serde_json::json;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

async fn let_alice(world: &World, verbs: &[&str]) {
    let rule = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs });
    world
        .create(
            &format!("{RBAC}/roles"),
            json!({ "metadata": { "name": "r" }, "rules": [rule] }),
        )
        .await;
    let subject = json!({ "kind": "User", "name": "alice" });
    let reference = json!({ "kind": "Role", "name": "r" });
    let binding = json!({ "metadata": { "name": "b" }, "roleRef": reference, "subjects": [subject] });
    world.create(&format!("{RBAC}/rolebindings"), binding).await;
}

#[tokio::test]
async fn roles_decide() {
    let world = World::start().await;
    world.create(MAPS, map("a")).await;
    let path = format!("{MAPS}/a");
    let refused = world.ask_as_alice("GET", &path, &[]).await.expect(403);
    assert_eq!(
        refused["message"],
        r#"configmaps "a" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "default""#
    );
    let_alice(&world, &["get"]).await;
    world.ask_as_alice("GET", &path, &[]).await.expect(200);
    world.ask_as_alice("DELETE", &path, &[]).await.expect(403);
    assert_eq!(
        world.send("wrong", "GET", &path, &[], b"").await.expect(401)["reason"],
        "Unauthorized"
    );
    let anonymous = world.send("", "GET", &path, &[], b"").await.expect(403);
    assert!(
        anonymous["message"]
            .as_str()
            .unwrap()
            .contains(r#"User "system:anonymous""#)
    );
}

#[tokio::test]
async fn who_may_can_act_as_another() {
    let world = World::start().await;
    world.create(MAPS, map("a")).await;
    let_alice(&world, &["list"]).await;
    let token = world.server.admin_token();
    let alice = [("Impersonate-User", "alice")];
    world.send(token, "GET", MAPS, &alice, b"").await.expect(200);
    world
        .send(token, "GET", &format!("{MAPS}/a"), &alice, b"")
        .await
        .expect(403);
    let refused = world
        .ask_as_alice("GET", MAPS, &[("Impersonate-User", "bob")])
        .await
        .expect(403);
    assert_eq!(
        refused["message"],
        r#"configmaps is forbidden: User "alice" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "default""#
    );
    let records = world.server.audit().records();
    let acted = records
        .iter()
        .find(|record| record.impersonator.is_some())
        .unwrap();
    assert_eq!(
        (acted.user.as_str(), acted.verb.as_str(), acted.code),
        ("alice", "list", 200)
    );
}

#[tokio::test]
async fn a_service_account_gets_a_token() {
    let world = World::start().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    world
        .create(accounts, json!({ "metadata": { "name": "op" } }))
        .await;
    let request = json!({ "spec": { "expirationSeconds": 600 } });
    let issued = world.create(&format!("{accounts}/op/token"), request).await;
    let token = issued["status"]["token"].as_str().unwrap();
    let refused = world.send(token, "GET", MAPS, &[], b"").await.expect(403);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains(r#"User "system:serviceaccount:default:op""#)
    );
    world
        .ask("DELETE", &format!("{accounts}/op"), None)
        .await
        .expect(200);
    world.send(token, "GET", MAPS, &[], b"").await.expect(401);
}

#[tokio::test]
async fn every_request_is_recorded() {
    let world = World::start().await;
    world.create(MAPS, map("a")).await;
    world.server.audit().clear();
    world.ask_as_alice("GET", &format!("{MAPS}/a"), &[]).await;
    world.get("/version").await.expect(200);
    let records = world.server.audit().records();
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
