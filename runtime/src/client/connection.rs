//! The connection to the API server, which can be handed out before it is established.

use std::sync::{Arc, OnceLock};

use futures::{FutureExt as _, future};
use http::{HeaderValue, Request, Response, header::USER_AGENT};
use kube::{Config, client::Body, config::AuthInfo};
use tokio::sync::Semaphore;
use tower::{BoxError, service_fn};

use super::{
    apply_cache::ApplyCache,
    cached_objects::CachedObjects,
    fence::Fence,
    http_client::{HttpClient, PendingResponse, ResponseBody},
    inline_connection::{self, InlineBody},
    owner_versions::OwnerVersions,
    rate_limit::RateLimit,
    request_metrics::RequestMetrics,
    service_account_token::ServiceAccountToken,
    transport::Transport,
    user_agent::UserAgent,
};

/// A connection to the API server. It can be handed out before the operator is connected, so that registering does no I/O. Cloning copies
/// pointers.
#[derive(Clone)]
pub struct Connection {
    /// Empty until a [`Connection::late`] one is connected.
    clients: Arc<OnceLock<Clients>>,
    /// Of a late connection: they count the requests.
    request_metrics: Option<RequestMetrics>,
    pub(super) field_manager: Arc<str>,
    /// None if writes need no leader lease.
    fence: Option<Fence>,
    rate_limit: RateLimit,
    retries: bool,
    /// None outside an operator's setup: every apply is sent.
    apply_cache: Option<ApplyCache>,
    /// Empty outside an operator's setup.
    owner_versions: OwnerVersions,
}

#[derive(Clone)]
struct Clients {
    /// For requests: one connection by HTTP/2, or pooled ones, each polled by a task of its own.
    requests: HttpClient,
    /// For the leader lease. It has connections of its own: the lease must be renewed while other requests wait on a dead connection.
    lease: HttpClient,
    /// For lists of informers. It has its own pool, because a connection ends with the thread that polls it.
    lists: HttpClient,
    /// For watches of informers. Each opens a connection, which the watch's reader polls. A pooled connection of a list has a task of its
    /// own, which would hand each event over to the reader's task.
    watches: HttpClient,
    /// For watches that share a connection, each with a slot.
    shared_watches: HttpClient,
    watch_slots: Arc<Semaphore>,
    /// The API server's host for metrics; empty if unknown.
    host: Arc<str>,
    /// The namespace of the configuration.
    namespace: Arc<str>,
}

/// How many watches share a connection. API servers allow at least 100 streams on each; another one would wait for its turn, which does not come.
const MAX_SHARED_WATCHES: usize = 64;

fn watch_slots() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(MAX_SHARED_WATCHES))
}

type WhichClient = fn(&Clients) -> &HttpClient;

/// A configuration from which no client can be created.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The operator's name is not valid in an HTTP header.
    #[error("{0:?} cannot be sent as a user agent: use visible ASCII characters")]
    UserAgent(String),
    /// The configuration has a proxy.
    #[error(
        "the API server is configured behind the proxy {0}, which kubewright does not support: unset HTTPS_PROXY, add the server to NO_PROXY, or remove proxy-url from the kubeconfig"
    )]
    Proxy(String),
    /// The addresses, certificates or credentials are invalid.
    #[error(
        "the configuration of the API server is invalid: check server, certificates and credentials in the kubeconfig"
    )]
    Config(#[source] kube::Error),
}

/// A request before the operator was connected.
#[derive(Debug, thiserror::Error)]
#[error("not connected yet: send requests from reconcile, or from a runnable, not while registering")]
struct NotConnected;

impl Connection {
    /// Creates a connection from an existing client, which should have `default_retry` off, as with [`connect`](Self::connect).
    pub fn new(client: kube::Client) -> Self {
        let namespace = client.default_namespace().into();
        let client = HttpClient::Kube(client);
        Self::from_clients(Clients {
            requests: client.clone(),
            lease: client.clone(),
            lists: client.clone(),
            watches: client.clone(),
            shared_watches: client,
            watch_slots: watch_slots(),
            host: "".into(),
            namespace,
        })
    }

    fn from_clients(clients: impl Into<OnceLock<Clients>>) -> Self {
        Self {
            clients: Arc::new(clients.into()),
            request_metrics: None,
            field_manager: "kubewright".into(),
            fence: None,
            rate_limit: RateLimit::default(),
            retries: true,
            apply_cache: None,
            owner_versions: OwnerVersions::default(),
        }
    }

    /// Creates a connection to the API server of `config`. `name` is the operator's, for the user agent and the field manager.
    ///
    /// It sends nothing yet. Each watch opens a connection of its own, unless the informer's options let it share one.
    ///
    /// kube's retry is off, whatever `config` says, because it would resend requests that may have been carried out. A token file is read
    /// again every minute.
    pub fn connect(config: Config, name: &str) -> Result<Self, ConnectError> {
        Self::connect_with(config, name, None)
    }

    /// As [`connect`](Self::connect), with the credentials of a service account in place of the configuration's.
    pub(crate) fn connect_as(
        config: Config,
        name: &str,
        token: ServiceAccountToken,
    ) -> Result<Self, ConnectError> {
        Self::connect_with(config, name, Some(token))
    }

    fn connect_with(
        mut config: Config,
        name: &str,
        token: Option<ServiceAccountToken>,
    ) -> Result<Self, ConnectError> {
        let (version, os, arch) = (
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH,
        );
        let user_agent = HeaderValue::try_from(format!("{name} ({os}/{arch}) kubewright/{version}"))
            .map_err(|_| ConnectError::UserAgent(name.to_owned()))?;
        config.headers.retain(|(header, _)| header != USER_AGENT);
        if let Some(proxy) = &config.proxy_url {
            return Err(ConnectError::Proxy(proxy.to_string()));
        }
        let host = config
            .cluster_url
            .authority()
            .map_or("", |host| host.as_str())
            .into();
        let namespace = config.default_namespace.as_str().into();
        if token.is_some() {
            config.auth_info = AuthInfo::default();
        }
        let transport =
            Transport::new(&config, UserAgent(user_agent), token).map_err(ConnectError::Config)?;
        let clients = Clients {
            requests: transport.shared_connection(),
            lease: transport.few_connections(),
            lists: transport.few_connections(),
            watches: transport.connection_each(),
            shared_watches: transport.shared_connection(),
            watch_slots: watch_slots(),
            host,
            namespace,
        };
        Ok(Self::from_clients(clients).with_field_manager(name))
    }

    /// Creates a connection that is connected later, by [`connect_to`](Self::connect_to). Requests before that fail.
    #[doc(hidden)]
    pub fn late() -> Self {
        Self {
            request_metrics: Some(RequestMetrics::default()),
            ..Self::from_clients(OnceLock::new())
        }
    }

    /// Returns a connection for one component of the operator: it has its own rate limiter, and is connected by itself if this one is a
    /// [`late`](Self::late) one. Everything else is shared.
    pub(crate) fn for_component(&self) -> Self {
        let mut connection = self.clone();
        connection.rate_limit = RateLimit::default();
        if self.request_metrics.is_some() {
            connection.clients = Arc::default();
        }
        connection
    }

    /// Connects a [`late`](Self::late) connection and all clones of it, with one that is connected. Later calls do nothing.
    #[doc(hidden)]
    pub fn connect_to(&self, connection: &Self) {
        if let Some(clients) = connection.clients.get() {
            let _ = self.clients.set(clients.clone());
        }
    }

    /// The metrics of the requests through a [`late`](Self::late) connection, and through those of components.
    pub(crate) fn request_metrics(&self) -> Option<&RequestMetrics> {
        self.request_metrics.as_ref()
    }

    /// Returns the same connection with a fence: writes are sent only while it is open.
    pub(crate) fn fenced(self, fence: Fence) -> Self {
        Self {
            fence: Some(fence),
            ..self
        }
    }

    /// Returns the same connection with an apply cache: applies are not sent if these caches show that they would change nothing. Clones
    /// made afterwards share the records of applies.
    pub(crate) fn with_cached_objects(self, objects: Arc<dyn CachedObjects>) -> Self {
        Self {
            apply_cache: Some(ApplyCache::new(objects)),
            ..self
        }
    }

    pub(crate) fn apply_cache(&self) -> Option<&ApplyCache> {
        self.apply_cache.as_ref()
    }

    /// The API versions of owner references to the operator's kinds.
    pub(crate) fn owner_versions(&self) -> &OwnerVersions {
        &self.owner_versions
    }

    /// Returns the same connection for writes that every replica may send, not only the leader. With leader election, the connection of an
    /// operator's [`Setup`](crate::controller::Setup) sends writes only while its replica leads.
    #[must_use]
    pub fn unfenced(&self) -> Self {
        Self {
            fence: None,
            ..self.clone()
        }
    }

    /// Returns kube's client. With leader election, that of an operator's setup sends writes only while the replica leads. Must be called
    /// within a tokio runtime.
    pub fn kube_client(&self) -> kube::Client {
        self.kube_client_of(|clients| &clients.requests)
    }

    /// Returns the client for the leader lease.
    pub(crate) fn lease_client(&self) -> kube::Client {
        self.kube_client_of(|clients| &clients.lease)
    }

    fn kube_client_of(&self, which: WhichClient) -> kube::Client {
        let clients = self.clients.get();
        if let (Some(clients), None, None) = (clients, &self.fence, &self.request_metrics)
            && let HttpClient::Kube(client) = which(clients)
        {
            return client.clone();
        }
        let namespace = clients.map_or("default", |clients| &*clients.namespace);
        let connection = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let connection = connection.clone();
            async move { connection.send_fenced(which, request).await }
        });
        kube::Client::new(service, namespace)
    }

    /// Sends a request; a write only while the fence is open.
    async fn send_fenced(
        &self,
        which: WhichClient,
        request: Request<Body>,
    ) -> Result<Response<ResponseBody>, BoxError> {
        let fence = self.fence.as_ref().filter(|_| !request.method().is_safe());
        let response = self.send_with(which, request);
        match fence {
            None => Ok(response.await?),
            Some(fence) => Ok(fence.guard(response).await??),
        }
    }

    /// Returns the same connection without retries; see [`TypedClient`](super::TypedClient) for which requests are resent otherwise.
    #[must_use]
    pub fn without_retries(self) -> Self {
        Self {
            retries: false,
            ..self
        }
    }

    pub(super) fn retries(&self) -> bool {
        self.retries
    }

    /// The rate limiter of typed clients. Clones share it.
    pub(crate) fn rate_limit(&self) -> &RateLimit {
        &self.rate_limit
    }

    /// Sets a rate limiter: typed clients send `per_second` requests on average, and `burst` at once. There is none by default, because the
    /// API server's priority and fairness does this better. The manager's flag is `--kube-api-qps`. Informers and the leader lease are not
    /// limited. Clones of the connection made afterwards share the limiter.
    #[must_use]
    pub fn with_rate_limit(self, per_second: f64, burst: u32) -> Self {
        let rate_limit = RateLimit::default();
        rate_limit.set(per_second, burst);
        Self { rate_limit, ..self }
    }

    pub(super) fn fence(&self) -> Option<&Fence> {
        self.fence.as_ref()
    }

    /// Sends a request, whatever the fence says.
    pub(crate) fn send(&self, request: Request<Body>) -> PendingResponse {
        self.send_with(|clients| &clients.requests, request)
    }

    /// Sends a list of an informer.
    pub(crate) fn send_list(&self, request: Request<Body>) -> PendingResponse {
        self.send_with(|clients| &clients.lists, request)
    }

    /// Sends a watch of an informer. Its connection is polled by the task that reads the response; see `inline_connection`.
    pub(crate) async fn send_watch(
        &self,
        request: Request<Body>,
    ) -> Result<Response<InlineBody>, kube::Error> {
        inline_connection::send(self.send_with(|clients| &clients.watches, request)).await
    }

    /// Sends a request whose response is read for a long time, over a connection of its own: over that of other requests, slow readers could
    /// use up its streams.
    pub(crate) fn send_stream(&self, request: Request<Body>) -> PendingResponse {
        self.send_with(|clients| &clients.watches, request)
    }

    /// As [`send_watch`](Self::send_watch), over a connection for several watches, as long as that has a slot.
    pub(crate) async fn send_shared_watch(
        &self,
        request: Request<Body>,
    ) -> Result<Response<InlineBody>, kube::Error> {
        let slots = self.clients.get().map(|clients| clients.watch_slots.clone());
        let Some(slot) = slots.and_then(|slots| slots.try_acquire_owned().ok()) else {
            return self.send_watch(request).await;
        };
        let response = self.send_with(|clients| &clients.shared_watches, request).await?;
        Ok(response.map(|body| InlineBody::shared(body, slot)))
    }

    fn send_with(&self, which: WhichClient, request: Request<Body>) -> PendingResponse {
        let Some(clients) = self.clients.get() else {
            return future::err(kube::Error::Service(NotConnected.into())).boxed();
        };
        let method = request.method().clone();
        let response = which(clients).send(request);
        match &self.request_metrics {
            None => response,
            Some(metrics) => metrics
                .clone()
                .count(clients.host.clone(), method, response)
                .boxed(),
        }
    }
}
