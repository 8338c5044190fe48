//! Certificates: the server's, and those of clients.

use super::StartError;
use crate::auth::certificate_user;
use crate::http::Asker;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CipherSuite, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme,
};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Which certificate a server shows.
#[derive(Clone, Debug)]
pub enum Tls {
    /// None: plain HTTP.
    Off,
    /// One of its own, signed by an authority of its own.
    Generated,
    /// This one, as PEM.
    Given {
        /// The certificate, and those between it and its authority.
        certificates: String,
        /// Its key.
        key: String,
    },
}

/// The TLS side of a listener.
#[derive(Clone)]
pub(super) struct Acceptor {
    tls: TlsAcceptor,
    /// Which certificates of clients are believed.
    believed: Option<Arc<dyn ClientCertVerifier>>,
}

impl Acceptor {
    /// Agrees on TLS, and says whom the client's certificate names.
    pub(super) async fn accept(&self, stream: TcpStream) -> std::io::Result<(TlsStream<TcpStream>, Asker)> {
        let stream = self.tls.accept(stream).await?;
        let shown = stream.get_ref().1.peer_certificates();
        let asker = match (shown, &self.believed) {
            (Some([first, others @ ..]), Some(believed)) => believed
                .verify_client_cert(first, others, UnixTime::now())
                .ok()
                .and_then(|_| certificate_user(first))
                .map_or(Asker::Doubtful, |user| Asker::Certified(Arc::new(user))),
            _ => Asker::Uncertified,
        };
        Ok((stream, asker))
    }
}

/// Asks clients for certificates, and lets every one connect who has the key of what is shown: whether it is believed is a matter of the
/// requests, as in kube-apiserver, where the answer is then 401.
#[derive(Debug)]
struct Lenient(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for Lenient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// The TLS side of a listener, and the authority that clients must believe.
pub(super) fn acceptor(
    tls: &Tls,
    address: IpAddr,
    client_authority: Option<&str>,
) -> Result<Option<(Acceptor, Option<String>)>, StartError> {
    let (certificates, key, authority) = match tls {
        Tls::Off => return Ok(None),
        Tls::Given { certificates, key } => (certificates.clone(), key.clone(), None),
        Tls::Generated => {
            let (certificate, key, authority) = generate(address)?;
            (certificate, key, Some(authority))
        }
    };
    let chain = read(&certificates)?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(certificate_error)?;
    let mut provider = ring::default_provider();
    // What the real server prefers, too; it is the cheapest.
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    let provider = Arc::new(provider);
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(certificate_error)?;
    let believed = client_authority
        .map(|pem| -> Result<Arc<dyn ClientCertVerifier>, StartError> {
            let mut roots = RootCertStore::empty();
            for authority in read(pem)? {
                roots.add(authority).map_err(certificate_error)?;
            }
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(certificate_error)
        })
        .transpose()?;
    let builder = match &believed {
        None => builder.with_no_client_auth(),
        Some(believed) => builder.with_client_cert_verifier(Arc::new(Lenient(believed.clone()))),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(certificate_error)?;
    // Else the order of the client would count.
    config.ignore_client_order = true;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let tls = TlsAcceptor::from(Arc::new(config));
    Ok(Some((Acceptor { tls, believed }, authority)))
}

fn read(pem: &str) -> Result<Vec<CertificateDer<'static>>, StartError> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(certificate_error)
}

/// A certificate for the address, its key, and who signed it.
fn generate(address: IpAddr) -> Result<(String, String, String), StartError> {
    let mut authority = CertificateParams::new(vec![]).map_err(certificate_error)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority
        .distinguished_name
        .push(DnType::CommonName, "kubewright-ca");
    let authority_key = KeyPair::generate().map_err(certificate_error)?;
    let authority_pem = authority
        .self_signed(&authority_key)
        .map_err(certificate_error)?
        .pem();
    let issuer = Issuer::new(authority, authority_key);
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(["kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(str::to_owned));
    // Loopback is more than one address.
    if !address.is_unspecified() && !names.contains(&address.to_string()) {
        names.push(address.to_string());
    }
    let mut server = CertificateParams::new(names).map_err(certificate_error)?;
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server
        .distinguished_name
        .push(DnType::CommonName, "kubewright-apiserver");
    let key = KeyPair::generate().map_err(certificate_error)?;
    let certificate = server.signed_by(&key, &issuer).map_err(certificate_error)?;
    Ok((certificate.pem(), key.serialize_pem(), authority_pem))
}

fn certificate_error(error: impl std::fmt::Display) -> StartError {
    StartError::Certificate(error.to_string())
}
