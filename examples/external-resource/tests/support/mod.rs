//! A fake of the storage service, in the test's process.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard},
};

use bytes::Bytes;
use external_resource::storage::{Storage, StoredBucket};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

/// The service. Cloning copies a pointer.
#[derive(Clone, Default)]
pub(crate) struct FakeStorage(Arc<Mutex<StorageState>>);

#[derive(Default)]
pub(crate) struct StorageState {
    /// The buckets by token.
    pub(crate) buckets: BTreeMap<String, StoredBucket>,
    /// How many buckets were created.
    pub(crate) creations: usize,
    /// How many of the next requests fail.
    pub(crate) failures: usize,
}

impl FakeStorage {
    /// Starts the service on a free port, and returns it with a client.
    pub(crate) async fn start() -> (Self, Storage) {
        let fake = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let fake = serving.clone();
                let service = service_fn(move |request| {
                    let fake = fake.clone();
                    async move { Ok::<_, Infallible>(fake.respond(request).await) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        (fake, Storage::new(url.parse().unwrap()))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, StorageState> {
        self.0.lock().unwrap()
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (code, bucket) = self.state().handle(&head.method, head.uri.path(), &body);
        let text = bucket.map(|bucket| serde_json::to_string(&bucket).unwrap());
        let mut response = Response::new(Full::from(text.unwrap_or_default()));
        *response.status_mut() = code;
        response
    }
}

impl StorageState {
    fn handle(&mut self, method: &Method, path: &str, body: &Value) -> (StatusCode, Option<StoredBucket>) {
        if self.failures > 0 {
            self.failures -= 1;
            return (StatusCode::SERVICE_UNAVAILABLE, None);
        }
        let versioned = body["versioned"] == true;
        let name = path.rsplit('/').next().unwrap_or_default();
        let by_id = self.buckets.values_mut().find(|bucket| bucket.id == name);
        let found = match *method {
            Method::POST => {
                let token = body["token"].as_str().unwrap_or_default().to_owned();
                if !self.buckets.contains_key(&token) {
                    self.creations += 1;
                    let id = format!("b-{}", self.creations);
                    self.buckets.insert(token.clone(), StoredBucket { id, versioned });
                }
                self.buckets.get(&token).cloned()
            }
            Method::PUT => by_id.map(|bucket| {
                bucket.versioned = versioned;
                bucket.clone()
            }),
            Method::DELETE => self.buckets.remove(name),
            _ => by_id.cloned(),
        };
        let code = if found.is_some() {
            StatusCode::OK
        } else {
            StatusCode::NOT_FOUND
        };
        (code, found)
    }
}
