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
    /// The definitions in its manifests.
    definitions: Vec<Value>,
    /// The webhook configurations in its manifests.
    configurations: Vec<Value>,
}

/// A running replica of a release.
pub(crate) struct Replica {
    process: ChildProcess,
    port: u16,
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
        Release {
            binary,
            definitions: self.objects("crds"),
            configurations: self.configurations(),
        }
    }

    /// Applies the project's manifests at once, as `kubectl apply` does, but for the Deployment: no replica of the release runs yet.
    pub(crate) fn apply_manifests(&self) {
        for definition in self.objects("crds") {
            self.cluster.install_crd(&definition).unwrap();
        }
        for object in ["rbac", "webhooks"]
            .iter()
            .flat_map(|folder| self.objects(folder))
        {
            self.cluster.apply(&object).unwrap();
        }
    }

    /// Puts back the definition and the webhook configurations of a release.
    pub(crate) fn roll_back_manifests(&self, release: &Release) {
        self.replace_definition(release);
        for object in &release.configurations {
            self.cluster.apply(object).unwrap();
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

    /// Starts a replica. Once it is ready, it gets a share of the API server's calls, as from a Service.
    pub(crate) fn start(&self, release: &Release) -> Replica {
        let (port, health_port) = (free_port(), free_port());
        let process = self
            .cluster
            .launch(&self.identity, &release.binary)
            .args([
                "--leader-elect",
                "--metrics-bind-address=0",
                &format!("--health-bind-address=127.0.0.1:{health_port}"),
                &format!("--webhook-bind-address=127.0.0.1:{port}"),
            ])
            .env("POD_NAMESPACE", format!("{NAME}-system"))
            .start()
            .unwrap();
        eventually("the replica is ready", TIMEOUT, || match readiness(health_port) {
            Ok(response) if response.starts_with("HTTP/1.1 200") => Ok(()),
            response => Err(format!("{response:?}: {}", process.log())),
        });
        self.service.replicas.lock().unwrap().push(port);
        Replica { process, port }
    }

    /// Stops a replica, to which the API server's calls go no longer.
    pub(crate) fn stop(&self, mut replica: Replica) {
        self.service
            .replicas
            .lock()
            .unwrap()
            .retain(|port| *port != replica.port);
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

    fn configurations(&self) -> Vec<Value> {
        let mut objects = self.objects("webhooks");
        objects.retain(|object| object["kind"].as_str().unwrap().ends_with("WebhookConfiguration"));
        objects
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

/// Distributes connections over the ready replicas, as a Service does.
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
            for (number, accepted) in listener.incoming().map_while(Result::ok).enumerate() {
                let next = {
                    let replicas = shared.lock().unwrap();
                    let index = number.checked_rem(replicas.len());
                    index.map(|index| replicas[index])
                };
                let replica = next.and_then(|port: u16| TcpStream::connect(("127.0.0.1", port)).ok());
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
