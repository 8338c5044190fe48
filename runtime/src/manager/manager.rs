//! From registering to running.

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
    command_line::{CommandLine, Refused, Request},
    logging,
    manifests::Manifests,
    operator::{Operator, Source},
    signals,
};
use crate::{
    Clock,
    client::{Connection, ConnectionSlot, Fence},
    controller::Setup,
    events::{EventWriter, Recorder},
};

type Register = Box<dyn FnOnce(&mut Setup) + Send>;

/// Runs an operator: one process, any number of controllers.
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
/// The operator starts in this order: servers for health checks and metrics; informers; runnables of every replica; leader
/// election (where it is on); then, once the informers hold what a quorum list has (or 30 s later, with a warning: see
/// [`wait_until_current`](crate::cache::SharedInformerFactory::wait_until_current)), the leader's runnables, and, when those that are
/// [`before_controllers`](crate::controller::Runnable::before_controllers) have ended, the controllers. It is ready when the informers
/// hold their first lists; a replica that waits for the lease is ready, too. Runnables may stand in
/// [groups](crate::controller::Runnable::group), which are started one after the other, and stopped in the opposite order after the
/// controllers. On SIGTERM or SIGINT reconciles and runnables may end, events are sent, the informers stop, the lease is given back, the
/// servers close; all of it within `--grace-period`, of which the reconciles have seven tenths, five where there are groups, which have
/// the other two: what still runs then is cancelled, so that the lease is given back after the last write. A second signal ends the
/// process at once.
///
/// When the lease is lost, what only the leader may do is cancelled at once and [`run`](Self::run) fails, so that the
/// process is started again with an empty cache. Before that already, once the renew deadline has passed, and in replicas that do not
/// lead, the clients of the setup refuse to write ([`ClientError::is_not_leading`](crate::client::ClientError::is_not_leading)); what
/// every replica may write goes through [`TypedClient::unfenced`](crate::client::TypedClient::unfenced). An API server that cannot be
/// reached is waited for.
///
/// # When two replicas may write all the same
///
/// A Lease does not fence: the API server asks no writer for one. Nobody else leads before the lease's duration (15 s) has passed since
/// the leader's last renewal was sent; the leader begins no write after the renew deadline (10 s), and gives up those that run half of
/// the rest later (12.5 s). So 2.5 s are left for requests that are on their way though given up, and for clocks of different rates: with
/// nothing on its way, the leader's clock may be slower than the other's by a factor of 1.2. Beyond that a former leader's write can be
/// carried out under the next one: if something between holds a request back for longer; if the leader's clock stands still, as that of a
/// suspended machine does, or its process does just between the look at the clock and the sending; if a write goes through `unfenced`, or
/// a client that is not of the setup; if people edit the Lease. Against those only the objects' own versions help: writes that name the
/// version that was read (`update`), or the uid.
///
/// # Health, exit codes
///
/// `/livez` (also `/healthz`) says that the process answers, `/readyz` that it has started and, for each controller, that its informers
/// are up to date: no watch has been away for a minute. [`Setup::health_check`] adds others. `/debug/kubewright`, beside `/metrics`, shows
/// caches and queues where metrics are served on a loopback address, or where `--debug-page` says so.
///
/// Exit codes: 0 after SIGTERM when everything ended in time; 1 when it could not start, or a controller broke; 2 for mistakes in the
/// command line or environment; 3 when the lease was lost; 4 when a runnable failed; 5 when something had to be cancelled at the end of the
/// grace period.
///
/// The same program, asked with the subcommand `manifests`, prints its CRDs and permissions and needs no cluster.
pub struct Manager {
    name: String,
    version: Option<String>,
    line: Vec<OsString>,
    registrations: Vec<Register>,
    source: Source,
    stop: CancellationToken,
    clock: Clock,
    owns_process: bool,
}

impl Manager {
    /// An operator that is the process: it reads the command line and the environment, logs to stderr, listens to signals, and
    /// ends the process with a message and [`Error::exit_code`] when it fails.
    ///
    /// `name` names the lease, the field manager and the reporter of events: lower-case letters, digits and `-`.
    pub fn from_args(name: impl Into<String>) -> Self {
        Self {
            line: env::args_os().collect(),
            owns_process: true,
            ..Self::new(name)
        }
    }

    /// An operator within another program, a test for instance: no command line (but the environment counts), no logger, no
    /// signals; [`run`](Self::run) returns its error.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            version: None,
            line: vec![name.clone().into()],
            registrations: Vec::new(),
            source: Source::Flags,
            stop: CancellationToken::new(),
            clock: Clock::system(),
            owns_process: false,
            name,
        }
    }

    /// Replaces the command line, without the program's name: `["--leader-elect", "--metrics-bind-address=0"]`.
    #[must_use]
    pub fn with_args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.line.truncate(1);
        self.line.extend(args.into_iter().map(Into::into));
        self
    }

    /// Connects as `config` says instead of looking for a kubeconfig.
    #[must_use]
    pub fn with_config(self, config: kube::Config) -> Self {
        Self {
            source: Source::Config(Box::new(config)),
            ..self
        }
    }

    /// Sends through `client` instead of looking for a kubeconfig. Give it a client with `default_retry` off.
    #[must_use]
    pub fn with_client(self, client: kube::Client) -> Self {
        Self {
            source: Source::Client(client),
            ..self
        }
    }

    /// The operator's version, for `--version` and the user agent: `.version(env!("CARGO_PKG_VERSION"))`. The user agent also has `$POD_NAME`.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        Self {
            version: Some(version.into()),
            ..self
        }
    }

    /// Gives reconciles the time of `clock` instead of the system's: [`Setup::clock`] and the time of
    /// [`condition`](crate::controller::condition). Timestamps of events and of the leader lease stay the system's.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Stops as on SIGTERM when `token` is cancelled.
    #[must_use]
    pub fn stop_on(self, token: &CancellationToken) -> Self {
        Self {
            stop: token.child_token(),
            ..self
        }
    }

    /// Adds a controller, or whatever else `register` sets up. It is called when the manager [runs](Self::run), also to print the
    /// manifests: it must do no I/O.
    #[must_use]
    pub fn register(mut self, register: impl FnOnce(&mut Setup) + Send + 'static) -> Self {
        self.registrations.push(Box::new(register));
        self
    }

    /// Does what the command line asks for: runs until the operator is stopped, or prints the manifests. Returns when every task
    /// that it started has ended. Must be called within a tokio runtime with time and I/O; dropping the future aborts everything.
    pub async fn run(self) -> Result<()> {
        let owns_process = self.owns_process;
        match self.serve().await {
            Err(error) if owns_process => error.end_process(),
            result => result,
        }
    }

    async fn serve(self) -> Result<()> {
        let line = CommandLine::new(&self.name, self.version.as_deref(), self.line);
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
        let registered = Registered::new(&self.name, self.registrations, &line, self.clock);
        let (args, own) = (line.strict()?, registered.refused);
        let args = match (args, own) {
            (Request::Manifests { .. }, Some(error)) => return Err(Error::FlagsForManifests(error)),
            (_, Some(error)) => return Err(error.into()),
            (Request::Manifests { yaml }, None) => return print_manifests(&registered.setup, yaml),
            (Request::Run(args), None) => args,
        };
        let mut listener = JoinSet::new();
        if self.owns_process {
            listener.spawn(signals::listen(self.stop.clone()).map_err(Error::Signals)?);
        }
        let product = match &self.version {
            Some(version) => format!("{}/{version}", self.name),
            None => self.name.clone(),
        };
        // So that the API server's audit log tells replicas apart.
        let product = match std::env::var("POD_NAME") {
            Ok(pod) if !pod.is_empty() => format!("{product} ({pod})"),
            _ => product,
        };
        let Registered {
            setup, slot, events, ..
        } = registered;
        let result = Operator::new(setup, slot, events, self.source, &product, *args)?
            .run(self.stop)
            .await;
        listener.shutdown().await;
        result
    }
}

/// What came of calling all registrations.
struct Registered {
    setup: Setup,
    slot: (ConnectionSlot, Fence),
    events: (Recorder, EventWriter),
    /// The first of the operator's own flags that do not fit.
    refused: Option<clap::Error>,
}

impl Registered {
    fn new(name: &str, registrations: Vec<Register>, line: &CommandLine, clock: Clock) -> Self {
        let ((connection, slot), fence) = (Connection::late(), Fence::default());
        let events = Recorder::pipeline(name);
        let mut setup = Setup::new(
            name,
            connection.with_field_manager(name).fenced(fence.clone()),
            events.0.clone(),
            line.clone(),
        );
        setup.set_clock(clock);
        let mut refused = None;
        for register in registrations {
            // Arguments that do not fit leave `register` early; the others still say which flags they have, for `--help`.
            let Err(payload) = catch_unwind(AssertUnwindSafe(|| register(&mut setup))) else {
                continue;
            };
            match payload.downcast::<Refused>() {
                Ok(error) => refused = refused.or(Some(error.0)),
                Err(panic) => resume_unwind(panic),
            }
        }
        Self {
            setup,
            slot: (slot, fence),
            events,
            refused,
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

fn print_manifests(setup: &Setup, yaml: bool) -> Result<()> {
    let manifests = Manifests::of(setup).map_err(Error::Manifests)?;
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
        // Whoever read has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Error::Output),
    }
}
