//! The keys of the tokens of service accounts: RSA, which JSON web tokens name `RS256`, and ECDSA, `ES256` with the curve P-256 and `ES384` with P-384.
//!
//! `kube-apiserver` reads keys with the curve P-521 too. The library that computes signatures here does not have it.

use super::curve::{CURVES, Curve, ECDSA};
use super::der::{
    BIT_STRING, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, algorithm_identifier, content, element,
    integer, take,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::digest::{SHA256, digest};
use ring::error::Unspecified;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents, UnparsedPublicKey,
};
use rustls::pki_types::pem::{PemObject as _, SectionKind};
use serde_json::{Value, json};

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const NULL: &[u8] = &[0x05, 0x00];

/// A key that signs.
#[derive(Debug)]
pub(crate) enum PrivateKey {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair, &'static Curve),
}

/// A key that verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PublicKey {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    Ecdsa { point: Vec<u8>, curve: &'static Curve },
}

impl PrivateKey {
    /// Generates an ECDSA key.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub(super) fn generate() -> Result<Self, Unspecified> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())?;
        ecdsa(|_| document.as_ref().to_vec()).ok_or(Unspecified)
    }

    /// Reads the first key of a PEM text.
    ///
    /// # Errors
    ///
    /// If there is none of a supported type.
    pub(crate) fn from_pem(pem: &str) -> Result<Self, String> {
        let mut sections = sections(pem);
        let key = sections.find_map(|(kind, content)| Self::from_section(kind, &content));
        key.ok_or_else(|| unsupported("private key"))
    }

    fn from_section(kind: SectionKind, content: &[u8]) -> Option<Self> {
        match kind {
            SectionKind::RsaPrivateKey => RsaKeyPair::from_der(content).ok().map(Self::Rsa),
            SectionKind::PrivateKey => {
                let rsa = RsaKeyPair::from_pkcs8(content).ok().map(Self::Rsa);
                rsa.or_else(|| ecdsa(|_| content.to_vec()))
            }
            // The key as PKCS#8, which names the curve.
            SectionKind::EcPrivateKey => ecdsa(|curve| {
                let parts = [
                    integer(&[0]),
                    curve.algorithm_identifier(),
                    element(OCTET_STRING, content),
                ];
                element(SEQUENCE, &parts.concat())
            }),
            _ => None,
        }
    }

    pub(super) fn public(&self) -> PublicKey {
        match self {
            Self::Rsa(pair) => {
                let RsaPublicKeyComponents { n, e } = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                PublicKey::Rsa {
                    modulus: n,
                    exponent: e,
                }
            }
            Self::Ecdsa(pair, curve) => PublicKey::Ecdsa {
                point: pair.public_key().as_ref().to_vec(),
                curve,
            },
        }
    }

    /// Signs a text.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub(super) fn sign(&self, text: &[u8]) -> Result<Vec<u8>, Unspecified> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature)?;
                Ok(signature)
            }
            Self::Ecdsa(pair, _) => Ok(pair.sign(&random, text)?.as_ref().to_vec()),
        }
    }
}

impl PublicKey {
    /// Reads the keys of a PEM text: public keys, and those of private keys and certificates.
    ///
    /// # Errors
    ///
    /// If there is none of a supported type.
    pub(crate) fn all_from_pem(pem: &str) -> Result<Vec<Self>, String> {
        let keys: Vec<Self> = sections(pem)
            .filter_map(|(kind, content)| match kind {
                SectionKind::PublicKey => Self::from_document(&mut content.as_slice()),
                SectionKind::Certificate => Self::from_certificate(&content),
                kind => PrivateKey::from_section(kind, &content).map(|key| key.public()),
            })
            .collect();
        if keys.is_empty() {
            return Err(unsupported("key"));
        }
        Ok(keys)
    }

    /// Reads the public key of a certificate (RFC 5280, section 4.1).
    fn from_certificate(mut document: &[u8]) -> Option<Self> {
        let mut certificate = take(SEQUENCE, &mut document)?;
        let mut fields = take(SEQUENCE, &mut certificate)?;
        // The version may be absent. Then: serial number, signature, issuer, validity, subject.
        let has_version = fields.first() != Some(&INTEGER);
        for _ in 0..5 + usize::from(has_version) {
            content(&mut fields)?;
        }
        Self::from_document(&mut fields)
    }

    /// Reads a SubjectPublicKeyInfo.
    fn from_document(input: &mut &[u8]) -> Option<Self> {
        let mut document = take(SEQUENCE, input)?;
        let mut algorithm = take(SEQUENCE, &mut document)?;
        let name = take(OBJECT_IDENTIFIER, &mut algorithm)?;
        // The first byte is the number of unused bits.
        let (_, mut key) = take(BIT_STRING, &mut document)?.split_first()?;
        if name == RSA {
            let mut parts = take(SEQUENCE, &mut key)?;
            let mut number = || {
                let bytes = take(INTEGER, &mut parts)?;
                Some(bytes.strip_prefix(&[0]).unwrap_or(bytes).to_vec())
            };
            return Some(Self::Rsa {
                modulus: number()?,
                exponent: number()?,
            });
        }
        if name != ECDSA {
            return None;
        }
        let identifier = take(OBJECT_IDENTIFIER, &mut algorithm)?;
        let curve = CURVES.iter().find(|curve| curve.identifier == identifier)?;
        Some(Self::Ecdsa {
            point: key.to_vec(),
            curve,
        })
    }

    /// Returns the SubjectPublicKeyInfo.
    fn document(&self) -> Vec<u8> {
        let (identifier, key) = match self {
            Self::Rsa { modulus, exponent } => {
                let numbers = [integer(modulus), integer(exponent)].concat();
                (algorithm_identifier(RSA, NULL), element(SEQUENCE, &numbers))
            }
            Self::Ecdsa { point, curve } => (curve.algorithm_identifier(), point.clone()),
        };
        let key = element(BIT_STRING, &[vec![0], key].concat());
        element(SEQUENCE, &[identifier, key].concat())
    }

    /// Returns the name of the key: the digest of its document, as kube-apiserver names keys.
    pub(super) fn id(&self) -> String {
        BASE64.encode(digest(&SHA256, &self.document()))
    }

    /// Returns the name of the algorithm in tokens and in the published key.
    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa { .. } => "RS256",
            Self::Ecdsa { curve, .. } => curve.algorithm,
        }
    }

    pub(super) fn verifies(&self, text: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::Rsa { modulus, exponent } => {
                let key = RsaPublicKeyComponents {
                    n: modulus,
                    e: exponent,
                };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, text, signature)
            }
            Self::Ecdsa { point, curve } => {
                UnparsedPublicKey::new(curve.verification, point).verify(text, signature)
            }
        };
        verified.is_ok()
    }

    /// Returns the key as a JSON web key (RFC 7517).
    pub(super) fn to_json(&self) -> Value {
        let mut key = json!({ "use": "sig", "kid": self.id(), "alg": self.algorithm() });
        let parts = match self {
            Self::Rsa { modulus, exponent } => {
                vec![
                    ("kty", "RSA".to_owned()),
                    ("n", BASE64.encode(modulus)),
                    ("e", BASE64.encode(exponent)),
                ]
            }
            Self::Ecdsa { point, curve } => {
                // The first byte says that the point is not compressed.
                let (x, y) = point
                    .get(1..)
                    .unwrap_or_default()
                    .split_at_checked(curve.coordinate_bytes)
                    .unwrap_or_default();
                vec![
                    ("kty", "EC".to_owned()),
                    ("crv", curve.name.to_owned()),
                    ("x", BASE64.encode(x)),
                    ("y", BASE64.encode(y)),
                ]
            }
        };
        for (name, part) in parts {
            key[name] = part.into();
        }
        key
    }
}

/// Reads a key whose curve is not known; the function returns the document that it would be with a curve.
fn ecdsa(document: impl Fn(&Curve) -> Vec<u8>) -> Option<PrivateKey> {
    CURVES.iter().find_map(|curve| {
        let pair = EcdsaKeyPair::from_pkcs8(curve.signing, &document(curve), &SystemRandom::new());
        Some(PrivateKey::Ecdsa(pair.ok()?, curve))
    })
}

/// Returns the sections of a PEM text, until one that is malformed.
fn sections(pem: &str) -> impl Iterator<Item = (SectionKind, Vec<u8>)> {
    <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.as_bytes()).map_while(Result::ok)
}

fn unsupported(what: &str) -> String {
    format!(
        "it contains no {what} in PEM that is RSA with 2,048 bits or more, or ECDSA with the curve P-256 or P-384"
    )
}

#[cfg(test)]
#[path = "token_keys_tests.rs"]
mod tests;
