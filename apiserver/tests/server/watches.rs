//! Watches.

use crate::client::{CONFIG_MAPS, TestServer, config_map};
use kubewright_apiserver::storage::HISTORY_CAPACITY;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test]
async fn watch_resumes_from_a_resource_version() {
    let server = TestServer::start().await;
    let first = server.create(CONFIG_MAPS, config_map("a")).await;
    server.create(CONFIG_MAPS, config_map("b")).await;
    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = server
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={version}"))
        .await;
    assert_eq!(watch.next_name().await, event("ADDED", "b"));
    server
        .request("DELETE", &format!("{CONFIG_MAPS}/a"), None)
        .await
        .expect(200);
    let deleted = watch.next().await.unwrap();
    assert_eq!(
        (&deleted["type"], &deleted["object"]["metadata"]["name"]),
        (&json!("DELETED"), &json!("a"))
    );
    assert_ne!(
        deleted["object"]["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
}

/// Clients read their own writes from caches that watches feed. No server promises it; kube-apiserver does it most of the time.
#[tokio::test]
async fn most_changes_are_sent_to_watches_before_the_response_to_their_writer() {
    let server = Arc::new(TestServer::start().await);
    let mut watch = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    // Tasks, since the runtime polls the test itself before all tasks.
    let reader = tokio::spawn(async move {
        while watch.next().await.is_some() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let writer = tokio::spawn(async move {
        let mut seen_at_once = 0;
        for number in 1..=20 {
            server
                .create(CONFIG_MAPS, config_map(&format!("map-{number}")))
                .await;
            seen_at_once += usize::from(seen.load(Ordering::Relaxed) == number);
            while seen.load(Ordering::Relaxed) < number {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        seen_at_once
    });
    let seen_at_once = writer.await.unwrap();
    assert!(seen_at_once > 10, "{seen_at_once} of 20");
    reader.abort();
}

/// With many identical watchers, events are sent in batches.
#[tokio::test]
async fn identical_watchers_get_every_event_once_and_in_order() {
    let server = TestServer::start().await;
    let path = format!(
        "{CONFIG_MAPS}?watch=1&resourceVersion={}",
        current_version(&server).await
    );
    let mut watches = vec![];
    for _ in 0..50 {
        watches.push(server.watch(&path).await);
    }
    let names: Vec<String> = (0..100).map(|number| format!("map-{number:03}")).collect();
    for name in &names {
        server.create(CONFIG_MAPS, config_map(name)).await;
    }
    for watch in &mut watches {
        for name in &names {
            assert_eq!(watch.next_name().await, event("ADDED", name));
        }
    }
    server
        .request("DELETE", &format!("{CONFIG_MAPS}/map-000"), None)
        .await
        .expect(200);
    for watch in &mut watches {
        assert_eq!(watch.next_name().await, event("DELETED", "map-000"));
    }
}

#[tokio::test]
async fn streaming_list_ends_with_a_bookmark() {
    let server = TestServer::start().await;
    server.create(CONFIG_MAPS, config_map("a")).await;
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";
    let mut watch = server.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(watch.next_name().await, event("ADDED", "a"));
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(
        bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(watch.next().await, None);
}

/// Writes to other kinds advance the bookmark: its version tells the client that it missed no event.
#[tokio::test]
async fn watch_sends_a_bookmark_before_its_timeout() {
    let server = TestServer::start().await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let path = format!(
        "{secrets}?watch=1&resourceVersion={}",
        current_version(&server).await
    );
    let mut watch = server
        .watch(&format!("{path}&allowWatchBookmarks=true&timeoutSeconds=3"))
        .await;
    server.create(CONFIG_MAPS, config_map("a")).await;
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    let bookmark_version = bookmark["object"]["metadata"]["resourceVersion"]
        .as_str()
        .unwrap();
    assert!(
        bookmark_version.parse::<u64>().unwrap() >= current_version(&server).await,
        "{bookmark}"
    );
    assert_eq!(watch.next().await, None);
}

async fn current_version(server: &TestServer) -> u64 {
    let list = server.get(CONFIG_MAPS).await.expect(200);
    let version = list["metadata"]["resourceVersion"].as_str();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or_else(|| panic!("no version: {list}"))
}

#[tokio::test]
async fn objects_that_start_or_stop_matching_are_added_or_deleted() {
    let server = TestServer::start().await;
    let mut watch = server
        .watch(&format!("{CONFIG_MAPS}?watch=1&labelSelector=name%3Da"))
        .await;
    server.create(CONFIG_MAPS, config_map("b")).await;
    let path = format!("{CONFIG_MAPS}/b");
    let label = |value: &str| json!({ "metadata": { "labels": { "name": value } } });
    server
        .patch(&path, "application/merge-patch+json", label("a"))
        .await
        .expect(200);
    assert_eq!(watch.next_name().await, event("ADDED", "b"));
    server
        .patch(&path, "application/merge-patch+json", label("c"))
        .await
        .expect(200);
    assert_eq!(watch.next_name().await, event("DELETED", "b"));
}

#[tokio::test]
async fn slow_watcher_gets_410_and_is_not_buffered() {
    let server = TestServer::start().await;
    let path = format!(
        "{CONFIG_MAPS}?watch=1&resourceVersion={}",
        current_version(&server).await
    );
    let mut stalled = vec![];
    for _ in 0..50 {
        stalled.push(server.watch(&path).await);
    }
    let before = resident_bytes().unwrap();
    server.create(CONFIG_MAPS, config_map("a")).await;
    // All events together are more than a socket's buffers hold.
    for number in 0..HISTORY_CAPACITY + 1000 {
        let data = json!({ "data": { "n": format!("{number:04000}") } });
        let path = format!("{CONFIG_MAPS}/a");
        let patched = server.patch(&path, "application/merge-patch+json", data).await;
        assert_eq!(patched.code, 200);
    }
    // The history takes a tenth of the memory that buffers per watch would.
    let grown = resident_bytes().unwrap().saturating_sub(before);
    assert!(grown < 200 << 20, "{} MiB", grown >> 20);
    // A new watch at the expired version is accepted, and gets 410 as an event.
    stalled.push(server.watch(&path).await);
    for watch in &mut stalled {
        let mut last = None;
        while let Some(event) = watch.next().await {
            last = Some(event);
        }
        let last = last.unwrap();
        assert_eq!(
            (&last["type"], &last["object"]["code"]),
            (&json!("ERROR"), &json!(410))
        );
    }
}

/// Resident memory of this process in bytes.
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    Some(digits.parse::<usize>().ok()? * 1024)
}
