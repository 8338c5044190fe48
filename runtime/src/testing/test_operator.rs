//! [`TestOperator`]: runs a whole operator in the test's process.

use std::{
    net::TcpListener,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    thread,
};

use futures::FutureExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinHandle};

use super::Harness;
use crate::{
    Manager,
    controller::{Permission, Setup},
    manager::{
        identity::operator_namespace,
        manifests::{ManifestError, definitions, permissions_of_registration},
    },
    panics,
    webhooks::{certificates::secret_manifest, configurations::secret_name},
};

/// The name of the operator.
const NAME: &str = "test";

/// An operator that runs in the test's process, against any API server, until it is dropped.
///
/// It runs without leader election, health checks and metrics, and installs no logger. Use [`Manager`] itself for an operator with flags
/// or with another [`Clock`](crate::Clock).
///
/// Its admission webhooks listen on a port of this machine: see [`webhooks`](Self::webhooks). It serves the conversion between versions only
/// with a registration of [`converting`](Self::converting). Without, install the definition of the hub alone (`Foo::definition()`).
///
/// # Failures
///
/// An operator ends only when it is dropped. If it ends earlier, because [`Manager::run`] returned an error or panicked, the reason is
/// printed to stderr at once, and dropping the value panics with it, so that the test fails. A thread that already panics does not panic
/// again. A failed reconcile is not a failure of the operator: it is retried.
///
/// ```no_run
/// # use kubewright::controller::Setup;
/// # fn register(setup: &mut Setup) {}
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright::testing::TestOperator;
///
/// let _operator = TestOperator::start(kube::Config::infer().await?, register);
/// // … create objects, and wait for the operator's effects …
/// # Ok(())
/// # }
/// ```
#[must_use = "the operator ends when this value is dropped"]
#[derive(Debug)]
pub struct TestOperator {
    task: JoinHandle<()>,
    /// None until it has registered.
    webhooks: watch::Receiver<Option<Vec<Value>>>,
    /// Why the operator ended, if it did.
    failure: Arc<OnceLock<String>>,
}

impl TestOperator {
    /// Starts an operator called `test`, which connects with `config`. Returns before the operator is ready.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: kube::Config, register: impl FnOnce(&mut Setup) + Send + 'static) -> Self {
        let port = free_port();
        let namespace = operator_namespace(None, &config.default_namespace);
        let (sender, webhooks) = watch::channel(None);
        let address = format!("--webhook-bind-address=127.0.0.1:{port}");
        let manager = Manager::new(NAME)
            .with_config(config)
            .with_args([
                "--leader-elect=false",
                "--health-bind-address=0",
                "--metrics-bind-address=0",
                &*address,
            ])
            .register(move |setup| {
                register(setup);
                setup.leave_conversion_out();
                sender.send_replace(Some(called_by_url(setup, port, &namespace)));
            });
        let failure = Arc::new(OnceLock::new());
        let reason = failure.clone();
        let task = tokio::spawn(async move {
            let ended = AssertUnwindSafe(manager.run()).catch_unwind().await;
            let text = match ended {
                Ok(Ok(())) => "it stopped".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(panic) => panics::message(&*panic).to_owned(),
            };
            let text = reason.get_or_init(|| text);
            eprintln!("the operator failed: {text}");
        });
        Self {
            task,
            webhooks,
            failure,
        }
    }

    /// Returns the objects with which an API server on this machine calls the operator: the definitions of the kinds that it converts and the
    /// webhook configurations, with URLs in place of the Service, and last the Secret of the certificate. The operator writes its CA bundle
    /// into them, and the API server calls it from then on. testkit's `Cluster::install_webhooks` applies them and waits for that.
    ///
    /// # Panics
    /// If the operator fails before it has registered.
    pub async fn webhooks(&self) -> Vec<Value> {
        let mut registered = self.webhooks.clone();
        let objects = registered.wait_for(Option::is_some).await;
        let objects = objects.ok().and_then(|objects| objects.clone());
        objects.unwrap_or_else(|| panic!("the operator failed before it had registered its webhooks"))
    }

    /// Returns the registration with the conversion between the versions of its kinds, for [`start`](Self::start) and
    /// [`permissions`](Self::permissions): the API server calls the operator under test to convert.
    ///
    /// [`webhooks`](Self::webhooks) then has the definitions with all versions. A request for an object in another version blocks until the
    /// operator answers: run the test on a multi-threaded runtime.
    pub fn converting(
        register: impl FnOnce(&mut Setup) + Send + 'static,
    ) -> impl FnOnce(&mut Setup) + Send + 'static {
        move |setup: &mut Setup| {
            register(setup);
            setup.convert_in_tests();
        }
    }

    /// Returns the permissions that an operator with this registration needs, without starting it. Call it within a tokio runtime.
    ///
    /// # Panics
    /// If the registration has errors.
    pub fn permissions(register: impl FnOnce(&mut Setup)) -> Vec<Permission> {
        let mut test = Harness::new(register);
        test.setup.leave_conversion_out();
        valid(permissions_of_registration(&test.setup))
    }

    /// Returns the definitions in the manifests of an operator with this registration, for tests to install: one of each kind, with all
    /// versions of [`Setup::versions`]. The conversion webhook is the Service of a deployed operator, without a CA bundle:
    /// [`webhooks`](Self::webhooks) has the definition that a test operator converts. Call it within a tokio runtime.
    ///
    /// # Panics
    /// If the registration has errors.
    pub fn definitions(register: impl FnOnce(&mut Setup)) -> Vec<CustomResourceDefinition> {
        valid(definitions(Harness::new(register).setup()))
    }
}

/// Returns a port that was free a moment ago; 0 if there is none, and the operator finds out.
fn free_port() -> u16 {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    address.map_or(0, |address| address.port())
}

/// Returns the operator's converted definitions and configurations, with URLs of this machine, and its Secret.
fn called_by_url(setup: &Setup, port: u16, namespace: &str) -> Vec<Value> {
    let Some(manifests) = setup.webhook_manifests() else {
        return Vec::new();
    };
    let mut converted = Vec::new();
    if setup.converts_in_tests() {
        // The manager reports the errors of the registration.
        converted = definitions(setup).unwrap_or_default();
    }
    let mut objects: Vec<Value> = converted
        .iter()
        .map(|definition| json!(definition))
        .filter(|definition| definition.pointer("/spec/conversion/webhook").is_some())
        .collect();
    objects.extend(manifests.mutating.map(|configuration| json!(configuration)));
    objects.extend(manifests.validating.map(|configuration| json!(configuration)));
    for object in &mut objects {
        let webhooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
        for webhook in webhooks.into_iter().flatten() {
            call_by_url(&mut webhook["clientConfig"], port);
        }
        if let Some(conversion) = object.pointer_mut("/spec/conversion/webhook/clientConfig") {
            call_by_url(conversion, port);
        }
    }
    objects.push(secret_manifest(&secret_name(setup.operator(), namespace)));
    objects
}

fn call_by_url(config: &mut Value, port: u16) {
    let path = config["service"]["path"].as_str().unwrap_or_default();
    *config = json!({"url": format!("https://127.0.0.1:{port}{path}")});
}

fn valid<T>(manifests: Result<T, Vec<ManifestError>>) -> T {
    manifests.unwrap_or_else(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("the registration is invalid: {}", errors.join("; "))
    })
}

impl Drop for TestOperator {
    /// Aborts the operator.
    ///
    /// # Panics
    /// If the operator has failed, unless the thread is already panicking.
    fn drop(&mut self) {
        self.task.abort();
        if let Some(failure) = self.failure.get()
            && !thread::panicking()
        {
            panic!("the operator failed: {failure}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::{Duration, sleep, timeout};

    use super::*;

    /// No server listens there: the operator waits for one.
    fn unreachable() -> kube::Config {
        kube::Config::new(http::Uri::from_static("http://127.0.0.1:9"))
    }

    async fn ended(operator: &TestOperator) {
        let failed = async {
            while operator.failure.get().is_none() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_mins(1), failed).await.unwrap();
    }

    #[tokio::test]
    #[should_panic(expected = "the operator failed: the registration is invalid")]
    async fn error_of_the_operator_panics_on_drop() {
        let operator = TestOperator::start(unreachable(), |setup| {
            setup.runnable("mail", async |_stop| Ok(()));
            setup.runnable("mail", async |_stop| Ok(()));
        });
        ended(&operator).await;
    }

    #[tokio::test]
    #[should_panic(expected = "the operator failed: no such region")]
    async fn panic_of_the_operator_panics_on_drop() {
        let operator = TestOperator::start(unreachable(), |_setup| panic!("no such region"));
        ended(&operator).await;
    }

    #[tokio::test]
    #[should_panic(expected = "the test's own failure")]
    async fn failure_of_the_test_is_not_replaced() {
        let operator = TestOperator::start(unreachable(), |_setup| panic!("no such region"));
        ended(&operator).await;
        panic!("the test's own failure");
    }

    #[tokio::test]
    async fn operator_ends_on_drop() {
        let alive = Arc::new(());
        let held = alive.clone();
        let operator = TestOperator::start(unreachable(), |setup| {
            setup.runnable("hold", async move |_stop| {
                pending::<()>().await;
                drop(held);
                Ok(())
            });
        });
        sleep(Duration::from_millis(20)).await;
        assert_eq!((Arc::strong_count(&alive), operator.failure.get()), (2, None));
        drop(operator);
        let released = async {
            while Arc::strong_count(&alive) > 1 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_mins(1), released).await.unwrap();
    }
}
