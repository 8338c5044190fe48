//! A CA: a self-signed certificate, and its key while it may sign.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose, PublicKeyData as _,
    date_time_ymd,
};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, TrustAnchor},
    server::ParsedCertificate,
};

use super::validity::{Validity, add, unix_time};

/// How long a CA is valid. It is replaced after two thirds of it.
pub(super) const AUTHORITY_PERIOD: SignedDuration = SignedDuration::from_hours(3650 * 24);

/// How long before its creation a certificate is valid: clocks of nodes differ.
pub(super) const BACKDATED: SignedDuration = SignedDuration::from_hours(1);

/// A CA certificate. It has no `Debug`, because it may have a key.
#[derive(Clone)]
pub(super) struct Authority {
    pub(super) certificate: CertificateDer<'static>,
    pub(super) validity: Validity,
    /// None if it is trusted only, and signs no more.
    pub(super) key: Option<Arc<KeyPair>>,
    roots: Arc<RootCertStore>,
}

impl Authority {
    /// Generates a CA.
    pub(super) fn generate(now: Timestamp) -> Result<Self, String> {
        let failed = |error: rcgen::Error| format!("cannot generate a CA: {error}");
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = params(&key);
        set_period(&mut params, add(now, -BACKDATED), add(now, AUTHORITY_PERIOD));
        let certificate = params.self_signed(&key).map_err(failed)?.der().clone();
        let authority = Self::read(certificate).ok_or("cannot read the CA that was generated")?;
        Ok(Self {
            key: Some(Arc::new(key)),
            ..authority
        })
    }

    /// Reads a CA certificate, without key; none if it is malformed.
    pub(super) fn read(certificate: CertificateDer<'static>) -> Option<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).ok()?;
        Some(Self {
            validity: Validity::read(&certificate)?,
            certificate,
            key: None,
            roots: Arc::new(roots),
        })
    }

    /// Whether the key is this certificate's, and the certificate was made by [`generate`](Self::generate): its subject follows from the
    /// key, and so does the issuer of what it signs.
    pub(super) fn fits(&self, key: &KeyPair) -> bool {
        let anchor = |roots: &RootCertStore| roots.roots.first().map(TrustAnchor::to_owned);
        let made = params(key)
            .self_signed(key)
            .ok()
            .and_then(|certificate| Self::read(certificate.der().clone()));
        let (Some(own), Some(made)) = (anchor(&self.roots), made.and_then(|made| anchor(&made.roots))) else {
            return false;
        };
        own.subject == made.subject && own.subject_public_key_info == made.subject_public_key_info
    }

    /// Whether it signed a serving certificate.
    pub(super) fn has_signed(&self, certificate: &CertificateDer<'_>) -> bool {
        let (Ok(parsed), Some(validity)) = (
            ParsedCertificate::try_from(certificate),
            Validity::read(certificate),
        ) else {
            return false;
        };
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        rustls::client::verify_server_cert_signed_by_trust_anchor(
            &parsed,
            &self.roots,
            &[],
            unix_time(validity.not_before),
            algorithms.all,
        )
        .is_ok()
    }
}

/// The parameters of the CA with this key. The subject differs between CAs, so that verifiers find the one that signed.
pub(super) fn params(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let digest = ring::digest::digest(&ring::digest::SHA256, key.der_bytes());
    let fingerprint = digest.as_ref()[..8]
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte));
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(
        DnType::CommonName,
        format!("kubewright webhook CA {fingerprint:016x}"),
    );
    params
}

/// Sets the period of validity. rcgen does not publish its type of times.
pub(super) fn set_period(params: &mut CertificateParams, not_before: Timestamp, not_after: Timestamp) {
    let start = date_time_ymd(1970, 1, 1);
    let since = |time: Timestamp| Duration::from_secs(u64::try_from(time.as_second()).unwrap_or_default());
    params.not_before = start + since(not_before);
    params.not_after = start + since(not_after);
}
