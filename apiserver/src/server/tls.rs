//! TLS: the server's certificate and verification of client certificates.

use super::StartError;
use super::serving_certificate::ServingCertificate;
use super::tls_input::TlsInput;
use crate::auth::{may_identify, may_issue, user_from_certificate};
use crate::http::ClientCert;
use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, UnixTime};
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

/// The TLS mode of a server.
#[derive(Clone, Debug)]
pub enum Tls {
    /// Plain HTTP.
    Off,
    /// A certificate that is [generated](ServingCertificate::generate) for the server's address.
    Generated,
    /// The given certificate.
    Given(ServingCertificate),
}

impl Tls {
    /// Returns the certificate of a server at this address; none without TLS.
    pub(super) fn certificate(self, address: IpAddr) -> Result<Option<ServingCertificate>, StartError> {
        Ok(match self {
            Self::Off => None,
            Self::Generated => Some(ServingCertificate::generate(address)?),
            Self::Given(certificate) => Some(certificate),
        })
    }
}

/// Accepts TLS connections.
#[derive(Clone)]
pub(super) struct ConnectionAcceptor {
    tls: TlsAcceptor,
    client_authorities: Option<ClientAuthorities>,
}

impl ConnectionAcceptor {
    /// Returns an acceptor with this certificate. It verifies client certificates by the given CA, as PEM.
    pub(super) fn new(certificate: &ServingCertificate, client_ca: Option<&str>) -> Result<Self, StartError> {
        let (chain, key) = certificate.parse()?;
        let unusable = |error| TlsInput::Certificates.error(error);
        let mut provider = ring::default_provider();
        // kube-apiserver prefers this suite, too; it is the cheapest.
        provider
            .cipher_suites
            .sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
        let provider = Arc::new(provider);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let client_authorities = client_ca
            .map(|pem| TlsInput::ClientCa.certificates(pem))
            .transpose()?
            .map(|certificates| ClientAuthorities {
                certificates: certificates.into(),
                provider: provider.clone(),
            });
        let builder = match &client_authorities {
            None => builder.with_no_client_auth(),
            Some(authorities) => {
                let verifier = client_verifier(authorities.certificates.iter(), provider)?;
                builder.with_client_cert_verifier(Arc::new(PossessionVerifier(verifier)))
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
        // Otherwise the client's order would take precedence.
        config.ignore_client_order = true;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            tls: TlsAcceptor::from(Arc::new(config)),
            client_authorities,
        })
    }

    /// Performs the TLS handshake and verifies the client certificate.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
    ) -> std::io::Result<(TlsStream<TcpStream>, ClientCert)> {
        let stream = self.tls.accept(stream).await?;
        let certificates = stream.get_ref().1.peer_certificates();
        let client_cert = match (certificates, &self.client_authorities) {
            (Some([first, others @ ..]), Some(authorities)) => Some(first)
                .filter(|_| authorities.verify(first, others))
                .and_then(|_| user_from_certificate(first))
                .map_or(ClientCert::Untrusted, |user| ClientCert::Verified(Arc::new(user))),
            _ => ClientCert::Absent,
        };
        Ok((stream, client_cert))
    }
}

/// The certificates of the client CA file.
#[derive(Clone)]
struct ClientAuthorities {
    certificates: Arc<[CertificateDer<'static>]>,
    provider: Arc<CryptoProvider>,
}

impl ClientAuthorities {
    /// Verifies the certificate of a client: that it is trusted itself, or issued by an authority that may issue certificates now.
    fn verify(&self, certificate: &CertificateDer<'_>, others: &[CertificateDer<'_>]) -> bool {
        let now = Timestamp::now();
        if self.certificates.iter().any(|trusted| trusted == certificate) {
            return may_identify(certificate, now);
        }
        let authorities = self
            .certificates
            .iter()
            .filter(|authority| may_issue(authority, now));
        client_verifier(authorities, self.provider.clone()).is_ok_and(|verifier| {
            verifier
                .verify_client_cert(certificate, others, UnixTime::now())
                .is_ok()
        })
    }
}

fn client_verifier<'a>(
    authorities: impl Iterator<Item = &'a CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, StartError> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots
            .add(authority.clone())
            .map_err(|error| TlsInput::ClientCa.error(error))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| TlsInput::ClientCa.error(error))
}

/// Requests client certificates, but checks only the possession of the private key. The certificate is verified after the handshake, so
/// that requests with an untrusted one get 401 as from kube-apiserver, instead of a failed handshake.
#[derive(Debug)]
struct PossessionVerifier(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for PossessionVerifier {
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
