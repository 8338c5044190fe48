//! The key that signs the tokens of service accounts: ECDSA with the curve P-256, which JSON web tokens name `ES256`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use ring::error::Unspecified;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The name of the algorithm in tokens and in the published key.
pub(crate) const ALGORITHM: &str = "ES256";

/// What stands before the point of a P-256 key in the encoding of public keys (RFC 5480, section 2).
const PUBLIC_KEY_HEADER: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The bytes of a coordinate of a point.
const COORDINATE_BYTES: usize = 32;

/// How many verified tokens are remembered.
const MAX_VERIFIED: usize = 10_000;

/// A random key that lives as long as the server.
#[derive(Debug)]
pub(super) struct SigningKey {
    pair: EcdsaKeyPair,
    /// The digests of tokens that were verified: a client sends one token with each request.
    verified: Mutex<HashSet<Vec<u8>>>,
}

impl SigningKey {
    /// Generates a key.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub(super) fn generate() -> Result<Self, Unspecified> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random)
            .map_err(|_| Unspecified)?;
        Ok(Self {
            pair,
            verified: Mutex::default(),
        })
    }

    /// Returns a token with these claims.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub(super) fn sign(&self, claims: &Value) -> Result<String, Unspecified> {
        let header = json!({ "alg": ALGORITHM, "kid": self.id() });
        let text = format!(
            "{}.{}",
            BASE64.encode(header.to_string()),
            BASE64.encode(claims.to_string())
        );
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes())?;
        Ok(format!("{text}.{}", BASE64.encode(signature)))
    }

    /// Returns the claims of a token that this key signed.
    pub(super) fn verify(&self, token: &str) -> Option<Value> {
        let (text, signature) = token.rsplit_once('.')?;
        let id = digest(&SHA256, token.as_bytes()).as_ref().to_vec();
        let is_known = self.verified.lock().contains(&id);
        if !is_known {
            let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key());
            key.verify(text.as_bytes(), &BASE64.decode(signature).ok()?)
                .ok()?;
            let mut verified = self.verified.lock();
            if verified.len() >= MAX_VERIFIED {
                verified.clear();
            }
            verified.insert(id);
        }
        let claims = BASE64.decode(text.split_once('.')?.1).ok()?;
        serde_json::from_slice(&claims).ok()
    }

    /// Returns the public key as a JSON web key (RFC 7517).
    pub(super) fn public_key(&self) -> Value {
        // The first byte says that the point is not compressed.
        let coordinates = self.pair.public_key().as_ref().get(1..).unwrap_or_default();
        let [x, y] = [0, COORDINATE_BYTES].map(|start| {
            let coordinate = coordinates.iter().skip(start).take(COORDINATE_BYTES);
            BASE64.encode(coordinate.copied().collect::<Vec<u8>>())
        });
        json!({ "use": "sig", "kty": "EC", "kid": self.id(), "crv": "P-256", "alg": ALGORITHM, "x": x, "y": y })
    }

    /// Returns the name of the key: the digest of the public key, as kube-apiserver names keys.
    fn id(&self) -> String {
        let encoded = [&PUBLIC_KEY_HEADER, self.pair.public_key().as_ref()].concat();
        BASE64.encode(digest(&SHA256, &encoded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_this_key_alone_are_valid() {
        let key = SigningKey::generate().unwrap();
        let claims = json!({ "sub": "a" });
        let token = key.sign(&claims).unwrap();
        // The second time, the signature is known.
        for _ in 0..2 {
            assert_eq!(key.verify(&token), Some(claims.clone()));
        }
        let other = key.sign(&json!({ "sub": "b" })).unwrap();
        let [parts, others] = [&token, &other].map(|token| token.split('.').collect::<Vec<_>>());
        let mixed = [parts[0], others[1], parts[2]].join(".");
        for invalid in [
            &mixed,
            "a.b.c",
            "",
            &token[..token.len() - 4],
            &parts[..2].join("."),
        ] {
            assert_eq!(key.verify(invalid), None, "{invalid}");
        }
        assert_eq!(SigningKey::generate().unwrap().verify(&token), None);
    }

    #[test]
    fn published_key_verifies_tokens() {
        let key = SigningKey::generate().unwrap();
        let token = key.sign(&json!({})).unwrap();
        let published = key.public_key();
        let part = |name: &str| BASE64.decode(published[name].as_str().unwrap()).unwrap();
        let point = [vec![4], part("x"), part("y")].concat();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let verifier = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        verifier
            .verify(text.as_bytes(), &BASE64.decode(signature).unwrap())
            .unwrap();
        let header = BASE64.decode(token.split('.').next().unwrap()).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        assert_eq!(header, json!({ "alg": "ES256", "kid": published["kid"] }));
    }
}
