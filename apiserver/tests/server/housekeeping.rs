//! Background tasks that are switched off.

use crate::client::{CONFIG_MAPS, TestServer, config_map};
use kubewright_apiserver::{ApiServer, HousekeepingTask, Tls};
use serde_json::json;
use std::time::Duration;

const NAMESPACES: &str = "/api/v1/namespaces";

#[expect(clippy::unwrap_used, reason = "a helper of tests")]
async fn start(tasks: &[HousekeepingTask]) -> TestServer {
    let builder = ApiServer::builder().tls(Tls::Off).housekeeping(tasks);
    TestServer {
        api: builder.start().await.unwrap(),
    }
}

/// Creates an object whose owner does not exist, and deletes a namespace.
async fn leave_work(server: &TestServer) -> (String, String) {
    let mut object = config_map("child");
    object["metadata"]["ownerReferences"] =
        json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone" }]);
    server.create(CONFIG_MAPS, object).await;
    server
        .create(NAMESPACES, json!({ "metadata": { "name": "shop" } }))
        .await;
    let namespace = format!("{NAMESPACES}/shop");
    server.request("DELETE", &namespace, None).await.expect(200);
    (format!("{CONFIG_MAPS}/child"), namespace)
}

#[tokio::test]
async fn tasks_that_are_off_leave_their_work_to_clients() {
    let server = start(&[]).await;
    let (child, namespace) = leave_work(&server).await;
    // Where the tasks are on, they act 30 ms after the change.
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.get(&child).await.expect(200);
    let namespace = server.get(&namespace).await.expect(200);
    assert_eq!(namespace["status"]["phase"], "Terminating");
    assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
}

#[tokio::test]
async fn each_task_is_switched_by_itself() {
    let server = start(&[HousekeepingTask::Namespaces]).await;
    let (child, namespace) = leave_work(&server).await;
    server.wait_for_status(&namespace, 404).await;
    server.get(&child).await.expect(200);
    let server = start(&[HousekeepingTask::GarbageCollector]).await;
    let (child, namespace) = leave_work(&server).await;
    server.wait_for_status(&child, 404).await;
    server.get(&namespace).await.expect(200);
    let server = start(&[HousekeepingTask::CustomResourceDefinitions]).await;
    server.define_foo().await;
}
