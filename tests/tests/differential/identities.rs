//! Every kind of identity with sets of authorization modes and flags, on both servers: who is anonymous, who is unauthorized, and what each
//! may read.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::Request;
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kubewright_apiserver::auth::{AuthorizationMode, User};
use kubewright_apiserver::{ApiServer, Tls};
use kubewright_testkit::ControlPlane;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use serde_json::{Value, json};

/// A resource, a path that everyone may read, a health check, a document for authenticated clients, an unknown path.
const PATHS: [&str; 5] = [
    "/api/v1/namespaces/default/secrets",
    "/version",
    "/readyz",
    "/openapi/v3",
    "/nope",
];

/// The status codes of the paths.
type Codes = [u16; 5];

const UNAUTHORIZED: Codes = [401; 5];
const BY_ROLES_ANONYMOUS: Codes = [403, 200, 200, 403, 403];
const BY_ROLES: Codes = [403, 200, 200, 200, 403];
const ALLOWED: Codes = [200, 200, 200, 200, 404];

/// The flags of a server, and what clients get: those without credentials, and those that are identified.
struct Row {
    modes: &'static [&'static str],
    anonymous_auth: Option<bool>,
    anonymous: Codes,
    identified: Codes,
}

/// Where a mode allows everything, anonymous authentication is off, whatever its flag says.
const ROWS: [Row; 6] = [
    row(&["RBAC"], None, BY_ROLES_ANONYMOUS, BY_ROLES),
    row(&["RBAC"], Some(false), UNAUTHORIZED, BY_ROLES),
    row(&["AlwaysAllow"], None, UNAUTHORIZED, ALLOWED),
    row(&["AlwaysAllow"], Some(false), UNAUTHORIZED, ALLOWED),
    row(&["RBAC", "AlwaysAllow"], None, UNAUTHORIZED, ALLOWED),
    row(&["AlwaysAllow", "RBAC"], Some(true), UNAUTHORIZED, ALLOWED),
];

const fn row(
    modes: &'static [&'static str],
    anonymous_auth: Option<bool>,
    anonymous: Codes,
    identified: Codes,
) -> Row {
    Row {
        modes,
        anonymous_auth,
        anonymous,
        identified,
    }
}

#[tokio::test]
async fn embedded_server_knows_every_kind_of_identity() {
    for row in &ROWS {
        let authority = TestAuthority::new();
        let modes: Vec<AuthorizationMode> = row
            .modes
            .iter()
            .map(|mode| match *mode {
                "RBAC" => AuthorizationMode::Rbac,
                _ => AuthorizationMode::AlwaysAllow,
            })
            .collect();
        let mut builder = ApiServer::builder()
            .tls(Tls::Generated)
            .client_ca(&authority.pem)
            .token("bob-token", User::new("bob", &[]))
            .authorization(&modes);
        if let Some(enabled) = row.anonymous_auth {
            builder = builder.anonymous_auth(enabled);
        }
        let server = builder.start().await.unwrap();
        let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
        check(row, &authority, kubeconfig, "bob-token").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
async fn real_server_knows_every_kind_of_identity() {
    for row in &ROWS {
        let authority = TestAuthority::new();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("client-ca.crt");
        std::fs::write(&file, &authority.pem).unwrap();
        let mut builder = ControlPlane::builder()
            .user("bob", &[])
            .api_server_arg(&format!("--client-ca-file={}", file.display()))
            .api_server_arg(&format!("--authorization-mode={}", row.modes.join(",")));
        if let Some(enabled) = row.anonymous_auth {
            builder = builder.api_server_arg(&format!("--anonymous-auth={enabled}"));
        }
        let plane = tokio::task::spawn_blocking(|| builder.start())
            .await
            .unwrap()
            .unwrap();
        let kubeconfig = Kubeconfig::read_from(plane.admin().kubeconfig()).unwrap();
        check(row, &authority, kubeconfig, plane.user("bob").unwrap().token()).await;
        tokio::task::spawn_blocking(|| drop(plane)).await.unwrap();
    }
}

/// Requests all paths as every kind of identity.
async fn check(row: &Row, authority: &TestAuthority, kubeconfig: Kubeconfig, user_token: &str) {
    let admin = kubeconfig.auth_infos[0].auth_info.clone().unwrap();
    let account = service_account_token(&client(&kubeconfig, admin.clone()).await).await;
    let identities = [
        ("no credentials", AuthInfo::default(), row.anonymous),
        ("an invalid token", token("wrong"), UNAUTHORIZED),
        (
            "an untrusted certificate",
            TestAuthority::new().sign("alice"),
            UNAUTHORIZED,
        ),
        ("a token", token(user_token), row.identified),
        ("a service account", token(&account), row.identified),
        ("a certificate", authority.sign("alice"), row.identified),
        (
            "a trusted certificate",
            authority.trusted[0].clone(),
            row.identified,
        ),
        ("a trusted server", authority.trusted[1].clone(), UNAUTHORIZED),
        (
            "an expired trusted certificate",
            authority.trusted[2].clone(),
            UNAUTHORIZED,
        ),
        ("the authority", authority.own.clone(), row.identified),
        ("the administrator", admin, ALLOWED),
    ];
    for (name, auth, expected) in identities {
        let client = client(&kubeconfig, auth).await;
        let mut codes = [0; 5];
        for (code, path) in codes.iter_mut().zip(PATHS) {
            *code = send(&client, "GET", path, Value::Null).await.0;
        }
        assert_eq!(
            codes, expected,
            "{name}, {:?} {:?}",
            row.modes, row.anonymous_auth
        );
    }
}

async fn service_account_token(admin: &Client) -> String {
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = json!({ "metadata": { "name": "op" } });
    let (code, body) = send(admin, "POST", accounts, account).await;
    assert_eq!(code, 201, "{body}");
    let path = format!("{accounts}/op/token");
    let (code, issued) = send(admin, "POST", &path, json!({ "spec": {} })).await;
    assert_eq!(code, 201, "{issued}");
    issued["status"]["token"].as_str().unwrap().to_owned()
}

fn token(token: &str) -> AuthInfo {
    AuthInfo {
        token: Some(token.to_owned().into()),
        ..AuthInfo::default()
    }
}

async fn client(kubeconfig: &Kubeconfig, auth: AuthInfo) -> Client {
    let mut kubeconfig = kubeconfig.clone();
    kubeconfig.auth_infos[0].auth_info = Some(auth);
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    kubewright_testkit::client(config.unwrap()).unwrap()
}

async fn send(client: &Client, method: &str, path: &str, body: Value) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", "application/json");
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let response = client
        .send(request.body(Body::from(body.into_bytes())).unwrap())
        .await
        .unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// A certificate authority for client certificates. Its file also has certificates of clients.
struct TestAuthority {
    issuer: Issuer<'static, KeyPair>,
    own: AuthInfo,
    /// Credentials whose certificates are in the file: of a client, of a server, and of a client until a day that is past.
    trusted: [AuthInfo; 3],
    pem: String,
}

impl TestAuthority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(vec![]).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let mut pem = parameters.self_signed(&key).unwrap().pem();
        let own = credentials(&pem, &key);
        let mut trust = |usage: ExtendedKeyUsagePurpose, last_year: i32| {
            let mut parameters = client_parameters("alice");
            parameters.extended_key_usages = vec![usage];
            parameters.not_after = date_time_ymd(last_year, 1, 1);
            let key = KeyPair::generate().unwrap();
            let certificate = parameters.self_signed(&key).unwrap().pem();
            pem += &certificate;
            credentials(&certificate, &key)
        };
        let trusted = [
            trust(ExtendedKeyUsagePurpose::ClientAuth, 4096),
            trust(ExtendedKeyUsagePurpose::ServerAuth, 4096),
            trust(ExtendedKeyUsagePurpose::ClientAuth, 2020),
        ];
        let issuer = Issuer::new(parameters, key);
        Self {
            issuer,
            own,
            trusted,
            pem,
        }
    }

    /// Returns credentials with a certificate of this user.
    fn sign(&self, name: &str) -> AuthInfo {
        let key = KeyPair::generate().unwrap();
        let certificate = client_parameters(name).signed_by(&key, &self.issuer).unwrap();
        credentials(&certificate.pem(), &key)
    }
}

fn client_parameters(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new(vec![]).unwrap();
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters
}

fn credentials(certificate: &str, key: &KeyPair) -> AuthInfo {
    AuthInfo {
        client_certificate_data: Some(BASE64_STANDARD.encode(certificate)),
        client_key_data: Some(BASE64_STANDARD.encode(key.serialize_pem()).into()),
        ..AuthInfo::default()
    }
}
