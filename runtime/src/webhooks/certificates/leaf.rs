//! A serving certificate and its key.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::{pki_types::CertificateDer, sign::CertifiedKey};

use super::{
    authority::{self, Authority, BACKDATED, set_period},
    pem::certified_key,
    server_names::ServerNames,
    validity::{Validity, add},
};

/// How long a serving certificate is valid. It is renewed after two thirds of it.
pub(super) const LEAF_PERIOD: SignedDuration = SignedDuration::from_hours(365 * 24);

/// A serving certificate with its key. It has no `Debug`, because of the key.
#[derive(Clone)]
pub(super) struct Leaf {
    pub(super) certified: Arc<CertifiedKey>,
    pub(super) certificate_pem: String,
    pub(super) key_pem: String,
    pub(super) validity: Validity,
}

impl Leaf {
    /// Issues a certificate; it does not outlive its CA.
    pub(super) fn issue(authority: &Authority, names: &ServerNames, now: Timestamp) -> Result<Self, String> {
        let failed = |error: rcgen::Error| format!("cannot issue a serving certificate: {error}");
        let Some(authority_key) = &authority.key else {
            return Err("cannot issue a serving certificate: the CA has no key".to_owned());
        };
        let mut params = CertificateParams::new(names.as_slice()).map_err(failed)?;
        let not_after = add(now, LEAF_PERIOD).min(authority.validity.not_after);
        set_period(&mut params, add(now, -BACKDATED), not_after);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "kubewright webhook server");
        let authority_params = authority::params(authority_key);
        let issuer = Issuer::from_params(&authority_params, authority_key.as_ref());
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
        Self::read(&certificate.pem(), &key.serialize_pem())
    }

    /// Reads a certificate and its key, both in PEM. The error is a message; it does not quote the key.
    pub(super) fn read(certificate_pem: &str, key_pem: &str) -> Result<Self, String> {
        let certified = certified_key(certificate_pem.as_bytes(), key_pem.as_bytes())?;
        let validity = certified.cert.first().and_then(|leaf| Validity::read(leaf));
        Ok(Self {
            certified: Arc::new(certified),
            certificate_pem: certificate_pem.to_owned(),
            key_pem: key_pem.to_owned(),
            validity: validity.ok_or("the TLS certificate has no period of validity")?,
        })
    }

    /// Returns the certificate itself, the first of its chain.
    pub(super) fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.certified.cert.first()
    }
}
