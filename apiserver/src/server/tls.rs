//! Certificates.

use super::StartError;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::net::IpAddr;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

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

/// The TLS side of a listener, and the authority that clients must believe.
pub(super) fn acceptor(
    tls: &Tls,
    address: IpAddr,
    client_authority: Option<&str>,
) -> Result<Option<(TlsAcceptor, Option<String>)>, StartError> {
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
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(certificate_error)?;
    let builder = match client_authority {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            for authority in read(pem)? {
                roots.add(authority).map_err(certificate_error)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build()
                .map_err(certificate_error)?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(certificate_error)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some((TlsAcceptor::from(Arc::new(config)), authority)))
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
    if !address.is_unspecified() && !address.is_loopback() {
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
