//! [`Manager`]: registers controllers, then runs the operator or prints its manifests.

use std::{
    env,
    ffi::OsString,
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    Error, Result,
    args::ManagerArgs,
    command_line::{CommandLine, InvalidArgs, Invocation},
    connection_source::ConnectionSource,
    logging,
    manifests::Manifests,
    operator::Operator,
    signals, tls,
};
use crate::{
    Clock,
    client::{Connection, Fence},
    controller::Setup,
    events::{EventWriter, Recorder},
};

type Register = Box<dyn FnOnce(&mut Setup) + Send>;

/// Runs an operator: one process with any number of controllers.
///
/// ```no_run
/// # use kubewright::{Manager, controller::Setup};
/// # fn register(setup: &mut Setup) {}
/// #[tokio::main]
/// async fn main() -> kubewright::Result<()> {
///     Manager::from_args("shop").register(register).run().await
/// }
/// ```
///
/// # Start
///
/// The parts start in this order:
///
/// 1. the servers for health checks and metrics, and for webhooks, if there are any;
/// 2. the informers, once the API server is reachable;
/// 3. after cache sync, the runnables of every replica; the operator is ready now, whether it leads or not (with webhooks it is ready
///    after step 1);
/// 4. leader election, if it is enabled;
/// 5. once the caches are at least as new as a quorum list (or 30 s later, with a warning: see
///    [`wait_until_current`](crate::cache::SharedInformerFactory::wait_until_current)), the leader's runnables;
/// 6. the controllers, when the runnables that are [`before_controllers`](crate::controller::Runnable::before_controllers) have completed.
///
/// [Groups](crate::controller::Runnable::group) of runnables start one after the other.
///
/// # Shutdown
///
/// On SIGTERM or SIGINT the operator waits for running reconciles and runnables, stops the groups of runnables in reverse order, flushes
/// events, stops the informers, releases the lease and closes the servers, all within `--grace-period`. Reconciles get seven tenths of it,
/// or five if there are groups, which get the other two. Reconciles that still run then are cancelled, so that the lease is released after the
/// last write. A second signal ends the process at once.
///
/// # Losing the lease
///
/// When the lease is lost, everything that only the leader may do is cancelled at once and [`run`](Self::run) fails, so that the process
/// restarts with an empty cache. After the renew deadline, and in replicas that do not lead, the clients of the setup refuse to write
/// ([`ClientError::is_not_leading`](crate::client::ClientError::is_not_leading)). Writes that every replica may do go through
/// [`TypedClient::unfenced`](crate::client::TypedClient::unfenced).
///
/// # Limits of leader election
///
/// A Lease does not fence: the API server does not check it when an object is written. No other replica leads before the lease duration (15 s)
/// has passed since the leader sent its last renewal. The leader starts no write after the renew deadline (10 s), and cancels running writes
/// halfway between the two (12.5 s). The remaining 2.5 s cover cancelled requests that are still in transit, and clock skew: without a
/// request in transit, the leader's clock may run slower than another replica's by a factor of 1.2.
///
/// A former leader's write can still reach the API server under the next leader if
///
/// - a proxy or the network delays a request for longer than that;
/// - the leader's clock stops, as on a suspended machine, or its process stops between the check of the deadline and the send;
/// - the write goes through `unfenced`, or through a client that is not from the setup;
/// - a user edits the Lease.
///
/// Only preconditions on the objects protect against these cases: writes with the resource version that was read (`update`), or the uid.
///
/// # Health checks
///
/// `/livez` (alias `/healthz`) passes while the process responds. `/readyz` passes once the operator has started, while for each controller
/// no watch of its informers has been down for a minute. [`Setup::liveness_check`] and [`Setup::readiness_check`] add checks.
///
/// `/syncz` passes under the same conditions as `/readyz` without webhooks. An operator with [webhooks](crate::webhooks) is ready once it
/// serves them, whatever its caches do, because the Service of webhooks routes only to ready pods: the caches of a converted kind wait for
/// the webhook, and the API server for the validators. Monitor `/syncz` then.
///
/// `/debug/kubewright`, beside `/metrics`, shows the state of caches and queues if metrics are served on a loopback address, or with
/// `--debug-page`.
///
/// # Metrics
///
/// `/metrics` is served over HTTPS, to clients with a bearer token that the API server authenticates (TokenReview) and authorizes to `get` the
/// path (SubjectAccessReview); the same applies to `/debug/kubewright`. The certificate is self-signed, or the one in `--metrics-cert-dir`. Metrics
/// on a loopback address are plain and open to everyone on the machine; `--metrics-secure` overrides this either way.
///
/// # Exit codes
///
/// | code | reason |
/// |---|---|
/// | 0 | stopped by SIGTERM or SIGINT, everything ended in time |
/// | 1 | the start or a controller failed |
/// | 2 | invalid command line or environment |
/// | 3 | the leader lease was lost |
/// | 4 | a runnable failed |
/// | 5 | reconciles or runnables were cancelled at the end of the grace period |
///
/// # Manifests
///
/// The subcommand `manifests` of the same program prints its CRDs and permissions, without a cluster.
pub struct Manager {
    name: String,
    version: Option<String>,
    command_line: Vec<OsString>,
    registrations: Vec<Register>,
    source: ConnectionSource,
    stop: CancellationToken,
    clock: Clock,
    /// Certificate chain and key, in PEM.
    tls: Option<(Vec<u8>, Vec<u8>)>,
    /// The same for webhooks.
    webhook_certificate: Option<(Vec<u8>, Vec<u8>)>,
    owns_process: bool,
}

impl Manager {
    /// Returns a manager that owns the process: it reads the command line and the environment, logs to stderr, handles signals, and ends the
    /// process with a message and [`Error::exit_code`] when it fails.
    ///
    /// `name` is the name of the lease, the field manager and the reporter of events: lower-case letters, digits and `-`.
    pub fn from_args(name: impl Into<String>) -> Self {
        Self {
            command_line: env::args_os().collect(),
            owns_process: true,
            ..Self::new(name)
        }
    }

    /// Returns a manager for use within another program: it reads the environment but no command line, installs no logger and no signal
    /// handlers, and [`run`](Self::run) returns its error. In tests use [`TestOperator`](crate::testing::TestOperator).
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            version: None,
            command_line: vec![name.clone().into()],
            registrations: Vec::new(),
            source: ConnectionSource::Flags,
            stop: CancellationToken::new(),
            clock: Clock::system(),
            tls: None,
            webhook_certificate: None,
            owns_process: false,
            name,
        }
    }

    /// Sets the command line, without the program's name: `["--leader-elect", "--metrics-bind-address=0"]`.
    #[must_use]
    pub fn with_args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.command_line.truncate(1);
        self.command_line.extend(args.into_iter().map(Into::into));
        self
    }

    /// Connects with `config` instead of a kubeconfig.
    #[must_use]
    pub fn with_config(self, config: kube::Config) -> Self {
        Self {
            source: ConnectionSource::Config(Box::new(config)),
            ..self
        }
    }

    /// Connects with `client` instead of a kubeconfig. Switch the client's `default_retry` off, because this library retries by itself.
    #[must_use]
    pub fn with_client(self, client: kube::Client) -> Self {
        Self {
            source: ConnectionSource::Client(client),
            ..self
        }
    }

    /// Sets the operator's version, for `--version` and the user agent: `.version(env!("CARGO_PKG_VERSION"))`. The user agent also contains
    /// `$POD_NAME`.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        Self {
            version: Some(version.into()),
            ..self
        }
    }

    /// Gives reconciles the time of `clock` instead of the system's: [`Setup::clock`] and the time of
    /// [`condition`](crate::controller::conditions::condition). Timestamps of events and of the leader lease stay the system's.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Serves health checks and metrics over TLS 1.2 and 1.3, with this certificate chain and its key, both in PEM. By default health checks are plain
    /// HTTP, and [metrics](Self#metrics) have a certificate of their own. [`run`](Self::run) fails if they are invalid or do not belong together.
    #[must_use]
    pub fn serve_tls(self, certificates: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self {
            tls: Some((certificates.into(), key.into())),
            ..self
        }
    }

    /// Serves [webhooks](crate::webhooks) with this certificate chain and its key, both in PEM. The certificate must be for the name
    /// `SERVICE.NAMESPACE.svc` of the Service that `manifests` prints, and `caBundle` in the webhook configurations must be its authority.
    /// By default the operator makes and renews a certificate, in the Secret that `manifests` prints, and writes the bundles.
    /// [`run`](Self::run) fails if they are invalid or do not belong together.
    #[must_use]
    pub fn webhook_certificate(self, certificates: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self {
            webhook_certificate: Some((certificates.into(), key.into())),
            ..self
        }
    }

    /// Stops the operator, as on SIGTERM, when `token` is cancelled.
    #[must_use]
    pub fn stop_on(self, token: &CancellationToken) -> Self {
        Self {
            stop: token.child_token(),
            ..self
        }
    }

    /// Adds a registration function, for controllers and everything else of [`Setup`]. [`run`](Self::run) calls it, also to print the manifests:
    /// it must do no I/O.
    #[must_use]
    pub fn register(mut self, register: impl FnOnce(&mut Setup) + Send + 'static) -> Self {
        self.registrations.push(Box::new(register));
        self
    }

    /// Runs the operator until it is stopped, or prints the manifests, depending on the command line.
    ///
    /// Returns when every started task has ended. Dropping the future aborts them. Must be called within a tokio runtime with time and I/O.
    pub async fn run(self) -> Result<()> {
        let owns_process = self.owns_process;
        match self.execute().await {
            Err(error) if owns_process => error.end_process(),
            result => result,
        }
    }

    async fn execute(self) -> Result<()> {
        let line = CommandLine::new(&self.name, self.version.as_deref(), self.command_line);
        if self.owns_process
            && let Some(ManagerArgs {
                log_format,
                log_level,
                ..
            }) = line.early()
        {
            logging::install(log_format, &log_level);
        }
        check_name(&self.name)?;
        let registered = RegisteredOperator::new(&self.name, self.registrations, &line, self.clock);
        let args = match (line.strict()?, registered.invalid_args) {
            (Invocation::Manifests { .. }, Some(error)) => return Err(Error::FlagsForManifests(error)),
            (_, Some(error)) => return Err(error.into()),
            (Invocation::Manifests { yaml }, None) => {
                return print_manifests(&registered.setup, yaml, self.webhook_certificate.is_none());
            }
            (Invocation::Run(args), None) => args,
        };
        let tls = self
            .tls
            .as_ref()
            .map(|(certificates, key)| tls::acceptor(certificates, key));
        let tls = tls.transpose().map_err(Error::Tls)?;
        let webhook_certificate = self
            .webhook_certificate
            .as_ref()
            .map(|(certificates, key)| tls::resolver(certificates, key));
        let webhook_certificate = webhook_certificate.transpose().map_err(Error::Tls)?;
        let mut listener = JoinSet::new();
        if self.owns_process {
            listener.spawn(signals::listen(self.stop.clone()).map_err(Error::Signals)?);
        }
        let user_agent = match &self.version {
            Some(version) => format!("{}/{version}", self.name),
            None => self.name.clone(),
        };
        // The API server's audit log can then distinguish replicas.
        let user_agent = match env::var("POD_NAME") {
            Ok(pod) if !pod.is_empty() => format!("{user_agent} ({pod})"),
            _ => user_agent,
        };
        let RegisteredOperator {
            setup, fence, events, ..
        } = registered;
        let operator = Operator::new(setup, fence, events, self.source, &user_agent, *args)?
            .with_tls(tls)
            .with_webhook_certificate(webhook_certificate);
        // A large future.
        let result = Box::pin(operator.run(self.stop)).await;
        listener.shutdown().await;
        result
    }
}

/// The result of calling all registration functions.
struct RegisteredOperator {
    setup: Setup,
    fence: Fence,
    events: (Recorder, EventWriter),
    /// The first error of the operator's own flags.
    invalid_args: Option<clap::Error>,
}

impl RegisteredOperator {
    fn new(name: &str, registrations: Vec<Register>, line: &CommandLine, clock: Clock) -> Self {
        let (connection, fence) = (Connection::late(), Fence::default());
        let events = Recorder::pipeline(name);
        let mut setup = Setup::new(
            name,
            connection.with_field_manager(name).fenced(fence.clone()),
            events.0.clone(),
            line.clone(),
        );
        setup.set_clock(clock);
        let mut invalid_args = None;
        for register in registrations {
            // Invalid arguments unwind `register`; the other functions still register their flags, for `--help`.
            let Err(payload) = catch_unwind(AssertUnwindSafe(|| register(&mut setup))) else {
                continue;
            };
            match payload.downcast::<InvalidArgs>() {
                Ok(error) => invalid_args = invalid_args.or(Some(error.0)),
                Err(panic) => resume_unwind(panic),
            }
        }
        Self {
            setup,
            fence,
            events,
            invalid_args,
        }
    }
}

fn check_name(name: &str) -> Result<()> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = (1..=63).contains(&name.len()) && name.chars().all(inner);
    if !fits || name.starts_with('-') || name.ends_with('-') {
        return Err(Error::Name(name.to_owned()));
    }
    Ok(())
}

fn print_manifests(setup: &Setup, yaml: bool, keeps_certificate: bool) -> Result<()> {
    let manifests = Manifests::with_certificate(setup, keeps_certificate).map_err(Error::Manifests)?;
    let text = if yaml {
        manifests.to_yaml().map_err(io::Error::other)
    } else {
        manifests.to_json().map_err(io::Error::other)
    };
    let written = text.and_then(|text| {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    });
    match written {
        // The reader closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Error::Output),
    }
}
