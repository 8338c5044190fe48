//! What is measured: who reads the list and the watch, and what it does with each object.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::Result;
use bytes::Bytes;
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt as _,
    client::Body,
    runtime::{WatchStreamExt as _, reflector, watcher},
};
use kubewright::{
    cache::{EventHandler, Object, SharedInformerFactory},
    client::Connection,
};
use tokio::sync::Notify;

use crate::server::OBJECTS;

/// Who reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Kubewright,
    KubewrightDecoding,
    KubeRuntime,
    KubeRuntimeWithoutManagedFields,
    Source,
}

impl Subject {
    /// In the order of the table; the first is what the others are compared with.
    pub(crate) const ALL: [Self; 5] = [
        Self::Kubewright,
        Self::KubewrightDecoding,
        Self::KubeRuntime,
        Self::KubeRuntimeWithoutManagedFields,
        Self::Source,
    ];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Kubewright => "kubewright, a handler that reads metadata",
            Self::KubewrightDecoding => "kubewright, a handler that decodes each object",
            Self::KubeRuntime => "kube-runtime, watcher + reflector",
            Self::KubeRuntimeWithoutManagedFields => "kube-runtime, managedFields dropped before the store",
            Self::Source => "the source alone, bytes thrown away",
        }
    }

    /// Reads until the process ends.
    pub(crate) async fn run(self, client: kube::Client, seen: Arc<Seen>) -> Result<()> {
        match self {
            Self::Kubewright => kubewright(client, Reads(seen)).await,
            Self::KubewrightDecoding => kubewright(client, Decodes(seen)).await,
            Self::KubeRuntime => kube_runtime(client, &seen, |_| {}).await,
            Self::KubeRuntimeWithoutManagedFields => {
                kube_runtime(client, &seen, |pod| pod.managed_fields_mut().clear()).await
            }
            Self::Source => source(client, &seen).await,
        }
    }
}

/// Counts what the subject was told of.
#[derive(Default)]
pub(crate) struct Seen {
    count: AtomicUsize,
    more: Notify,
}

impl Seen {
    fn metadata(&self, name: &str, version: &str) {
        black_box((name, version));
        self.count(1);
    }

    fn count(&self, objects: usize) {
        self.count.fetch_add(objects, Ordering::Relaxed);
        self.more.notify_one();
    }

    pub(crate) async fn wait_for(&self, objects: usize) {
        while self.count.load(Ordering::Relaxed) < objects {
            self.more.notified().await;
        }
    }
}

async fn kubewright(client: kube::Client, handler: impl EventHandler<Pod>) -> Result<()> {
    let informers = SharedInformerFactory::new(Connection::new(client));
    informers.of::<Pod>().add_event_handler(handler);
    informers.start();
    std::future::pending().await
}

struct Reads(Arc<Seen>);

impl EventHandler<Pod> for Reads {
    fn on_add(&self, pod: &Object<Pod>, _: bool) {
        self.0
            .metadata(pod.name().name(), pod.metadata().resource_version());
    }

    fn on_update(&self, _: &Object<Pod>, new: &Object<Pod>) {
        self.on_add(new, false);
    }
}

struct Decodes(Arc<Seen>);

impl EventHandler<Pod> for Decodes {
    fn on_add(&self, pod: &Object<Pod>, _: bool) {
        // What does not decode is not counted, and the benchmark does not end.
        if let Ok(pod) = pod.decode() {
            read(&pod, &self.0);
        }
    }

    fn on_update(&self, _: &Object<Pod>, new: &Object<Pod>) {
        self.on_add(new, false);
    }
}

fn read(pod: &Pod, seen: &Seen) {
    seen.metadata(
        &pod.name_any(),
        pod.metadata.resource_version.as_deref().unwrap_or_default(),
    );
}

async fn kube_runtime(client: kube::Client, seen: &Seen, modify: impl FnMut(&mut Pod)) -> Result<()> {
    let (_store, writer) = reflector::store();
    let events = watcher(Api::<Pod>::all(client), watcher::Config::default());
    let mut events = std::pin::pin!(events.modify(modify).reflect(writer));
    while let Some(event) = events.next().await {
        if let watcher::Event::InitApply(pod) | watcher::Event::Apply(pod) = event? {
            read(&pod, seen);
        }
    }
    Ok(())
}

/// Without a look at the bytes but for the ends of lines: only a watch has any.
async fn source(client: kube::Client, seen: &Seen) -> Result<()> {
    for query in ["resourceVersion=0", "watch=true"] {
        let request = http::Request::get(format!("/api/v1/pods?{query}")).body(Body::empty())?;
        let mut body = client.send(request).await?.into_body().into_data_stream();
        while let Some(chunk) = body.next().await {
            let chunk: Bytes = chunk?;
            seen.count(memchr::memchr_iter(b'\n', &chunk).count());
        }
        seen.count(OBJECTS);
    }
    Ok(())
}
