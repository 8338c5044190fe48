//! Verification of the API server's client certificate.

use std::{path::Path, sync::Arc};

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};

/// Requires a client certificate that one of the CAs in a PEM file signed; without a file, none is required. The error is a message.
///
/// An API server sends a client certificate to webhooks only if its admission configuration names one.
pub(crate) fn client_verifier(file: Option<&Path>) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let Some(file) = file else {
        return Ok(WebPkiClientVerifier::no_client_auth());
    };
    let failed = |reason: String| format!("--webhook-client-ca-file {}: {reason}", file.display());
    let certificates = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
    signed_by(&certificates).map_err(failed)
}

fn signed_by(certificates: &[u8]) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(certificates) {
        let certificate = certificate.map_err(|error| format!("the client CA is no valid PEM: {error}"))?;
        roots
            .add(certificate)
            .map_err(|error| format!("the client CA has a certificate that cannot be used: {error}"))?;
    }
    if roots.is_empty() {
        return Err("the client CA has no PEM block CERTIFICATE".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| format!("the client CA cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    };
    use rustls::pki_types::UnixTime;

    use super::*;

    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    #[test]
    fn only_certificates_of_the_ca_are_accepted() {
        let (own, foreign) = (authority(), authority());
        let verifier = signed_by(own.pem().as_bytes()).unwrap();
        assert!(verifier.client_auth_mandatory());
        let accepts = |issuer| {
            let mut params = CertificateParams::default();
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            let certificate = params.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap();
            verifier
                .verify_client_cert(certificate.der(), &[], UnixTime::now())
                .is_ok()
        };
        assert!(accepts(&own) && !accepts(&foreign));
    }

    #[test]
    fn unreadable_file_is_named() {
        assert!(!client_verifier(None).unwrap().offer_client_auth());
        let error = client_verifier(Some(Path::new("/no/such/ca.pem"))).err().unwrap();
        assert!(
            error.starts_with("--webhook-client-ca-file /no/such/ca.pem: No such file"),
            "{error}"
        );
    }

    #[test]
    fn mistakes_are_named() {
        let message = |pem: &str| signed_by(pem.as_bytes()).err().unwrap();
        assert_eq!(message("garbage"), "the client CA has no PEM block CERTIFICATE");
        let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
        assert!(message(broken).starts_with("the client CA is no valid PEM"));
        let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(message(no_certificate).starts_with("the client CA has a certificate that cannot be used"));
    }
}
