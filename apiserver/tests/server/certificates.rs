//! Who asks over a connection with a client's certificate.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::client::MAPS;
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

/// Who signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate and its key.
type Shown = (CertificateDer<'static>, PrivateKeyDer<'static>);

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(vec![]).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = parameters.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(parameters, key);
        Self { issuer, pem }
    }

    fn sign(&self, name: &str, groups: &[&str], purpose: ExtendedKeyUsagePurpose) -> Shown {
        let mut parameters = CertificateParams::new(vec![]).unwrap();
        parameters.extended_key_usages = vec![purpose];
        parameters.distinguished_name.push(DnType::CommonName, name);
        // rcgen keeps one value of a type: the same type in other words is another.
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

async fn serve(authority: &Authority) -> ApiServer {
    let builder = ApiServer::builder().client_ca(&authority.pem);
    let builder = builder.token("bob-token", User::new("bob", &[]));
    builder.tls(Tls::Generated).start().await.unwrap()
}

/// A connection of a client that prefers its own order of ciphers; an error where TLS ends it.
async fn connect(server: &ApiServer, shown: Option<Shown>) -> std::io::Result<TlsStream<TcpStream>> {
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
    let config = match shown {
        Some((certificate, key)) => builder.with_client_auth_cert(vec![certificate], key).unwrap(),
        None => builder.with_no_client_auth(),
    };
    let stream = TcpStream::connect(server.address()).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// The code and the object of an answer; an error where TLS ends the connection.
async fn ask(
    server: &ApiServer,
    shown: Option<Shown>,
    token: &str,
    request: (&str, &str, Value),
) -> std::io::Result<(u16, Value)> {
    let mut stream = connect(server, shown).await?;
    let (method, path, body) = request;
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Authorization: Bearer {token}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = vec![];
    // A server need not say goodbye.
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or(std::io::ErrorKind::ConnectionReset)?;
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    Ok((code, serde_json::from_str(body).unwrap()))
}

fn who() -> (&'static str, &'static str, Value) {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    ("POST", REVIEWS, review)
}

#[tokio::test]
async fn the_common_name_is_the_user_and_organizations_are_groups() {
    let authority = Authority::new();
    let server = serve(&authority).await;
    let alice = || Some(authority.sign("alice", &["devs", "ops"], ExtendedKeyUsagePurpose::ClientAuth));
    let (code, review) = ask(&server, alice(), "", who()).await.unwrap();
    assert_eq!(code, 201, "{review}");
    let user = &review["status"]["userInfo"];
    assert_eq!(user["username"], "alice");
    assert_eq!(user["groups"], json!(["devs", "ops", "system:authenticated"]));

    // Rights follow from groups, and the record says who it was.
    let maps = || ("GET", MAPS, Value::Null);
    let (code, refused) = ask(&server, alice(), "", maps()).await.unwrap();
    let text = refused["message"].as_str().unwrap();
    assert!(
        code == 403 && text.contains(r#"User "alice" cannot list"#),
        "{text}"
    );
    let root = authority.sign("root", &["system:masters"], ExtendedKeyUsagePurpose::ClientAuth);
    assert_eq!(ask(&server, Some(root), "", maps()).await.unwrap().0, 200);
    let users: Vec<String> = server
        .audit()
        .records()
        .into_iter()
        .map(|record| record.user)
        .collect();
    assert_eq!(users, ["alice", "alice", "root"]);
}

#[tokio::test]
async fn who_shows_no_certificate_may_show_a_token() {
    let authority = Authority::new();
    let server = serve(&authority).await;
    let (_, review) = ask(&server, None, "bob-token", who()).await.unwrap();
    assert_eq!(review["status"]["userInfo"]["username"], "bob");
    assert_eq!(ask(&server, None, "wrong", who()).await.unwrap().0, 401);
    // Of the two, the certificate counts.
    let alice = authority.sign("alice", &[], ExtendedKeyUsagePurpose::ClientAuth);
    let (_, review) = ask(&server, Some(alice), "bob-token", who()).await.unwrap();
    assert_eq!(review["status"]["userInfo"]["username"], "alice");
}

#[tokio::test]
async fn a_certificate_that_is_not_believed_is_nobodys() {
    let authority = Authority::new();
    let server = serve(&authority).await;
    let stranger =
        || Authority::new().sign("alice", &["system:masters"], ExtendedKeyUsagePurpose::ClientAuth);
    assert_eq!(ask(&server, Some(stranger()), "", who()).await.unwrap().0, 401);
    let (_, review) = ask(&server, Some(stranger()), "bob-token", who()).await.unwrap();
    assert_eq!(
        review["status"]["userInfo"]["username"], "bob",
        "the token counts"
    );
    // One for servers says nothing of clients.
    let wrong = authority.sign("alice", &["system:masters"], ExtendedKeyUsagePurpose::ServerAuth);
    assert_eq!(ask(&server, Some(wrong), "", who()).await.unwrap().0, 401);
}

/// As the real server does, whatever the client would rather have: it is the cheapest, on both sides.
#[tokio::test]
async fn the_cheapest_cipher_is_chosen() {
    let server = serve(&Authority::new()).await;
    let stream = connect(&server, None).await.unwrap();
    let chosen = stream.get_ref().1.negotiated_cipher_suite().unwrap().suite();
    assert_eq!(chosen, CipherSuite::TLS13_AES_128_GCM_SHA256);
}
