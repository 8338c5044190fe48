//! The client of the storage service, a small HTTP API:
//!
//! | request | effect |
//! |---|---|
//! | `POST /buckets` with `token` and `versioned` | creates a bucket, or returns the one that was created with this token |
//! | `GET /buckets/ID` | the bucket, or 404 |
//! | `PUT /buckets/ID` with `versioned` | changes it |
//! | `DELETE /tokens/TOKEN` | deletes the bucket that was created with this token, or 404 |

use std::{error::Error, fmt, time::Duration};

use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How long a request may take. The work queue retries; a service that does not answer must not hold a worker.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of the storage service. Cloning copies a pointer.
#[derive(Clone, Debug)]
pub struct Storage {
    client: Client<HttpConnector, Full<Bytes>>,
    url: Uri,
}

/// A bucket as the service has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct StoredBucket {
    /// The identifier that the service chose.
    pub id: String,
    /// Whether the service keeps old versions of the files.
    pub versioned: bool,
}

/// A request to the service failed.
#[derive(Debug)]
pub struct StorageError(String);

impl Storage {
    /// Returns a client of the service at `url`, without a connection.
    pub fn new(url: Uri) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { client, url }
    }

    // ANCHOR: create
    /// Creates a bucket. Repeating it with the same token returns the first one.
    pub async fn create(&self, token: &str, versioned: bool) -> Result<StoredBucket, StorageError> {
        let body = json!({"token": token, "versioned": versioned});
        let created = self.send(Method::POST, "/buckets", Some(&body)).await?;
        created
            .ok_or_else(|| StorageError("POST /buckets: not found: check the URL of the service".to_owned()))
    }
    // ANCHOR_END: create

    /// Returns a bucket; none if it does not exist.
    pub async fn get(&self, id: &str) -> Result<Option<StoredBucket>, StorageError> {
        self.send(Method::GET, &format!("/buckets/{id}"), None).await
    }

    /// Changes a bucket; none if it does not exist.
    pub async fn update(&self, id: &str, versioned: bool) -> Result<Option<StoredBucket>, StorageError> {
        let body = json!({"versioned": versioned});
        self.send(Method::PUT, &format!("/buckets/{id}"), Some(&body))
            .await
    }

    /// Deletes the bucket that was created with this token, if any.
    pub async fn delete(&self, token: &str) -> Result<(), StorageError> {
        self.send(Method::DELETE, &format!("/tokens/{token}"), None)
            .await
            .map(drop)
    }

    /// Sends a request; none if the answer is 404.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Option<StoredBucket>, StorageError> {
        let failed = |error: &dyn fmt::Display| StorageError(format!("{method} {path}: {error}"));
        let url = format!("{}{path}", self.url.to_string().trim_end_matches('/'));
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder().method(&method).uri(url).body(Full::from(body));
        let request = request.map_err(|error| failed(&error))?;
        let exchange = async {
            let response = self
                .client
                .request(request)
                .await
                .map_err(|error| failed(&error))?;
            let status = response.status();
            let body = response
                .into_body()
                .collect()
                .await
                .map_err(|error| failed(&error))?;
            Ok((status, body.to_bytes()))
        };
        let (status, body) = tokio::time::timeout(REQUEST_TIMEOUT, exchange)
            .await
            .map_err(|_| failed(&"no answer within 10 s"))??;
        match status {
            StatusCode::NOT_FOUND => Ok(None),
            _ if status.is_success() => serde_json::from_slice(&body)
                .map(Some)
                .map_err(|error| failed(&error)),
            _ => Err(failed(&status)),
        }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "storage service: {}", self.0)
    }
}

impl Error for StorageError {}
