//! Signs service account tokens: JSON web tokens with RS256, ES256 or ES384.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use rustls_pki_types::{PrivateKeyDer, pem::PemObject as _};
use serde_json::{Value, json};

/// A private key that signs tokens.
pub(super) struct TokenSigner {
    key: SigningKey,
    /// The hash of the public key, by which API servers find it.
    key_id: String,
}

/// A file that has no key with which tokens can be signed.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidKey {
    /// The file is not a PEM file with a private key.
    #[error("it has no private key in PEM format: {0}")]
    Pem(String),
    /// The key is of another type, or damaged.
    #[error(
        "its key cannot sign tokens: use an RSA key of at least 2048 bits, or an ECDSA key on P-256 or P-384 ({0})"
    )]
    Key(String),
}

enum SigningKey {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair, Curve),
}

/// An elliptic curve.
#[derive(Clone, Copy)]
struct Curve {
    jwt_algorithm: &'static str,
    signing: &'static EcdsaSigningAlgorithm,
    /// The DER of the algorithm identifier: ecPublicKey, and the curve.
    identifier: &'static [u8],
}

const P256: Curve = Curve {
    jwt_algorithm: "ES256",
    signing: &ECDSA_P256_SHA256_FIXED_SIGNING,
    identifier: &[
        0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
        0x3d, 0x03, 0x01, 0x07,
    ],
};

const P384: Curve = Curve {
    jwt_algorithm: "ES384",
    signing: &ECDSA_P384_SHA384_FIXED_SIGNING,
    identifier: &[
        0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00,
        0x22,
    ],
};

/// The DER of the algorithm identifier of RSA keys.
const RSA_IDENTIFIER: &[u8] = &[
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;

impl TokenSigner {
    /// Reads a private key from a PEM file: PKCS#1, SEC1 or PKCS#8.
    pub(super) fn from_pem(pem: &[u8]) -> Result<Self, InvalidKey> {
        let der = PrivateKeyDer::from_pem_slice(pem).map_err(|error| InvalidKey::Pem(error.to_string()))?;
        let key = match &der {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()).map(SigningKey::Rsa),
            PrivateKeyDer::Sec1(der) => ecdsa(|curve| sec1_as_pkcs8(der.secret_sec1_der(), curve)),
            PrivateKeyDer::Pkcs8(der) => {
                let der = der.secret_pkcs8_der();
                RsaKeyPair::from_pkcs8(der)
                    .map(SigningKey::Rsa)
                    .or_else(|rsa| ecdsa(|_| der.to_vec()).map_err(|_| rsa))
            }
            _ => return Err(InvalidKey::Key("unknown format".to_owned())),
        };
        let key = key.map_err(|error| InvalidKey::Key(error.to_string()))?;
        let key_id = URL_SAFE_NO_PAD.encode(digest(&SHA256, &key.public_key_info()));
        Ok(Self { key, key_id })
    }

    /// Signs claims. Fails only if the system has no random numbers.
    pub(super) fn sign(&self, claims: &Value) -> Result<String, ring::error::Unspecified> {
        let header = json!({"alg": self.key.jwt_algorithm(), "kid": self.key_id});
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.key.sign(text.as_bytes())?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

impl SigningKey {
    fn jwt_algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::Ecdsa(_, curve) => curve.jwt_algorithm,
        }
    }

    /// The DER of the public key as `SubjectPublicKeyInfo`.
    fn public_key_info(&self) -> Vec<u8> {
        let (identifier, public) = match self {
            Self::Rsa(pair) => (RSA_IDENTIFIER, pair.public_key().as_ref()),
            Self::Ecdsa(pair, curve) => (curve.identifier, pair.public_key().as_ref()),
        };
        // No bits of the last byte are unused.
        let bits = tagged(BIT_STRING, &[&[0], public].concat());
        tagged(SEQUENCE, &[identifier, &bits].concat())
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, ring::error::Unspecified> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)?;
                Ok(signature)
            }
            Self::Ecdsa(pair, _) => Ok(pair.sign(&random, message)?.as_ref().to_vec()),
        }
    }
}

/// Tries both curves; `pkcs8` returns the key's DER for one of them.
fn ecdsa(pkcs8: impl Fn(Curve) -> Vec<u8>) -> Result<SigningKey, ring::error::KeyRejected> {
    let random = SystemRandom::new();
    let pair = |curve: Curve| {
        let pair = EcdsaKeyPair::from_pkcs8(curve.signing, &pkcs8(curve), &random)?;
        Ok(SigningKey::Ecdsa(pair, curve))
    };
    pair(P256).or_else(|_| pair(P384))
}

/// Wraps a SEC1 key as PKCS#8, which names the curve.
fn sec1_as_pkcs8(sec1: &[u8], curve: Curve) -> Vec<u8> {
    let version = [0x02, 0x01, 0x00];
    let key = tagged(OCTET_STRING, sec1);
    tagged(SEQUENCE, &[&version, curve.identifier, &key].concat())
}

/// A DER value: its tag, its length, and the content.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut der = vec![tag];
    let length = content.len().to_be_bytes();
    let significant = &length[length
        .iter()
        .take_while(|byte| **byte == 0)
        .count()
        .min(length.len() - 1)..];
    match significant {
        [short] if *short < 0x80 => der.push(*short),
        long => {
            der.push(0x80 | u8::try_from(long.len()).unwrap_or(u8::MAX));
            der.extend_from_slice(long);
        }
    }
    der.extend_from_slice(content);
    der
}

#[cfg(test)]
#[path = "signer_tests.rs"]
mod tests;
