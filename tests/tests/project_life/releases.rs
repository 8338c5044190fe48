//! The releases of the project, deployed as in a cluster, but that the API server calls the webhooks by a URL: of a forwarder, which stands for
//! the Service.

use std::{
    fs,
    io::{self, Read as _, Write as _, copy},
    net::{Shutdown, TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use http::Method;
use kubewright_testkit::{ChildProcess, Cluster, Identity, eventually};
use kubewright_tests::{Project, read_manifests};
use serde_json::{Value, json};

/// How long the operator and the API server have for a step.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);
/// The operator's name.
const NAME: &str = "life";

/// The deployment of the project's releases.
pub(crate) struct Releases<'a> {
    cluster: &'a Cluster,
    project: &'a Project,
    identity: Identity,
    service: Forwarder,
    built: usize,
}

/// A built release.
pub(crate) struct Release {
    binary: PathBuf,
    /// Whether it has webhooks.
    is_called: bool,
    /// The definitions in its manifests.
    definitions: Vec<Value>,
}

/// A running replica of a release.
pub(crate) struct Replica {
    process: ChildProcess,
    port: Option<u16>,
}

impl<'a> Releases<'a> {
    pub(crate) fn new(cluster: &'a Cluster, project: &'a Project) -> Self {
        let namespace = format!("{NAME}-system");
        cluster.create_namespace(&namespace).unwrap();
        let identity = cluster.service_account(&namespace, NAME).unwrap();
        Self {
            cluster,
            project,
            identity,
            service: Forwarder::start(),
            built: 0,
        }
    }

    /// Builds the project as it is now.
    pub(crate) fn build(&mut self) -> Release {
        self.built += 1;
        let binary = self.project.root().join(format!("{NAME}-{}.built", self.built));
        fs::rename(self.project.build(), &binary).unwrap();
        let is_called = self.project.root().join("manifests/webhooks").exists();
        Release {
            binary,
            is_called,
            definitions: self.objects("crds"),
        }
    }

    /// Applies the project's manifests, but for the Deployment, and for the webhook configurations.
    pub(crate) fn apply_manifests(&self) {
        for definition in self.objects("crds") {
            self.cluster.install_crd(&definition).unwrap();
        }
        let objects = ["rbac", "webhooks"]
            .iter()
            .flat_map(|folder| self.objects(folder));
        for object in objects.filter(|object| !is_webhook_configuration(object)) {
            self.cluster.apply(&object).unwrap();
        }
    }

    /// Applies the webhook configurations. The API server converts an object to the version of the webhook, so the operator must convert by
    /// then: otherwise all writes of the other version are refused, whatever the failure policy.
    pub(crate) fn apply_webhook_configurations(&self) {
        let objects = self.objects("webhooks").into_iter();
        for object in objects.filter(is_webhook_configuration) {
            self.cluster.apply(&object).unwrap();
        }
    }

    /// Deletes the webhook configurations.
    pub(crate) fn delete_webhook_configurations(&self) {
        let objects = self.objects("webhooks").into_iter();
        for object in objects.filter(is_webhook_configuration) {
            self.cluster.delete(&object).unwrap();
        }
    }

    /// As `kubectl replace` does with the definition of a release.
    pub(crate) fn replace_definition(&self, release: &Release) {
        for mut definition in release.definitions.clone() {
            let found = self.cluster.get(&definition).unwrap().unwrap();
            definition["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"].clone();
            let name = definition["metadata"]["name"].as_str().unwrap();
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
            let replaced = self
                .cluster
                .request(Method::PUT, &path, "application/json", Some(&definition));
            replaced.unwrap();
        }
    }

    /// Runs `kubewright` with these arguments; the context of the cluster is `testkit`.
    pub(crate) fn command(&self, arguments: &[&str]) {
        let mut process = Project::command(self.project.root(), arguments)
            .env("KUBECONFIG", self.cluster.admin().kubeconfig())
            .start()
            .unwrap();
        let status = process.wait(TIMEOUT).unwrap().expect("it ends in time");
        assert!(status.success(), "{arguments:?}: {}", process.log());
    }

    /// Starts a replica, and sends the API server's calls to it once it is ready, as a Service does.
    pub(crate) fn start(&self, release: &Release) -> Replica {
        let port = release.is_called.then(free_port);
        let address = port.map(|port| format!("--webhook-bind-address=127.0.0.1:{port}"));
        let health_port = free_port();
        let process = self
            .cluster
            .launch(&self.identity, &release.binary)
            .args([
                "--leader-elect",
                "--metrics-bind-address=0",
                &format!("--health-bind-address=127.0.0.1:{health_port}"),
            ])
            .env("POD_NAMESPACE", format!("{NAME}-system"))
            .args(address)
            .start()
            .unwrap();
        if let Some(port) = port {
            eventually("the replica is ready", TIMEOUT, || match readiness(health_port) {
                Ok(response) if response.starts_with("HTTP/1.1 200") => Ok(()),
                response => Err(format!("{response:?}: {}", process.log())),
            });
            self.service.replicas.lock().unwrap().push(port);
        }
        Replica { process, port }
    }

    /// Stops a replica, to which the API server's calls go no longer.
    pub(crate) fn stop(&self, mut replica: Replica) {
        self.service
            .replicas
            .lock()
            .unwrap()
            .retain(|port| Some(*port) != replica.port);
        let ended = replica.process.terminate(Duration::from_secs(30)).unwrap();
        let ended = ended.expect("the operator exits in time");
        assert!(ended.success(), "{ended}: {}", replica.process.log_tail());
    }

    /// Panics if the operator was forbidden to write a Deployment, such as its owner reference.
    pub(crate) fn assert_no_deployment_forbidden(&self) {
        let audit = self.cluster.audit().unwrap().by_user(self.identity.user());
        let forbidden = audit.on_resource("apps", "deployments").forbidden();
        let forbidden: Vec<String> = forbidden.iter().map(ToString::to_string).collect();
        assert!(forbidden.is_empty(), "{forbidden:?}");
    }

    fn objects(&self, folder: &str) -> Vec<Value> {
        let folder = self.project.root().join("manifests").join(folder);
        if !folder.exists() {
            return Vec::new();
        }
        let mut objects = read_manifests(&folder);
        for object in &mut objects {
            for config in client_configs(object) {
                if let Some(path) = config["service"]["path"].as_str() {
                    *config = json!({"url": format!("https://127.0.0.1:{}{path}", self.service.port)});
                }
            }
        }
        objects
    }
}

fn is_webhook_configuration(object: &Value) -> bool {
    object["kind"]
        .as_str()
        .is_some_and(|kind| kind.ends_with("WebhookConfiguration"))
}

fn client_configs(object: &mut Value) -> Vec<&mut Value> {
    if object["kind"] == "CustomResourceDefinition" {
        let config = object.pointer_mut("/spec/conversion/webhook/clientConfig");
        return config.into_iter().collect();
    }
    let webhooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
    let webhooks = webhooks.into_iter().flatten();
    webhooks
        .filter_map(|webhook| webhook.get_mut("clientConfig"))
        .collect()
}

/// Forwards connections to the newest replica, as a Service does to ready ones.
struct Forwarder {
    port: u16,
    replicas: Arc<Mutex<Vec<u16>>>,
}

impl Forwarder {
    /// Starts it; it ends with the program.
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let replicas = Arc::new(Mutex::new(Vec::new()));
        let shared = replicas.clone();
        thread::spawn(move || {
            for accepted in listener.incoming().map_while(Result::ok) {
                let newest = shared.lock().unwrap().last().copied();
                let replica = newest.and_then(|port: u16| TcpStream::connect(("127.0.0.1", port)).ok());
                if let Some(replica) = replica {
                    pump(accepted.try_clone().unwrap(), replica.try_clone().unwrap());
                    pump(replica, accepted);
                }
            }
        });
        Self { port, replicas }
    }
}

/// Copies until one side ends, and then ends the other.
fn pump(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        // Either side may be gone.
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Returns the response of a replica's readiness probe.
fn readiness(port: u16) -> io::Result<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    connection.read_to_string(&mut response)?;
    Ok(response)
}
