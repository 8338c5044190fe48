//! How many connections an operator's requests need, and what a dead one costs, on both API servers, which offer HTTP/2.

use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kubewright::{
    NamespacedName,
    cache::{InformerOptions, SharedInformerFactory},
    client::{Connection, Create, Get, TypedClient},
};
use kubewright_testkit::{Cluster, Proxy};
use kubewright_tests::{on_both_servers, real};

on_both_servers!(
    concurrent_requests_share_a_connection_of_http2,
    watches_share_a_connection_of_http2_and_outlive_it
);

const CONCURRENT: usize = 20;
/// How many watches share a connection at most.
const SHARED: usize = 64;
/// More than the interval of pings and the time for a response.
const DEAD_AFTER: Duration = Duration::from_secs(40);

async fn client(cluster: &Cluster, proxy: &Proxy) -> TypedClient<Namespace, (Get,)> {
    let identity = cluster.admin().via_proxy(proxy).expect("a kubeconfig");
    let config = identity.config().await.expect("a configuration");
    TypedClient::new(Connection::connect(config, "connections").expect("a connection"))
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(test);
}

async fn get_default(client: &TypedClient<Namespace, (Get,)>) {
    client
        .get(&NamespacedName::cluster("default"))
        .await
        .expect("the namespace");
}

fn concurrent_requests_share_a_connection_of_http2(cluster: &Cluster) {
    run(async {
        let proxy = cluster.proxy().expect("a proxy");
        let client = client(cluster, &proxy).await;
        get_default(&client).await;
        join_all((0..CONCURRENT).map(|_| get_default(&client))).await;
        assert_eq!(proxy.accepted(), 1);
    });
}

fn watches_share_a_connection_of_http2_and_outlive_it(cluster: &Cluster) {
    run(async {
        let proxy = cluster.proxy().expect("a proxy");
        let identity = cluster.admin().via_proxy(&proxy).expect("a kubeconfig");
        let config = identity.config().await.expect("a configuration");
        let connection = Connection::connect(config, "connections").expect("a connection");
        let factory = SharedInformerFactory::new(connection);
        let informers: Vec<_> = (0..=SHARED)
            .map(|number| {
                factory.metadata_only_with::<ConfigMap>(InformerOptions {
                    label_selector: Some(format!("watch={number}")),
                    shares_connection: true,
                    ..InformerOptions::default()
                })
            })
            .collect();
        factory.start();
        factory.wait_for_cache_sync().await;
        // One has no slot. Watches that start together open connections until the first one turns out to be of HTTP/2.
        let expected = 2;
        let settled = async {
            while proxy.connections() != expected {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let settled = tokio::time::timeout(Duration::from_secs(30), settled).await;
        assert!(
            settled.is_ok(),
            "{} connections, not {expected}",
            proxy.connections()
        );

        let writer: TypedClient<ConfigMap, (Create,)> = TypedClient::new(
            Connection::connect(cluster.admin().config().await.expect("a configuration"), "writer")
                .expect("a connection"),
        );
        for name in ["before", "after"] {
            for number in [0, SHARED] {
                let name = NamespacedName::namespaced("default", format!("{name}-{number}"));
                let mut object = ConfigMap::default();
                object.metadata.name = Some(name.name().to_owned());
                object.metadata.namespace = name.namespace().map(ToOwned::to_owned);
                object.metadata.labels = Some([("watch".to_owned(), number.to_string())].into());
                writer.create(&object).await.expect("it is created");
                let lister = informers[number].lister();
                let arrived = async {
                    while lister.get(&name).is_err() {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                };
                let arrived = tokio::time::timeout(Duration::from_mins(1), arrived).await;
                arrived.expect("the event arrives");
            }
            proxy.break_all();
        }
        factory.shutdown().await;
    });
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn connection_on_which_nothing_arrives_is_closed_in_time() {
    run(async {
        let proxy = real().proxy().expect("a proxy");
        let client = client(real(), &proxy).await;
        get_default(&client).await;
        proxy.pause();
        let name = NamespacedName::cluster("default");
        let lost = tokio::time::timeout(DEAD_AFTER, client.get(&name)).await;
        assert!(lost.expect("the connection is closed in time").is_err());
        proxy.resume();
        get_default(&client).await;
        assert_eq!(proxy.accepted(), 2);
    });
}
