//! Watches.

use crate::client::{MAPS, World, map};
use kubewright_apiserver::store::HISTORY_CAPACITY;
use serde_json::json;

fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test]
async fn a_watch_goes_on_from_a_version() {
    let world = World::start().await;
    let first = world.create(MAPS, map("a")).await;
    world.create(MAPS, map("b")).await;
    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = world
        .watch(&format!("{MAPS}?watch=1&resourceVersion={version}"))
        .await;
    assert_eq!(watch.next_name().await, event("ADDED", "b"));
    world.ask("DELETE", &format!("{MAPS}/a"), None).await.expect(200);
    let gone = watch.next().await.unwrap();
    assert_eq!(
        (&gone["type"], &gone["object"]["metadata"]["name"]),
        (&json!("DELETED"), &json!("a"))
    );
    assert_ne!(
        gone["object"]["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
}

/// Of a crowd each is sent several events together.
#[tokio::test]
async fn each_of_a_crowd_sees_every_event_once_and_in_order() {
    let world = World::start().await;
    let path = format!("{MAPS}?watch=1&resourceVersion={}", version(&world).await);
    let mut crowd = vec![];
    for _ in 0..50 {
        crowd.push(world.watch(&path).await);
    }
    let names: Vec<String> = (0..100).map(|number| format!("map-{number:03}")).collect();
    for name in &names {
        world.create(MAPS, map(name)).await;
    }
    for watch in &mut crowd {
        for name in &names {
            assert_eq!(watch.next_name().await, event("ADDED", name));
        }
    }
    world
        .ask("DELETE", &format!("{MAPS}/map-000"), None)
        .await
        .expect(200);
    for watch in &mut crowd {
        assert_eq!(watch.next_name().await, event("DELETED", "map-000"));
    }
}

#[tokio::test]
async fn a_streaming_list_ends_with_a_bookmark() {
    let world = World::start().await;
    world.create(MAPS, map("a")).await;
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";
    let mut watch = world.watch(&format!("{MAPS}?{query}")).await;
    assert_eq!(watch.next_name().await, event("ADDED", "a"));
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(
        bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(watch.next().await, None);
}

/// What happens to other kinds moves it, too: so a client learns quickly that it missed nothing.
#[tokio::test]
async fn a_short_watch_brings_a_bookmark_before_it_ends() {
    let world = World::start().await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let path = format!("{secrets}?watch=1&resourceVersion={}", version(&world).await);
    let mut watch = world
        .watch(&format!("{path}&allowWatchBookmarks=true&timeoutSeconds=3"))
        .await;
    world.create(MAPS, map("a")).await;
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    let told = bookmark["object"]["metadata"]["resourceVersion"]
        .as_str()
        .unwrap();
    assert!(
        told.parse::<u64>().unwrap() >= version(&world).await,
        "{bookmark}"
    );
    assert_eq!(watch.next().await, None);
}

async fn version(world: &World) -> u64 {
    let list = world.get(MAPS).await.expect(200);
    let version = list["metadata"]["resourceVersion"].as_str();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or_else(|| panic!("no version: {list}"))
}

#[tokio::test]
async fn what_enters_and_leaves_a_selection_is_added_and_deleted() {
    let world = World::start().await;
    let mut watch = world
        .watch(&format!("{MAPS}?watch=1&labelSelector=name%3Da"))
        .await;
    world.create(MAPS, map("b")).await;
    let path = format!("{MAPS}/b");
    let label = |value: &str| json!({ "metadata": { "labels": { "name": value } } });
    world
        .patch(&path, "application/merge-patch+json", label("a"))
        .await
        .expect(200);
    assert_eq!(watch.next_name().await, event("ADDED", "b"));
    world
        .patch(&path, "application/merge-patch+json", label("c"))
        .await
        .expect(200);
    assert_eq!(watch.next_name().await, event("DELETED", "b"));
}

#[tokio::test]
async fn a_version_beyond_the_history_is_gone_for_who_stopped_reading_too_and_that_costs_no_memory() {
    let world = World::start().await;
    let path = format!("{MAPS}?watch=1&resourceVersion={}", version(&world).await);
    let mut stalled = vec![];
    for _ in 0..50 {
        stalled.push(world.watch(&path).await);
    }
    let before = resident().unwrap();
    world.create(MAPS, map("a")).await;
    // More than the connections' buffers hold, too.
    for number in 0..HISTORY_CAPACITY + 1000 {
        let data = json!({ "data": { "n": format!("{number:020000}") } });
        let path = format!("{MAPS}/a");
        let patched = world.patch(&path, "application/merge-patch+json", data).await;
        assert_eq!(patched.code, 200);
    }
    // The history takes a tenth of what the watches would.
    let grown = resident().unwrap().saturating_sub(before);
    assert!(grown < 500 << 20, "{} MiB", grown >> 20);
    // Who may watch is not refused, but told.
    stalled.push(world.watch(&path).await);
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

/// How many bytes of memory this process has.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    Some(digits.parse::<usize>().ok()? * 1024)
}
