//! Authentication with client certificates.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::client::CONFIG_MAPS;
use kubewright_apiserver::{ApiServer, Tls, auth::User};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CipherSuite, ClientConfig, RootCertStore};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// A certificate authority for client certificates.
pub(crate) struct TestAuthority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

/// A certificate and its key.
pub(crate) type ClientCertificate = (CertificateDer<'static>, PrivateKeyDer<'static>);

impl TestAuthority {
    pub(crate) fn new() -> Self {
        Self::with(|parameters| parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained))
    }

    fn with(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut parameters = CertificateParams::new(vec![]).unwrap();
        change(&mut parameters);
        let key = KeyPair::generate().unwrap();
        let pem = parameters.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(parameters, key);
        Self { issuer, pem }
    }

    pub(crate) fn sign(
        &self,
        name: &str,
        groups: &[&str],
        purpose: ExtendedKeyUsagePurpose,
    ) -> ClientCertificate {
        let mut parameters = CertificateParams::new(vec![]).unwrap();
        parameters.extended_key_usages = vec![purpose];
        parameters.distinguished_name.push(DnType::CommonName, name);
        // rcgen keeps one value per type: encode the second organization as a custom type with the same OID.
        let organizations = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
        for (organization, group) in organizations.into_iter().zip(groups) {
            parameters.distinguished_name.push(organization, *group);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        (certificate.der().clone(), key)
    }
}

async fn start_server(authority: &TestAuthority) -> ApiServer {
    let builder = ApiServer::builder().client_ca(&authority.pem);
    let builder = builder.token("bob-token", User::new("bob", &[]));
    builder.tls(Tls::Generated).start().await.unwrap()
}

/// Connects with a client that prefers its own order of cipher suites. Fails if the TLS handshake does.
async fn connect(
    server: &ApiServer,
    certificate: Option<ClientCertificate>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let authority = server.certificate_authority().unwrap();
    roots
        .add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match certificate {
        Some((certificate, key)) => builder.with_client_auth_cert(vec![certificate], key).unwrap(),
        None => builder.with_no_client_auth(),
    };
    let stream = TcpStream::connect(server.address()).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// Sends a request; returns the status code and body. Fails if TLS ends the connection.
pub(crate) async fn request(
    server: &ApiServer,
    certificate: Option<ClientCertificate>,
    token: &str,
    request: (&str, &str, Value),
) -> std::io::Result<(u16, Value)> {
    let mut stream = connect(server, certificate).await?;
    let (method, path, body) = request;
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Authorization: Bearer {token}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut response = vec![];
    // The server need not send close_notify.
    let _ = stream.read_to_end(&mut response).await;
    let response = String::from_utf8(response).unwrap();
    let (head, body) = response
        .split_once("\r\n\r\n")
        .ok_or(std::io::ErrorKind::ConnectionReset)?;
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    // Health checks are plain text.
    let body = serde_json::from_str(body).unwrap_or_else(|_| body.into());
    Ok((code, body))
}

fn self_subject_review() -> (&'static str, &'static str, Value) {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    ("POST", REVIEWS, review)
}

#[tokio::test]
async fn common_name_is_the_user_and_organizations_are_groups() {
    let authority = TestAuthority::new();
    let server = start_server(&authority).await;
    let alice = || Some(authority.sign("alice", &["devs", "ops"], ExtendedKeyUsagePurpose::ClientAuth));
    let (code, review) = request(&server, alice(), "", self_subject_review())
        .await
        .unwrap();
    assert_eq!(code, 201, "{review}");
    let user = &review["status"]["userInfo"];
    assert_eq!(user["username"], "alice");
    assert_eq!(user["groups"], json!(["devs", "ops", "system:authenticated"]));

    // Permissions follow from groups, and the audit log has the user name.
    let maps = || ("GET", CONFIG_MAPS, Value::Null);
    let (code, rejected) = request(&server, alice(), "", maps()).await.unwrap();
    let text = rejected["message"].as_str().unwrap();
    assert!(
        code == 403 && text.contains(r#"User "alice" cannot list"#),
        "{text}"
    );
    let root = authority.sign("root", &["system:masters"], ExtendedKeyUsagePurpose::ClientAuth);
    assert_eq!(request(&server, Some(root), "", maps()).await.unwrap().0, 200);
    let users: Vec<String> = server
        .audit()
        .records()
        .into_iter()
        .map(|record| record.user)
        .collect();
    assert_eq!(users, ["alice", "alice", "root"]);
}

#[tokio::test]
async fn clients_without_certificate_authenticate_by_token() {
    let authority = TestAuthority::new();
    let server = start_server(&authority).await;
    let (_, review) = request(&server, None, "bob-token", self_subject_review())
        .await
        .unwrap();
    assert_eq!(review["status"]["userInfo"]["username"], "bob");
    assert_eq!(
        request(&server, None, "wrong", self_subject_review())
            .await
            .unwrap()
            .0,
        401
    );
    // If a client sends both, the certificate takes precedence.
    let alice = authority.sign("alice", &[], ExtendedKeyUsagePurpose::ClientAuth);
    let (_, review) = request(&server, Some(alice), "bob-token", self_subject_review())
        .await
        .unwrap();
    assert_eq!(review["status"]["userInfo"]["username"], "alice");
}

#[tokio::test]
async fn untrusted_certificates_do_not_authenticate() {
    let authority = TestAuthority::new();
    let server = start_server(&authority).await;
    let from_unknown_ca =
        || TestAuthority::new().sign("alice", &["system:masters"], ExtendedKeyUsagePurpose::ClientAuth);
    assert_eq!(
        request(&server, Some(from_unknown_ca()), "", self_subject_review())
            .await
            .unwrap()
            .0,
        401
    );
    let (_, review) = request(
        &server,
        Some(from_unknown_ca()),
        "bob-token",
        self_subject_review(),
    )
    .await
    .unwrap();
    assert_eq!(
        review["status"]["userInfo"]["username"], "bob",
        "the token counts"
    );
    // A server certificate does not authenticate a client.
    let server_certificate =
        authority.sign("alice", &["system:masters"], ExtendedKeyUsagePurpose::ServerAuth);
    assert_eq!(
        request(&server, Some(server_certificate), "", self_subject_review())
            .await
            .unwrap()
            .0,
        401
    );
}

/// As in kube-apiserver: that a certificate stands in the file is not enough.
#[tokio::test]
async fn certificates_of_invalid_authorities_get_401() {
    let no_ca = TestAuthority::with(|parameters| parameters.is_ca = IsCa::ExplicitNoCa);
    let expired = TestAuthority::with(|parameters| {
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.not_after = rcgen::date_time_ymd(2020, 1, 1);
    });
    for authority in [no_ca, expired] {
        let server = start_server(&authority).await;
        let alice = authority.sign("alice", &["system:masters"], ExtendedKeyUsagePurpose::ClientAuth);
        let response = request(&server, Some(alice), "", self_subject_review()).await;
        assert_eq!(response.unwrap().0, 401);
    }
}

/// Like the real server, whatever the client prefers: it is the cheapest for both sides.
#[tokio::test]
async fn aes_128_gcm_is_preferred() {
    let server = start_server(&TestAuthority::new()).await;
    let stream = connect(&server, None).await.unwrap();
    let chosen = stream.get_ref().1.negotiated_cipher_suite().unwrap().suite();
    assert_eq!(chosen, CipherSuite::TLS13_AES_128_GCM_SHA256);
}
