//! Certificate chain and key in PEM, as TLS uses them.

use rustls::{
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    sign::CertifiedKey,
};

/// Reads a certificate chain and its key, both in PEM. The error is a message; it does not quote the key.
pub(crate) fn certified_key(certificates: &[u8], key: &[u8]) -> Result<CertifiedKey, String> {
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("the TLS certificate is no valid PEM: {error}"))?;
    if certificates.is_empty() {
        return Err("the TLS certificate has no PEM block CERTIFICATE".to_owned());
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| format!("the TLS key has no PEM block of a private key: {error}"))?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(certificates, key, &provider)
        .map_err(|error| format!("the TLS certificate and its key cannot be used: {error}"))
}
