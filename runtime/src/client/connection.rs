//! The way to the API server, known before there is one.

use std::sync::{Arc, OnceLock};

use http::{HeaderValue, Request, Response, header::USER_AGENT};
use kube::{Config, client::Body};
use tower::{BoxError, service_fn};

use super::{
    apply_cache::ApplyCache,
    cached_objects::CachedObjects,
    fence::Fence,
    inline_connection::{self, DrivenBody},
    rate_limit::RateLimit,
    request_metrics::Requests,
    transport::Transport,
    user_agent::UserAgent,
};

/// A client that can be handed out before the operator is connected, so that registering does no I/O. Cloning copies a pointer.
#[derive(Clone)]
pub struct Connection {
    clients: Clients,
    field_manager: Arc<str>,
    /// None where writes need no lease.
    fence: Option<Fence>,
    limit: RateLimit,
    repeats: bool,
    /// None outside an operator's setup: every apply is sent.
    apply_cache: Option<ApplyCache>,
}

/// Where the real connection is put once it is known; see [`Connection::late`].
#[derive(Clone)]
pub struct ConnectionSlot {
    clients: Arc<OnceLock<Clients>>,
    requests: Requests,
}

#[derive(Clone)]
struct Clients {
    /// Its connections are kept for later requests, and driven by tasks of their own.
    pooled: kube::Client,
    /// Of informers, for lists. Its connections are kept, too.
    informers: kube::Client,
    /// Of informers, for watches: whoever reads one drives its connection, which is new for each. One that a list left would be driven by a
    /// task of its own, and each event handed from that task to the reader's.
    watches: kube::Client,
    /// The API server's, where it is known; for metrics.
    host: Arc<str>,
}

/// The configuration makes no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The operator's name cannot stand in an HTTP header.
    #[error("{0:?} cannot be sent as a user agent: use visible ASCII characters")]
    UserAgent(String),
    /// The API server is to be reached through a proxy.
    #[error(
        "the API server is to be reached through the proxy {0}, which kubewright does not do: unset HTTPS_PROXY, name the server in NO_PROXY, or take proxy-url out of the kubeconfig"
    )]
    Proxy(String),
    /// The addresses, certificates or credentials of the configuration do not fit.
    #[error(
        "the configuration of the API server does not fit: check server, certificates and credentials in the kubeconfig"
    )]
    Config(#[source] kube::Error),
}

/// A request was sent before the operator was connected.
#[derive(Debug, thiserror::Error)]
#[error("not connected yet: send requests from reconcile, or from a runnable, not while registering")]
struct NotConnected;

impl Connection {
    /// A connection through a client that exists. Give it a client with `default_retry` off, as [`connect`](Self::connect) does.
    pub fn new(client: kube::Client) -> Self {
        Self::of(Clients {
            pooled: client.clone(),
            informers: client.clone(),
            watches: client,
            host: "".into(),
        })
    }

    fn of(clients: Clients) -> Self {
        Self {
            clients,
            field_manager: "kubewright".into(),
            fence: None,
            limit: RateLimit::default(),
            repeats: true,
            apply_cache: None,
        }
    }

    /// A connection to the API server of `config` for the operator `name`, which is the user agent and the field manager.
    ///
    /// Nothing is sent yet. Watches have connections of their own.
    ///
    /// kube's own retry is left out, whatever `config` says, because it would repeat requests that may have been carried out.
    /// A token that stands in a file is read again every minute.
    pub fn connect(mut config: Config, name: &str) -> Result<Self, ConnectError> {
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
        let transport = Transport::new(&config, UserAgent(user_agent)).map_err(ConnectError::Config)?;
        let clients = Clients {
            pooled: transport.client(usize::MAX),
            informers: transport.client(usize::MAX),
            watches: transport.client(0),
            host,
        };
        Ok(Self::of(clients).with_field_manager(name))
    }

    /// A connection that is put into the slot later; requests before that are errors. Must be called within a tokio runtime.
    pub fn late() -> (Self, ConnectionSlot) {
        let slot = ConnectionSlot {
            clients: Arc::default(),
            requests: Requests::default(),
        };
        let late = |which: fn(&Clients) -> &kube::Client| {
            let slot = slot.clone();
            let service = service_fn(move |request: Request<Body>| {
                let slot = slot.clone();
                async move {
                    let clients = slot.clients.get().ok_or(NotConnected)?;
                    let (host, client) = (clients.host.clone(), which(clients).clone());
                    slot.requests.count(host, client, request).await
                }
            });
            kube::Client::new(service, "default")
        };
        let clients = Clients {
            pooled: late(|clients| &clients.pooled),
            informers: late(|clients| &clients.informers),
            watches: late(|clients| &clients.watches),
            host: "".into(),
        };
        (Self::of(clients), slot)
    }

    /// The same connection with another field manager: who the API server says manages what typed clients write.
    /// The manager sets the operator's name.
    pub fn with_field_manager(self, name: impl Into<Arc<str>>) -> Self {
        Self {
            field_manager: name.into(),
            ..self
        }
    }

    /// The field manager, "kubewright" unless it was set.
    pub fn field_manager(&self) -> &str {
        &self.field_manager
    }

    /// The same connection whose writes need the fence to be open.
    pub(crate) fn fenced(self, fence: Fence) -> Self {
        Self {
            fence: Some(fence),
            ..self
        }
    }

    /// The same connection, whose applies are not sent if these caches show that they would change nothing. Clones made afterwards share
    /// the records of applies.
    pub(crate) fn with_cached_objects(self, objects: Arc<dyn CachedObjects>) -> Self {
        Self {
            apply_cache: Some(ApplyCache::new(objects)),
            ..self
        }
    }

    pub(crate) fn apply_cache(&self) -> Option<&ApplyCache> {
        self.apply_cache.as_ref()
    }

    /// The same connection for what every replica may write, not only the leader. With leader election, the connection of an operator's
    /// [`Setup`](crate::controller::Setup) sends writes only while its replica leads.
    #[must_use]
    pub fn unfenced(&self) -> Self {
        Self {
            fence: None,
            ..self.clone()
        }
    }

    /// The client, for raw use. With leader election, that of an operator's setup sends nothing but reads unless the replica leads.
    pub fn kube_client(&self) -> kube::Client {
        match &self.fence {
            None => self.clients.pooled.clone(),
            Some(fence) => guarded(self.clients.pooled.clone(), fence.clone()),
        }
    }

    /// The same connection, which never repeats a request by itself; see [`TypedClient`](super::TypedClient) for which it repeats.
    #[must_use]
    pub fn without_repeats(self) -> Self {
        Self {
            repeats: false,
            ..self
        }
    }

    pub(super) fn repeats(&self) -> bool {
        self.repeats
    }

    /// How many requests typed clients may send a second; off unless set. Clones share it.
    pub(crate) fn limit(&self) -> &RateLimit {
        &self.limit
    }

    /// Lets typed clients send `per_second` requests on average, and `burst` at once. Off unless this is called, because the API server's
    /// own priority and fairness serves better; the manager's flag is `--kube-api-qps`. Informers and the leader lease are not limited.
    /// Clones of the connection made afterwards share the limit.
    #[must_use]
    pub fn with_rate_limit(self, per_second: f64, burst: u32) -> Self {
        let limit = RateLimit::default();
        limit.set(per_second, burst);
        Self { limit, ..self }
    }

    pub(super) fn fence(&self) -> Option<&Fence> {
        self.fence.as_ref()
    }

    pub(crate) fn client(&self) -> &kube::Client {
        &self.clients.pooled
    }

    /// The client of informers for lists, whose connections are not shared with others: those end with the thread that drives them.
    pub(crate) fn informers(&self) -> &kube::Client {
        &self.clients.informers
    }

    /// Sends a request of an informer whose response lasts.
    pub(crate) async fn send_and_drive(
        &self,
        request: Request<Body>,
    ) -> Result<Response<DrivenBody>, kube::Error> {
        inline_connection::send(&self.clients.watches, request).await
    }
}

impl ConnectionSlot {
    /// Connects; the first connection stays.
    pub fn connect(&self, connection: &Connection) {
        let _ = self.clients.set(connection.clients.clone());
    }

    /// What is sent through the connection.
    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }
}

/// A raw client behind a fence.
fn guarded(client: kube::Client, fence: Fence) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (client, fence) = (client.clone(), fence.clone());
        async move {
            let is_read = request.method().is_safe();
            let answer = client.send(request);
            let answer = if is_read {
                answer.await?
            } else {
                fence.guard(answer).await??
            };
            Ok::<_, BoxError>(answer)
        }
    });
    kube::Client::new(service, namespace)
}
