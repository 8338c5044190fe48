//! `kubewright api-server`, the embedded API server as a command: every flag.

use std::{fs, net::TcpListener, path::Path, time::Duration};

use http::Request;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_testkit::{ChildProcess, Launch, eventually};
use kubewright_tests::Project;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const EXIT_TIMEOUT: Duration = Duration::from_secs(30);
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A running server with a folder of its own.
struct Server {
    process: ChildProcess,
    folder: TempDir,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"), arguments)
    }

    fn start_in(folder: TempDir, arguments: &[&str]) -> Self {
        let process = launch(folder.path(), arguments);
        Self::wait_until_serving(process, folder)
    }

    fn wait_until_serving(process: ChildProcess, folder: TempDir) -> Self {
        eventually("the server serves", EXIT_TIMEOUT, || {
            let log = process.log();
            if log.contains("KUBECONFIG=") {
                Ok(())
            } else {
                Err(log)
            }
        });
        Self { process, folder }
    }

    /// Returns the URL that the server logs.
    fn url(&self) -> String {
        let log = self.process.log();
        let line = log.lines().find_map(|line| line.split_once("serving at "));
        let (url, _) = line
            .and_then(|(_, rest)| rest.split_once(','))
            .expect("the server logs its URL");
        url.to_owned()
    }

    fn kubeconfig(&self) -> Kubeconfig {
        Kubeconfig::read_from(self.folder.path().join("kubeconfig.json")).expect("a kubeconfig")
    }

    async fn admin(&self) -> Client {
        client(self.kubeconfig()).await
    }

    /// Returns a client that authenticates with `token`.
    async fn with_token(&self, token: &str) -> Client {
        let mut kubeconfig = self.kubeconfig();
        auth(&mut kubeconfig).token = Some(token.to_owned().into());
        client(kubeconfig).await
    }
}

#[tokio::test]
async fn serves_on_the_given_address_and_shuts_down_on_sigint() {
    let port = free_port();
    let mut server = Server::start(&["--bind-address=127.0.0.2", &format!("--secure-port={port}")]);
    assert_eq!(server.url(), format!("https://127.0.0.2:{port}"));
    assert!(
        server.process.log().contains("for development and tests only"),
        "{}",
        server.process.log()
    );
    get(&server.admin().await, CONFIG_MAPS)
        .await
        .expect("the kubeconfig works");

    let folder = tempfile::tempdir().expect("a folder");
    let mut second = launch(
        folder.path(),
        &["--bind-address=127.0.0.2", &format!("--secure-port={port}")],
    );
    let ended = second
        .wait(EXIT_TIMEOUT)
        .expect("the server exits")
        .expect("the server exits in time");
    let log = second.log();
    assert_eq!(ended.code(), Some(12), "{log}");
    assert!(
        log.contains(&format!(
            "cannot listen on 127.0.0.2:{port}: Address already in use"
        )),
        "{log}"
    );
    assert!(!folder.path().join("kubeconfig.json").exists());

    let client = server.admin().await;
    let ended = server.process.interrupt(EXIT_TIMEOUT).expect("the server exits");
    assert!(
        ended.expect("the server exits in time").success(),
        "{}",
        server.process.log()
    );
    assert_eq!(
        get(&client, CONFIG_MAPS).await,
        Err(0),
        "the server still responds"
    );
}

#[tokio::test]
async fn shuts_down_gracefully_on_sigterm() {
    let mut server = Server::start(&[]);
    let client = server.admin().await;
    let ended = server.process.terminate(EXIT_TIMEOUT).expect("the server exits");
    assert!(
        ended.expect("the server exits in time").success(),
        "{}",
        server.process.log()
    );
    assert_eq!(
        get(&client, CONFIG_MAPS).await,
        Err(0),
        "the server still responds"
    );
}

#[tokio::test]
async fn kubeconfig_path_and_reported_version_are_configurable() {
    let server = Server::start(&["--kubeconfig=mine.yaml", "--report-version=v1.99.7"]);
    assert!(server.process.log().contains("KUBECONFIG=mine.yaml\n"));
    assert!(!server.folder.path().join("kubeconfig.json").exists());
    let kubeconfig = Kubeconfig::read_from(server.folder.path().join("mine.yaml")).expect("a kubeconfig");
    let client = client(kubeconfig).await;
    let version = get(&client, "/version").await.expect("a version");
    assert_eq!(version["gitVersion"], "v1.99.7");
    assert_eq!(
        (&version["major"], &version["minor"]),
        (&json!("1"), &json!("99"))
    );
    let user = current_user(&client).await.expect("a user");
    assert!(
        user["groups"]
            .as_array()
            .expect("groups")
            .contains(&json!("system:masters")),
        "{user}"
    );
}

#[tokio::test]
async fn plain_http_serves_without_tls() {
    let server = Server::start(&["--plain-http"]);
    assert!(server.url().starts_with("http://127.0.0.1:"), "{}", server.url());
    get(&server.admin().await, CONFIG_MAPS)
        .await
        .expect("the kubeconfig works");
}

#[tokio::test]
async fn serves_the_given_certificate_and_accepts_certificates_of_the_client_ca() {
    let folder = tempfile::tempdir().expect("a folder");
    let (serving_ca, client_ca) = (CertificateAuthority::new(), CertificateAuthority::new());
    serving_ca.sign(
        &folder,
        "server",
        "an API server",
        ExtendedKeyUsagePurpose::ServerAuth,
    );
    client_ca.sign(&folder, "alice", "alice", ExtendedKeyUsagePurpose::ClientAuth);
    for (name, authority) in [("serving_ca.crt", &serving_ca), ("client_ca.crt", &client_ca)] {
        fs::write(folder.path().join(name), &authority.pem).expect("the file is written");
    }
    let server = Server::start_in(
        folder,
        &[
            "--tls-cert-file=server.crt",
            "--tls-private-key-file=server.key",
            "--client-ca-file=client_ca.crt",
        ],
    );
    let kubeconfig_with_ca = |authority: &str| {
        let mut kubeconfig = server.kubeconfig();
        let cluster = kubeconfig.clusters[0].cluster.as_mut().expect("a cluster");
        cluster.certificate_authority = Some(path(&server.folder, authority));
        kubeconfig
    };
    let admin = client(kubeconfig_with_ca("serving_ca.crt")).await;
    get(&admin, CONFIG_MAPS)
        .await
        .expect("the server's certificate is trusted");
    let other = client(kubeconfig_with_ca("client_ca.crt")).await;
    assert_eq!(
        get(&other, CONFIG_MAPS).await,
        Err(0),
        "a certificate of another CA was trusted"
    );

    let mut kubeconfig = kubeconfig_with_ca("serving_ca.crt");
    let auth = auth(&mut kubeconfig);
    auth.token = None;
    auth.client_certificate = Some(path(&server.folder, "alice.crt"));
    auth.client_key = Some(path(&server.folder, "alice.key"));
    let user = current_user(&client(kubeconfig).await).await.expect("a user");
    assert_eq!(user["username"], "alice");
}

#[tokio::test]
async fn token_file_maps_tokens_to_users_and_groups() {
    let folder = tempfile::tempdir().expect("a folder");
    let tokens = "alice-token,alice,1,\"devs,ops\"\n\nbob-token,bob,2\n";
    fs::write(folder.path().join("tokens.csv"), tokens).expect("the file is written");
    let server = Server::start_in(folder, &["--token-auth-file=tokens.csv"]);
    let alice = current_user(&server.with_token("alice-token").await)
        .await
        .expect("alice");
    assert_eq!(
        (&alice["username"], &alice["uid"]),
        (&json!("alice"), &json!("1"))
    );
    assert_eq!(alice["groups"], json!(["devs", "ops", "system:authenticated"]));
    let bob = current_user(&server.with_token("bob-token").await)
        .await
        .expect("bob");
    assert_eq!(
        (&bob["username"], &bob["groups"]),
        (&json!("bob"), &json!(["system:authenticated"]))
    );
    assert_eq!(current_user(&server.with_token("other").await).await, Err(401));
}

#[test]
fn unusable_files_and_options_are_named_in_the_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = CertificateAuthority::new();
    authority.sign(
        &folder,
        "server",
        "an API server",
        ExtendedKeyUsagePurpose::ServerAuth,
    );
    fs::write(folder.path().join("bad.csv"), "t,alice,1\nt2,bob\n").expect("the file is written");
    fs::write(folder.path().join("bad.key"), "no key").expect("the file is written");
    for (arguments, code, message) in [
        (&["--token-auth-file=bad.csv"][..], 12, "bad.csv: line 2:"),
        (&["--token-auth-file=none.csv"], 10, "none.csv"),
        (
            &["--tls-cert-file=server.crt", "--tls-private-key-file=bad.key"],
            12,
            "bad.key: cannot use the server's private key: it contains no private key in PEM",
        ),
        (
            &["--service-account-key-file=bad.key"],
            12,
            "cannot use the key bad.key: it contains no key in PEM that is RSA with 2,048 bits or more",
        ),
        (&["--tls-cert-file=server.crt"], 2, "--tls-private-key-file"),
        (&["--kubeconfig=no/such/folder/k"], 10, "no/such/folder/k"),
        (
            &["--enable-admission-plugins=Nope"],
            12,
            "unknown admission plugin \"Nope\": this server has NamespaceLifecycle, ",
        ),
        (
            &["--enable-admission-plugins=PodNodeSelector"],
            12,
            "this server does not have the admission plugin PodNodeSelector: it has NamespaceLifecycle, ",
        ),
        (
            &["--housekeeping=*,-garbage-collection"],
            12,
            "unknown housekeeping task \"-garbage-collection\": this server has custom-resource-definitions, ",
        ),
        (
            &["--service-cluster-ip-range=fd00::/112"],
            2,
            "expected one IPv4 network of /12 to /29, such as 10.0.0.0/16",
        ),
    ] {
        let mut process = launch(folder.path(), arguments);
        let ended = process
            .wait(EXIT_TIMEOUT)
            .expect("the server exits")
            .expect("the server exits in time");
        let log = process.log();
        assert!(
            ended.code() == Some(code) && log.contains(message),
            "{ended}: {log}"
        );
        fs::remove_file(process.log_path()).expect("the log is removed before the next start");
    }
}

#[tokio::test]
async fn request_is_allowed_if_one_authorization_mode_allows_it() {
    for (modes, listed) in [
        (None, Err(403)),
        (Some("RBAC"), Err(403)),
        (Some("AlwaysAllow"), Ok(())),
        (Some("RBAC,AlwaysAllow"), Ok(())),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("tokens.csv"), "alice-token,alice,1\n").expect("the file is written");
        let mode = modes.map(|modes| format!("--authorization-mode={modes}"));
        let mut arguments = vec!["--token-auth-file=tokens.csv"];
        arguments.extend(mode.as_deref());
        let server = Server::start_in(folder, &arguments);
        let alice = server.with_token("alice-token").await;
        assert_eq!(get(&alice, CONFIG_MAPS).await.map(drop), listed, "{modes:?}");
        get(&server.admin().await, CONFIG_MAPS)
            .await
            .expect("the administrator is allowed");
    }
}

#[tokio::test]
async fn clients_without_credentials_are_anonymous_unless_it_is_switched_off() {
    for (arguments, expected) in [
        (&[][..], Err(403)),
        (&["--anonymous-auth"], Err(403)),
        (&["--anonymous-auth=true"], Err(403)),
        (&["--anonymous-auth=false"], Err(401)),
        (&["--authorization-mode=AlwaysAllow"], Err(401)),
        (
            &["--authorization-mode=RBAC,AlwaysAllow", "--anonymous-auth=true"],
            Err(401),
        ),
    ] {
        let server = Server::start(arguments);
        let anonymous = server.with_token("").await;
        assert_eq!(
            get(&anonymous, CONFIG_MAPS).await.map(drop),
            expected,
            "{arguments:?}"
        );
        get(&server.admin().await, CONFIG_MAPS)
            .await
            .expect("the administrator is allowed");
    }
}

#[tokio::test]
async fn admission_plugins_and_the_service_network_are_options() {
    let arguments = [
        "--enable-admission-plugins=ServiceAccount",
        "--disable-admission-plugins=Priority,PodSecurity",
        "--service-cluster-ip-range=10.96.0.0/16",
    ];
    let server = Server::start(&arguments);
    let admin = server.admin().await;
    let service = get(&admin, "/api/v1/namespaces/default/services/kubernetes").await;
    assert_eq!(service.expect("the service")["spec"]["clusterIP"], "10.96.0.1");
}

#[tokio::test]
async fn finalizer_of_foreground_deletion_stays_without_the_garbage_collector() {
    for (arguments, is_deleted) in [
        (&[][..], true),
        (&["--housekeeping=*,-garbage-collector"], false),
        (
            &["--housekeeping=custom-resource-definitions,flow-schemas"],
            false,
        ),
    ] {
        let server = Server::start(arguments);
        let admin = server.admin().await;
        let body = json!({ "metadata": { "name": "a" } }).to_string().into_bytes();
        let request = Request::post(CONFIG_MAPS)
            .header("Content-Type", "application/json")
            .body(body);
        send(&admin, request.expect("a request"))
            .await
            .expect("it is created");
        let path = format!("{CONFIG_MAPS}/a");
        let foreground = Request::delete(format!("{path}?propagationPolicy=Foreground")).body(vec![]);
        let pending = send(&admin, foreground.expect("a request"))
            .await
            .expect("it is deleted");
        assert_eq!(pending["metadata"]["finalizers"], json!(["foregroundDeletion"]));
        if is_deleted {
            while get(&admin, &path).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        } else {
            // Ten times what housekeeping waits before it acts.
            tokio::time::sleep(Duration::from_millis(300)).await;
            let kept = get(&admin, &path).await.expect("the object is kept");
            assert!(kept["metadata"]["deletionTimestamp"].is_string(), "{kept}");
        }
    }
}

#[tokio::test]
async fn link_to_the_command_runs_as_kube_apiserver_with_the_flags_of_envtest() {
    let (folder, authority) = (
        tempfile::tempdir().expect("a folder"),
        CertificateAuthority::new(),
    );
    let purpose = ExtendedKeyUsagePurpose::ServerAuth;
    for file in ["apiserver", "sa-signer"] {
        authority.sign(&folder, file, file, purpose.clone());
    }
    fs::write(folder.path().join("ca.crt"), &authority.pem).expect("the file is written");
    let program = folder.path().join("kube-apiserver");
    std::os::unix::fs::symlink(Project::command_path(), &program).expect("a link");
    let certificates = folder.path().display();
    let arguments = [
        "--allow-privileged=true",
        "--authorization-mode=RBAC",
        "--bind-address=127.0.0.1",
        &format!("--cert-dir={certificates}"),
        &format!("--client-ca-file={certificates}/ca.crt"),
        "--disable-admission-plugins=ServiceAccount",
        "--etcd-servers=http://127.0.0.1:2379",
        "--secure-port=0",
        "--service-account-issuer=https://127.0.0.1:6443/",
        &format!("--service-account-key-file={certificates}/sa-signer.crt"),
        &format!("--service-account-signing-key-file={certificates}/sa-signer.key"),
        "--service-cluster-ip-range=10.0.0.0/24",
    ];
    let launch = Launch::new(program, folder.path().join("log")).args(arguments);
    let process = launch.start().expect("the server starts");
    let server = Server::wait_until_serving(process, folder);
    let log = server.process.log();
    let warning = "--etcd-servers changes nothing here: objects are in memory\n";
    assert!(log.contains(warning), "{log}");
    let mut kubeconfig = server.kubeconfig();
    let cluster = kubeconfig.clusters[0].cluster.as_mut().expect("a cluster");
    cluster.certificate_authority = Some(path(&server.folder, "ca.crt"));
    cluster.certificate_authority_data = None;
    let client = client(kubeconfig).await;
    get(&client, CONFIG_MAPS)
        .await
        .expect("the server has the certificate of the folder");
    let configuration = get(&client, "/.well-known/openid-configuration").await;
    assert_eq!(
        configuration.expect("a document")["issuer"],
        "https://127.0.0.1:6443/"
    );
}

#[tokio::test]
async fn certificate_folder_keeps_the_generated_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["certs/apiserver.crt", "certs/apiserver.key"].map(|file| folder.path().join(file));
    let read_files = || {
        files
            .each_ref()
            .map(|file| fs::read_to_string(file).expect("the file exists"))
    };
    let argument = format!("--cert-dir={}", folder.path().join("certs").display());
    let mut written = vec![];
    for _ in 0..2 {
        let _server = Server::start(&[&argument]);
        written.push(read_files());
        let kubeconfig = Kubeconfig::read_from(folder.path().join("certs/kubeconfig.json"));
        let mut kubeconfig = kubeconfig.expect("a kubeconfig");
        let maps = get(&client(kubeconfig.clone()).await, CONFIG_MAPS).await;
        maps.expect("the kubeconfig trusts the certificate");
        let cluster = kubeconfig.clusters[0].cluster.as_mut().expect("a cluster");
        cluster.certificate_authority_data = None;
        cluster.certificate_authority = Some(files[0].display().to_string());
        let maps = get(&client(kubeconfig).await, CONFIG_MAPS).await;
        maps.expect("the file is a CA bundle, too");
    }
    assert_eq!(written[0], written[1]);
}

#[test]
fn kube_apiserver_reports_its_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("kube-apiserver");
    std::os::unix::fs::symlink(Project::command_path(), &program).expect("a link");
    let output = std::process::Command::new(program).arg("--version").output();
    let output = output.expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Kubernetes v1.36.3\n");
}

/// A certificate authority.
struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl CertificateAuthority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(vec![]).expect("parameters");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = parameters.self_signed(&key).expect("signed").pem();
        let issuer = Issuer::new(parameters, key);
        Self { issuer, pem }
    }

    /// Writes a certificate and its key to `FILE.crt` and `FILE.key`.
    fn sign(&self, folder: &TempDir, file: &str, name: &str, purpose: ExtendedKeyUsagePurpose) {
        let mut parameters = CertificateParams::new(vec![]).expect("parameters");
        parameters.extended_key_usages = vec![purpose];
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.subject_alt_names = vec![SanType::IpAddress([127, 0, 0, 1].into())];
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("signed");
        fs::write(folder.path().join(format!("{file}.crt")), certificate.pem()).expect("the file is written");
        fs::write(folder.path().join(format!("{file}.key")), key.serialize_pem())
            .expect("the file is written");
    }
}

fn launch(folder: &Path, arguments: &[&str]) -> ChildProcess {
    let launch = Project::command(folder, &["api-server"]).args(arguments);
    launch.start().expect("the server starts")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.2:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

fn path(folder: &TempDir, file: &str) -> String {
    folder.path().join(file).to_string_lossy().into_owned()
}

fn auth(kubeconfig: &mut Kubeconfig) -> &mut kube::config::AuthInfo {
    kubeconfig.auth_infos[0].auth_info.as_mut().expect("a user")
}

async fn client(kubeconfig: Kubeconfig) -> Client {
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a configuration");
    config.default_retry = false;
    Client::try_from(config).expect("a client")
}

async fn current_user(client: &Client) -> Result<Value, u16> {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("Content-Type", "application/json")
        .body(review.to_string().into_bytes());
    let review = send(client, request.expect("a request")).await?;
    Ok(review["status"]["userInfo"].clone())
}

async fn get(client: &Client, path: &str) -> Result<Value, u16> {
    send(client, Request::get(path).body(vec![]).expect("a request")).await
}

/// Sends a request. Returns the response body, or the error's status code; 0 if there was no response.
async fn send(client: &Client, request: Request<Vec<u8>>) -> Result<Value, u16> {
    match client.request(request).await {
        Ok(response) => Ok(response),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(_) => Err(0),
    }
}
