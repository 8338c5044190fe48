//! What is told when the watch missed something.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::json;

use crate::support::{
    server::{Request, Server},
    *,
};

/// Cuts the watches so that a relist follows, and waits for it.
async fn gap(server: &Server) {
    server.compact();
    server.cut();
    long_after().await;
}

/// client-go: TestSharedInformerWatchDisruption, TestReplaceEvents.
#[tokio::test(start_paused = true)]
async fn a_relist_is_told_as_the_difference() {
    for server in [Server::new(), Server::without_streaming()] {
        told_as_the_difference(&server).await;
    }
}

async fn told_as_the_difference(server: &Arc<Server>) {
    for name in ["same", "changed", "gone", "recreated"] {
        server.put(&config_map(name, "1"));
    }
    let (_factory, informer) = informer(server).await;
    let (seen, sunk) = (Diary::default(), Diary::default());
    informer.add_event_handler(seen.clone());
    informer.add_sink(sunk.sink());
    settle().await;
    assert_eq!((seen.take().len(), sunk.take().len()), (4, 4));
    let before = informer.lister().object(&name("same")).unwrap();

    server.put_unseen(&config_map("changed", "2"));
    server.delete_unseen("default", "gone");
    server.delete_unseen("default", "recreated");
    server.put_unseen(&config_map("recreated", "2"));
    server.put_unseen(&config_map("new", "2"));
    gap(server).await;

    assert_eq!(
        seen.take(),
        [
            "delete gone=1 unseen",
            "update changed=1->2",
            "add new=2",
            "update recreated=1->2"
        ]
    );
    assert_eq!(
        sunk.take(),
        [
            "delete gone unseen",
            "update changed",
            "add new",
            "recreate recreated"
        ]
    );
    assert_eq!(contents(&informer.lister()), server.contents());
    // What has not changed is not even replaced.
    let after = informer.lister().object(&name("same")).unwrap();
    assert!(std::ptr::eq(before.metadata(), after.metadata()));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_is_seen_has_the_final_state() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    let seen = Diary::default();
    informer.add_event_handler(seen.clone());
    settle().await;
    server.delete("default", "a");
    server.delete("default", "a");
    settle().await;
    assert_eq!(seen.take(), ["add a=1 initial", "delete a=1"]);
}

/// The deletion was told by the relist; that of the watch, should it come yet, is no second one.
#[tokio::test(start_paused = true)]
async fn a_deletion_is_told_once() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    let seen = Diary::default();
    informer.add_event_handler(seen.clone());
    server.delete_unseen("default", "a");
    gap(&server).await;
    let late = json!({"type": "DELETED", "object": {"kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": "a", "namespace": "default", "resourceVersion": "2"}}});
    server.send(&late.to_string());
    settle().await;
    assert_eq!(seen.take(), ["add a=1 initial", "delete a=1 unseen"]);
}

#[tokio::test(start_paused = true)]
async fn an_event_of_the_version_that_is_there_is_not_told() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    let seen = Diary::default();
    informer.add_event_handler(seen.clone());
    settle().await;
    seen.take();
    let object = informer.lister().object(&name("a")).unwrap();
    let events = informer.stats().watch_events;
    for event in ["ADDED", "MODIFIED"] {
        server.send(&format!(
            r#"{{"type":"{event}","object":{}}}"#,
            String::from_utf8(object.json().to_vec()).unwrap()
        ));
    }
    settle().await;
    assert_eq!(seen.take(), [""; 0]);
    assert_eq!(informer.stats().watch_events, events + 2);
}

/// Else all watches of all clients would end at once, and begin at once.
#[tokio::test(start_paused = true)]
async fn each_watch_has_a_timeout_of_its_own() {
    let server = Server::new();
    let (_factory, _informer) = informer(&server).await;
    let mut timeouts = BTreeSet::new();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        server.cut();
        long_after().await;
        for request in server.requests() {
            if let Request::Watch(options) = request {
                assert!((300..600).contains(&options.timeout_seconds), "{options:?}");
                timeouts.insert(options.timeout_seconds);
            }
        }
    }
    assert!(timeouts.len() > 1, "{timeouts:?}");
}
