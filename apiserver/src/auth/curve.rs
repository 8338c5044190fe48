//! The elliptic curves of keys that sign tokens.

use super::der::{OBJECT_IDENTIFIER, algorithm_identifier, element};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED,
    ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaSigningAlgorithm, EcdsaVerificationAlgorithm,
};

/// The name of keys with a curve.
pub(super) const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// An elliptic curve, with the hash that JSON web tokens use with it.
#[derive(Debug)]
pub(crate) struct Curve {
    pub(super) name: &'static str,
    /// The name of its signatures in tokens and published keys.
    pub(super) algorithm: &'static str,
    pub(super) identifier: &'static [u8],
    /// The bytes of a coordinate of a point.
    pub(super) coordinate_bytes: usize,
    pub(super) signing: &'static EcdsaSigningAlgorithm,
    pub(super) verification: &'static EcdsaVerificationAlgorithm,
}

/// The supported curves.
pub(super) static CURVES: [Curve; 2] = [
    Curve {
        name: "P-256",
        algorithm: "ES256",
        identifier: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
        coordinate_bytes: 32,
        signing: &ECDSA_P256_SHA256_FIXED_SIGNING,
        verification: &ECDSA_P256_SHA256_FIXED,
    },
    Curve {
        name: "P-384",
        algorithm: "ES384",
        identifier: &[0x2b, 0x81, 0x04, 0x00, 0x22],
        coordinate_bytes: 48,
        signing: &ECDSA_P384_SHA384_FIXED_SIGNING,
        verification: &ECDSA_P384_SHA384_FIXED,
    },
];

impl Curve {
    /// Returns the AlgorithmIdentifier of the keys with this curve.
    pub(super) fn algorithm_identifier(&self) -> Vec<u8> {
        algorithm_identifier(ECDSA, &element(OBJECT_IDENTIFIER, self.identifier))
    }
}

impl PartialEq for Curve {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Curve {}
