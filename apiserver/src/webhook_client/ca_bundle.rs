//! The certificates of a `caBundle`, read as Go's TLS client reads them.

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{PemObject as _, SectionKind};

/// The certificates of a bundle.
pub(crate) struct BundleCertificates {
    /// As issuers.
    pub(super) store: RootCertStore,
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

/// Returns the certificates of a PEM bundle. One that cannot be parsed is ignored beside one that can.
///
/// # Errors
/// client-go's message, if the bundle is not empty and has no valid certificate.
pub(crate) fn root_certificates(ca_bundle: &[u8]) -> Result<BundleCertificates, String> {
    let mut store = RootCertStore::empty();
    let mut certificates = vec![];
    let mut failure = "unable to parse bytes as PEM block";
    for block in <(SectionKind, Vec<u8>)>::pem_slice_iter(ca_bundle) {
        // The iterator ends at text that is not PEM, as Go's decoder does.
        let Ok((kind, content)) = block else { break };
        failure = match kind {
            SectionKind::Certificate => {
                let certificate = CertificateDer::from(content);
                // An invalid one counts only where no other is valid.
                if store.add(certificate.clone()).is_ok() {
                    certificates.push(certificate);
                }
                "failed to parse certificate: x509: malformed certificate"
            }
            _ => "no valid certificate authority data seen",
        };
    }
    if store.is_empty() && !ca_bundle.is_empty() {
        return Err(format!("unable to load root certificates: {failure}"));
    }
    Ok(BundleCertificates { store, certificates })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_valid_with_one_certificate() {
        let certificate = rcgen::generate_simple_self_signed(["a.dev".to_owned()])
            .unwrap()
            .cert
            .pem();
        let malformed = "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n";
        let not_pem = "unable to load root certificates: unable to parse bytes as PEM block";
        let not_x509 =
            "unable to load root certificates: failed to parse certificate: x509: malformed certificate";
        let no_certificate = "unable to load root certificates: no valid certificate authority data seen";
        let table = [
            (String::new(), Ok(0)),
            (certificate.clone(), Ok(1)),
            (format!("a comment\n{certificate}{certificate}"), Ok(2)),
            (format!("{malformed}{certificate}"), Ok(1)),
            (" \n".to_owned(), Err(not_pem.to_owned())),
            ("not a certificate".to_owned(), Err(not_pem.to_owned())),
            (malformed.to_owned(), Err(not_x509.to_owned())),
            (
                malformed.replace("CERTIFICATE", "PRIVATE KEY"),
                Err(no_certificate.to_owned()),
            ),
        ];
        for (bundle, expected) in table {
            let found = root_certificates(bundle.as_bytes()).map(|roots| roots.store.len());
            assert_eq!(found, expected, "{bundle}");
        }
    }
}
