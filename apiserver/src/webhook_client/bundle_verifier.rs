//! The verification of a webhook's certificate, by Go's rules where rustls' differ.

use super::ca_bundle::BundleCertificates;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;

/// Trusts what a certificate of the bundle has issued, and, as Go does, a server's certificate that is in the bundle itself: envtest and
/// others write no more than that into a `caBundle`.
#[derive(Debug)]
pub(super) struct BundleVerifier {
    issued: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl BundleVerifier {
    pub(super) fn new(
        bundle: BundleCertificates,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, VerifierBuilderError> {
        let issued = WebPkiServerVerifier::builder_with_provider(Arc::new(bundle.store), provider);
        Ok(Self {
            issued: issued.build()?,
            certificates: bundle.certificates,
        })
    }
}

impl ServerCertVerifier for BundleVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.issued
                .verify_server_cert(certificate, intermediates, server_name, ocsp_response, now);
        verified.or_else(|error| {
            if !is_about_the_issuer(&error) || !self.certificates.iter().any(|known| known == certificate) {
                return Err(error);
            }
            verify_server_name(&ParsedCertificate::try_from(certificate)?, server_name)?;
            Ok(ServerCertVerified::assertion())
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issued
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issued
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.issued.supported_verify_schemes()
    }
}

/// Whether no issuer was found, one of its name did not sign it, or the certificate is a CA's. The certificate's own dates were checked before.
fn is_about_the_issuer(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => true,
        // rustls does not export the type of this error.
        Error::InvalidCertificate(CertificateError::Other(other)) => {
            format!("{other:?}").contains("CaUsedAsEndEntity")
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "bundle_verifier_tests.rs"]
mod tests;
