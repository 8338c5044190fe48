//! The certificate of the server: given, or generated with a CA.

use super::StartError;
use super::tls_input::TlsInput;
use crate::auth::may_issue;
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::net::IpAddr;

/// A server's certificate with its private key.
#[derive(Clone)]
pub struct ServingCertificate {
    /// The certificate chain, as PEM. If it ends with a CA, the kubeconfig trusts that one.
    pub chain: String,
    /// The private key, as PEM.
    pub key: String,
}

impl ServingCertificate {
    /// Generates a certificate for an address, for `localhost` and for the Service `kubernetes`. A CA signs it and ends the chain. The key
    /// of the CA is not kept.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn generate(address: IpAddr) -> Result<Self, StartError> {
        generate(address).map_err(|error| TlsInput::Certificates.error(error))
    }

    /// Returns the CA at the end of the chain, as PEM; none if there is none.
    pub(super) fn authority(&self) -> Option<&str> {
        const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
        const END: &str = "-----END CERTIFICATE-----";
        let chain = TlsInput::Certificates.certificates(&self.chain).ok()?;
        // A file may also contain the private key.
        let last = &self.chain[self.chain.rfind(BEGIN)?..];
        let end = last.find(END)? + END.len();
        may_issue(chain.last()?, Timestamp::now()).then(|| &last[..end])
    }

    /// Returns the chain and the key.
    pub(super) fn parse(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), StartError> {
        let chain = TlsInput::Certificates.certificates(&self.chain)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(|error| {
            TlsInput::Key.error(match error {
                pem::Error::NoItemsFound => "it contains no private key in PEM".to_owned(),
                error => error.to_string(),
            })
        })?;
        Ok((chain, key))
    }
}

/// Hides the key.
impl fmt::Debug for ServingCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingCertificate")
            .field("chain", &self.chain)
            .finish_non_exhaustive()
    }
}

fn generate(address: IpAddr) -> Result<ServingCertificate, rcgen::Error> {
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
    Ok(ServingCertificate {
        chain: certificate.pem() + &authority_pem,
        key: key.serialize_pem(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authority_is_the_last_certificate_and_never_the_key() {
        let generated = ServingCertificate::generate([127, 0, 0, 1].into()).unwrap();
        let authority = generated.authority().unwrap().to_owned();
        assert!(generated.chain.trim_end().ends_with(&authority));
        let with_key = ServingCertificate {
            chain: format!("{}{}", generated.chain, generated.key),
            key: generated.key.clone(),
        };
        assert_eq!(with_key.authority(), Some(authority.as_str()));
        assert!(with_key.parse().is_ok());
        let own = &generated.chain[..generated.chain.rfind("-----BEGIN").unwrap()];
        let without_authority = ServingCertificate {
            chain: own.to_owned(),
            key: generated.key,
        };
        assert_eq!(without_authority.authority(), None);
    }
}
