//! TLS: the server's certificate and verification of client certificates.

use super::StartError;
use crate::auth::{may_identify, may_issue, user_from_certificate};
use crate::http::ClientCert;
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CipherSuite, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme,
};
use std::fmt;
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
    /// A generated certificate, signed by a generated CA.
    Generated,
    /// The given certificate, as PEM.
    Given {
        /// The certificate chain. If it ends with a CA, the kubeconfig trusts that one.
        certificates: String,
        /// The private key.
        key: String,
    },
}

impl Tls {
    /// Generates a certificate for an address, with a CA that signs it and ends the chain.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn generate(address: IpAddr) -> Result<Self, StartError> {
        let [certificate, authority, key] = generate_certificate(address).map_err(certificate_error)?;
        Ok(Self::Given {
            certificates: certificate + &authority,
            key,
        })
    }
}

/// What a server reads as PEM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsInput {
    /// The server's certificate chain.
    Certificates,
    /// The server's private key.
    Key,
    /// The CA that signs client certificates.
    ClientCa,
}

impl fmt::Display for TlsInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificates => "server's certificate",
            Self::Key => "server's private key",
            Self::ClientCa => "client CA",
        })
    }
}

impl TlsInput {
    fn error(self, cause: impl fmt::Display) -> StartError {
        StartError::Certificate {
            input: self,
            cause: cause.to_string(),
        }
    }

    /// Returns all certificates of a PEM text, at least one.
    fn certificates(self, pem: &str) -> Result<Vec<CertificateDer<'static>>, StartError> {
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| self.error(error))?;
        if certificates.is_empty() {
            return Err(self.error("it contains no certificate in PEM"));
        }
        Ok(certificates)
    }
}

/// Accepts TLS connections.
#[derive(Clone)]
pub(super) struct ConnectionAcceptor {
    tls: TlsAcceptor,
    client_authorities: Option<ClientAuthorities>,
}

impl ConnectionAcceptor {
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

/// Returns the TLS acceptor and the CA at the end of the server's chain, if one is there; None without TLS.
pub(super) fn new_acceptor(
    mut tls: Tls,
    address: IpAddr,
    client_ca: Option<&str>,
) -> Result<Option<(ConnectionAcceptor, Option<String>)>, StartError> {
    if matches!(tls, Tls::Generated) {
        tls = Tls::generate(address)?;
    }
    let Tls::Given { certificates, key } = tls else {
        return Ok(None);
    };
    let chain = TlsInput::Certificates.certificates(&certificates)?;
    let last = certificates.rfind("-----BEGIN").unwrap_or_default();
    let ends_with_authority = chain.last().is_some_and(|last| may_issue(last, Timestamp::now()));
    let authority = ends_with_authority.then(|| certificates[last..].to_owned());
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| {
        TlsInput::Key.error(match error {
            pem::Error::NoItemsFound => "it contains no private key in PEM".to_owned(),
            error => error.to_string(),
        })
    })?;
    let mut provider = ring::default_provider();
    // kube-apiserver prefers this suite, too; it is the cheapest.
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    let provider = Arc::new(provider);
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(certificate_error)?;
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
    let mut config = builder.with_single_cert(chain, key).map_err(certificate_error)?;
    // Otherwise the client's order would take precedence.
    config.ignore_client_order = true;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let tls = TlsAcceptor::from(Arc::new(config));
    let acceptor = ConnectionAcceptor {
        tls,
        client_authorities,
    };
    Ok(Some((acceptor, authority)))
}

/// Generates a certificate for the address; returns it with its CA and its key, as PEM.
fn generate_certificate(address: IpAddr) -> Result<[String; 3], rcgen::Error> {
    let mut authority = CertificateParams::new(vec![])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority
        .distinguished_name
        .push(DnType::CommonName, "kubewright-ca");
    let authority_key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority, authority_key);
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(["kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(str::to_owned));
    // The loopback network has more addresses than 127.0.0.1.
    if !address.is_unspecified() && !names.contains(&address.to_string()) {
        names.push(address.to_string());
    }
    let mut server = CertificateParams::new(names)?;
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server
        .distinguished_name
        .push(DnType::CommonName, "kubewright-apiserver");
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &issuer)?;
    Ok([certificate.pem(), authority_pem, key.serialize_pem()])
}

fn certificate_error(error: impl std::fmt::Display) -> StartError {
    TlsInput::Certificates.error(error)
}
