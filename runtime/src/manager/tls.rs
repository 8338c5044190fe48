//! TLS of the manager's servers.

use std::sync::Arc;

use rustls::{ServerConfig, server::ResolvesServerCert, sign::SingleCertAndKey};
use tokio_rustls::TlsAcceptor;

use crate::webhooks::certificates::{ServerNames, certified_key};

/// Makes an acceptor from a certificate chain and its key, in PEM. The error is a message.
pub(super) fn acceptor(certificates: &[u8], key: &[u8]) -> Result<TlsAcceptor, String> {
    acceptor_with(resolver(certificates, key)?)
}

/// Makes an acceptor that gets its certificate from `certificate` in each handshake. The error is a message.
pub(super) fn acceptor_with(certificate: Arc<dyn ResolvesServerCert>) -> Result<TlsAcceptor, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Makes a certificate of servers from a certificate chain and its key, in PEM. The error is a message.
pub(super) fn resolver(certificates: &[u8], key: &[u8]) -> Result<Arc<dyn ResolvesServerCert>, String> {
    Ok(Arc::new(SingleCertAndKey::from(certified_key(
        certificates,
        key,
    )?)))
}

/// Makes a self-signed certificate for an operator's metrics, of which a client can verify nothing: it only encrypts. The error is a message.
pub(super) fn self_signed(names: &ServerNames) -> Result<Arc<dyn ResolvesServerCert>, String> {
    let generated = rcgen::generate_simple_self_signed(names.as_slice())
        .map_err(|error| format!("cannot make a certificate for the metrics: {error}"))?;
    let (certificate, key) = (generated.cert.pem(), generated.signing_key.serialize_pem());
    resolver(certificate.as_bytes(), key.as_bytes())
}

#[cfg(test)]
mod tests {
    use rcgen::generate_simple_self_signed;
    use rustls::{
        ClientConfig, RootCertStore,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    };
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_rustls::TlsConnector;

    use super::*;

    fn self_signed() -> (String, String) {
        let rcgen::CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (cert.pem(), signing_key.serialize_pem())
    }

    #[tokio::test]
    async fn connections_are_encrypted_with_the_certificate() {
        let (certificate, key) = self_signed();
        let acceptor = acceptor(certificate.as_bytes(), key.as_bytes()).unwrap();
        let (client, server) = tokio::io::duplex(1 << 14);
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        let name = ServerName::try_from("localhost").unwrap();
        let (accepted, connected) = tokio::join!(acceptor.accept(server), connector.connect(name, client));
        let (mut server, mut client) = (accepted.unwrap(), connected.unwrap());
        client.write_all(b"hello").await.unwrap();
        client.shutdown().await.unwrap();
        let mut text = String::new();
        server.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn mistakes_are_named() {
        let (certificate, key) = self_signed();
        let message =
            |certificate: &str, key: &str| acceptor(certificate.as_bytes(), key.as_bytes()).err().unwrap();
        let cases = [
            (
                message("", &key),
                "the TLS certificate has no PEM block CERTIFICATE",
            ),
            (
                message(&certificate, ""),
                "the TLS key has no PEM block of a private key",
            ),
            (
                message(&certificate, &self_signed().1),
                "the TLS certificate and its key cannot be used",
            ),
            (
                message(
                    "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
                    &key,
                ),
                "the TLS certificate is no valid PEM",
            ),
        ];
        for (found, expected) in cases {
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
