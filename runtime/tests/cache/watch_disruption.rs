//! The events after a watch missed changes.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::json;

use crate::support::{
    server::{Request, Server},
    *,
};

/// Closes the watches with an expired history, and waits for the relist.
async fn gap(server: &Server) {
    server.compact();
    server.cut();
    wait_out_backoff().await;
}

/// client-go: TestSharedInformerWatchDisruption, TestReplaceEvents.
#[tokio::test(start_paused = true)]
async fn relist_is_delivered_as_the_difference() {
    for server in [Server::new(), Server::without_streaming()] {
        check_relist_is_delivered_as_the_difference(&server).await;
    }
}

async fn check_relist_is_delivered_as_the_difference(server: &Arc<Server>) {
    for name in ["same", "changed", "gone", "recreated"] {
        server.put(&config_map(name, "1"));
    }
    let (_factory, informer) = informer(server).await;
    let (seen, sunk) = (RecordingHandler::default(), RecordingHandler::default());
    informer.add_event_handler(seen.clone());
    informer.add_sink(sunk.sink());
    run_until_idle().await;
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
    // An unchanged object is not even replaced.
    let after = informer.lister().object(&name("same")).unwrap();
    assert!(std::ptr::eq(before.metadata(), after.metadata()));
}

#[tokio::test(start_paused = true)]
async fn watched_deletion_has_the_final_state() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    let seen = RecordingHandler::default();
    informer.add_event_handler(seen.clone());
    run_until_idle().await;
    server.delete("default", "a");
    server.delete("default", "a");
    run_until_idle().await;
    assert_eq!(seen.take(), ["add a=1 initial", "delete a=1"]);
}

/// The relist delivers the deletion; a later deletion event of the watch is ignored.
#[tokio::test(start_paused = true)]
async fn deletion_is_delivered_once() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    let seen = RecordingHandler::default();
    informer.add_event_handler(seen.clone());
    server.delete_unseen("default", "a");
    gap(&server).await;
    let late = json!({"type": "DELETED", "object": {"kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": "a", "namespace": "default", "resourceVersion": "2"}}});
    server.send(&late.to_string());
    run_until_idle().await;
    assert_eq!(seen.take(), ["add a=1 initial", "delete a=1 unseen"]);
}

#[tokio::test(start_paused = true)]
async fn event_of_the_stored_version_is_ignored() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    let seen = RecordingHandler::default();
    informer.add_event_handler(seen.clone());
    run_until_idle().await;
    seen.take();
    let object = informer.lister().object(&name("a")).unwrap();
    let events = informer.stats().watch_events;
    for event in ["ADDED", "MODIFIED"] {
        server.send(&format!(
            r#"{{"type":"{event}","object":{}}}"#,
            String::from_utf8(object.json().to_vec()).unwrap()
        ));
    }
    run_until_idle().await;
    assert_eq!(seen.take(), [""; 0]);
    assert_eq!(informer.stats().watch_events, events + 2);
}

/// Otherwise all watches of all clients would end and restart at the same time.
#[tokio::test(start_paused = true)]
async fn each_watch_has_its_own_random_timeout() {
    let server = Server::new();
    let (_factory, _informer) = informer(&server).await;
    let mut timeouts = BTreeSet::new();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        server.cut();
        wait_out_backoff().await;
        for request in server.requests() {
            if let Request::Watch(options) = request {
                assert!((300..600).contains(&options.timeout_seconds), "{options:?}");
                timeouts.insert(options.timeout_seconds);
            }
        }
    }
    assert!(timeouts.len() > 1, "{timeouts:?}");
}
