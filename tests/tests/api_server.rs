//! `kubewright api-server`: the embedded API server as a program, flag by flag.

use std::{fs, net::TcpListener, path::Path, time::Duration};

use http::Request;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_testkit::{ChildProcess, eventually};
use kubewright_tests::Project;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(30);
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A running server, in a folder of its own.
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
        eventually("it serves", PATIENCE, || {
            let log = process.log();
            if log.contains("KUBECONFIG=") {
                Ok(())
            } else {
                Err(log)
            }
        });
        Self { process, folder }
    }

    /// Where it says that it serves.
    fn url(&self) -> String {
        let log = self.process.log();
        let said = log.lines().find_map(|line| line.split_once("serving at "));
        let (url, _) = said
            .and_then(|(_, rest)| rest.split_once(','))
            .expect("it says where");
        url.to_owned()
    }

    fn kubeconfig(&self) -> Kubeconfig {
        Kubeconfig::read_from(self.folder.path().join("kubeconfig.json")).expect("a kubeconfig")
    }

    async fn admin(&self) -> Client {
        client(self.kubeconfig()).await
    }

    /// Somebody with that token.
    async fn with_token(&self, token: &str) -> Client {
        let mut kubeconfig = self.kubeconfig();
        auth(&mut kubeconfig).token = Some(token.to_owned().into());
        client(kubeconfig).await
    }
}

#[tokio::test]
async fn it_serves_where_it_is_told_and_ends_by_ctrl_c() {
    let port = free_port();
    let mut server = Server::start(&["--bind-address=127.0.0.2", &format!("--secure-port={port}")]);
    assert_eq!(server.url(), format!("https://127.0.0.2:{port}"));
    assert!(
        server.process.log().contains("for development and tests only"),
        "{}",
        server.process.log()
    );
    get(&server.admin().await, MAPS)
        .await
        .expect("the kubeconfig works");

    let folder = tempfile::tempdir().expect("a folder");
    let mut second = launch(
        folder.path(),
        &["--bind-address=127.0.0.2", &format!("--secure-port={port}")],
    );
    let ended = second.wait(PATIENCE).expect("it ends").expect("in time");
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
    let ended = server.process.interrupt(PATIENCE).expect("it ends");
    assert!(ended.expect("in time").success(), "{}", server.process.log());
    assert_eq!(get(&client, MAPS).await, Err(0), "nobody is there any more");
}

#[tokio::test]
async fn it_ends_in_good_order_by_sigterm() {
    let mut server = Server::start(&[]);
    let client = server.admin().await;
    let ended = server.process.terminate(PATIENCE).expect("it ends");
    assert!(ended.expect("in time").success(), "{}", server.process.log());
    assert_eq!(get(&client, MAPS).await, Err(0), "nobody is there any more");
}

#[tokio::test]
async fn kubeconfig_and_version_are_as_told() {
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
    let who = who(&client).await.expect("somebody");
    assert!(
        who["groups"]
            .as_array()
            .expect("groups")
            .contains(&json!("system:masters")),
        "{who}"
    );
}

#[tokio::test]
async fn plain_http_is_plain() {
    let server = Server::start(&["--plain-http"]);
    assert!(server.url().starts_with("http://127.0.0.1:"), "{}", server.url());
    get(&server.admin().await, MAPS)
        .await
        .expect("the kubeconfig works");
}

#[tokio::test]
async fn it_shows_the_given_certificate_and_believes_those_of_the_client_authority() {
    let folder = tempfile::tempdir().expect("a folder");
    let (shown, clients) = (Authority::new(), Authority::new());
    shown.sign(
        &folder,
        "server",
        "an API server",
        ExtendedKeyUsagePurpose::ServerAuth,
    );
    clients.sign(&folder, "alice", "alice", ExtendedKeyUsagePurpose::ClientAuth);
    for (name, authority) in [("shown.crt", &shown), ("clients.crt", &clients)] {
        fs::write(folder.path().join(name), &authority.pem).expect("written");
    }
    let server = Server::start_in(
        folder,
        &[
            "--tls-cert-file=server.crt",
            "--tls-private-key-file=server.key",
            "--client-ca-file=clients.crt",
        ],
    );
    let believing = |authority: &str| {
        let mut kubeconfig = server.kubeconfig();
        let cluster = kubeconfig.clusters[0].cluster.as_mut().expect("a cluster");
        cluster.certificate_authority = Some(path(&server.folder, authority));
        kubeconfig
    };
    let admin = client(believing("shown.crt")).await;
    get(&admin, MAPS).await.expect("its certificate is believed");
    let other = client(believing("clients.crt")).await;
    assert_eq!(
        get(&other, MAPS).await,
        Err(0),
        "the certificate is another authority's"
    );

    let mut kubeconfig = believing("shown.crt");
    let auth = auth(&mut kubeconfig);
    auth.token = None;
    auth.client_certificate = Some(path(&server.folder, "alice.crt"));
    auth.client_key = Some(path(&server.folder, "alice.key"));
    let who = who(&client(kubeconfig).await).await.expect("somebody");
    assert_eq!(who["username"], "alice");
}

#[tokio::test]
async fn tokens_name_users_and_their_groups() {
    let folder = tempfile::tempdir().expect("a folder");
    let tokens = "alice-token,alice,1,\"devs,ops\"\n\nbob-token,bob,2\n";
    fs::write(folder.path().join("tokens.csv"), tokens).expect("written");
    let server = Server::start_in(folder, &["--token-auth-file=tokens.csv"]);
    let alice = who(&server.with_token("alice-token").await).await.expect("alice");
    assert_eq!(
        (&alice["username"], &alice["uid"]),
        (&json!("alice"), &json!("1"))
    );
    assert_eq!(alice["groups"], json!(["devs", "ops", "system:authenticated"]));
    let bob = who(&server.with_token("bob-token").await).await.expect("bob");
    assert_eq!(
        (&bob["username"], &bob["groups"]),
        (&json!("bob"), &json!(["system:authenticated"]))
    );
    assert_eq!(who(&server.with_token("other").await).await, Err(401));
}

#[test]
fn files_that_it_cannot_use_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::new();
    authority.sign(
        &folder,
        "server",
        "an API server",
        ExtendedKeyUsagePurpose::ServerAuth,
    );
    fs::write(folder.path().join("bad.csv"), "t,alice,1\nt2,bob\n").expect("written");
    fs::write(folder.path().join("bad.key"), "no key").expect("written");
    for (arguments, code, said) in [
        (&["--token-auth-file=bad.csv"][..], 12, "bad.csv: line 2:"),
        (&["--token-auth-file=none.csv"], 10, "none.csv"),
        (
            &["--tls-cert-file=server.crt", "--tls-private-key-file=bad.key"],
            12,
            "the certificate cannot be used",
        ),
        (&["--tls-cert-file=server.crt"], 2, "--tls-private-key-file"),
        (&["--kubeconfig=no/such/folder/k"], 10, "no/such/folder/k"),
    ] {
        let mut process = launch(folder.path(), arguments);
        let ended = process.wait(PATIENCE).expect("it ends").expect("in time");
        let log = process.log();
        assert!(ended.code() == Some(code) && log.contains(said), "{ended}: {log}");
        fs::remove_file(process.log_path()).expect("the next log is its own");
    }
}

#[tokio::test]
async fn any_of_the_modes_may_allow() {
    for (modes, listed) in [
        (None, Err(403)),
        (Some("RBAC"), Err(403)),
        (Some("AlwaysAllow"), Ok(())),
        (Some("RBAC,AlwaysAllow"), Ok(())),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("tokens.csv"), "alice-token,alice,1\n").expect("written");
        let mode = modes.map(|modes| format!("--authorization-mode={modes}"));
        let mut arguments = vec!["--token-auth-file=tokens.csv"];
        arguments.extend(mode.as_deref());
        let server = Server::start_in(folder, &arguments);
        let alice = server.with_token("alice-token").await;
        assert_eq!(get(&alice, MAPS).await.map(drop), listed, "{modes:?}");
        get(&server.admin().await, MAPS)
            .await
            .expect("the administrator may");
    }
}

/// Who signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(vec![]).expect("parameters");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = parameters.self_signed(&key).expect("signed").pem();
        let issuer = Issuer::new(parameters, key);
        Self { issuer, pem }
    }

    /// Writes a certificate and its key.
    fn sign(&self, folder: &TempDir, file: &str, name: &str, purpose: ExtendedKeyUsagePurpose) {
        let mut parameters = CertificateParams::new(vec![]).expect("parameters");
        parameters.extended_key_usages = vec![purpose];
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.subject_alt_names = vec![SanType::IpAddress([127, 0, 0, 1].into())];
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("signed");
        fs::write(folder.path().join(format!("{file}.crt")), certificate.pem()).expect("written");
        fs::write(folder.path().join(format!("{file}.key")), key.serialize_pem()).expect("written");
    }
}

fn launch(folder: &Path, arguments: &[&str]) -> ChildProcess {
    let launch = Project::command(folder, &["api-server"]).args(arguments);
    launch.start().expect("it starts")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.2:0").expect("a port that is free, and closed again");
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

async fn who(client: &Client) -> Result<Value, u16> {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("Content-Type", "application/json")
        .body(review.to_string().into_bytes());
    let review = ask(client, request.expect("a request")).await?;
    Ok(review["status"]["userInfo"].clone())
}

async fn get(client: &Client, path: &str) -> Result<Value, u16> {
    ask(client, Request::get(path).body(vec![]).expect("a request")).await
}

/// The answer, or its code; 0 for none.
async fn ask(client: &Client, request: Request<Vec<u8>>) -> Result<Value, u16> {
    match client.request(request).await {
        Ok(answer) => Ok(answer),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(_) => Err(0),
    }
}
