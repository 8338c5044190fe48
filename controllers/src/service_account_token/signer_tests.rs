use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};

use super::*;

/// A key in a format, its algorithm, the hash of its public key as openssl computes it, and what verifies its signatures.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static dyn VerificationAlgorithm,
);

/// Made for these tests with openssl.
const RSA_ID: &str = "w_QnO6dOv3rqfw6QBOu0HY1iPeLjYR2oluMJKmo_0Mw";
const P256_ID: &str = "3ULiPO2fNuVsFEmQ9okAiMLK-jGJBEnUFExdAX2isqw";
const P384_ID: &str = "u6Ji4DoRx9F4TcyBItQZ8guJnHJI-Qd79Pn7B1DLld4";

fn cases() -> [Case; 6] {
    [
        (
            include_str!("testdata/rsa-pkcs1.pem"),
            "RS256",
            RSA_ID,
            &RSA_PKCS1_2048_8192_SHA256,
        ),
        (
            include_str!("testdata/rsa-pkcs8.pem"),
            "RS256",
            RSA_ID,
            &RSA_PKCS1_2048_8192_SHA256,
        ),
        (
            include_str!("testdata/prime256v1-sec1.pem"),
            "ES256",
            P256_ID,
            &ECDSA_P256_SHA256_FIXED,
        ),
        (
            include_str!("testdata/prime256v1-pkcs8.pem"),
            "ES256",
            P256_ID,
            &ECDSA_P256_SHA256_FIXED,
        ),
        (
            include_str!("testdata/secp384r1-sec1.pem"),
            "ES384",
            P384_ID,
            &ECDSA_P384_SHA384_FIXED,
        ),
        (
            include_str!("testdata/secp384r1-pkcs8.pem"),
            "ES384",
            P384_ID,
            &ECDSA_P384_SHA384_FIXED,
        ),
    ]
}

#[test]
fn tokens_have_a_valid_signature_and_name_their_key() {
    for (pem, algorithm, key_id, verification) in cases() {
        let signer = TokenSigner::from_pem(pem.as_bytes()).unwrap();
        let token = signer.sign(&json!({"sub": "robot"})).unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let (header, claims) = text.split_once('.').unwrap();
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
        let json = |part: &str| serde_json::from_slice::<Value>(&decode(part)).unwrap();
        assert_eq!(json(header), json!({"alg": algorithm, "kid": key_id}));
        assert_eq!(json(claims), json!({"sub": "robot"}));
        let public = match &signer.key {
            SigningKey::Rsa(pair) => pair.public_key().as_ref().to_vec(),
            SigningKey::Ecdsa(pair, _) => pair.public_key().as_ref().to_vec(),
        };
        let key = UnparsedPublicKey::new(verification, public);
        key.verify(text.as_bytes(), &decode(signature)).unwrap();
        assert!(key.verify(b"another text", &decode(signature)).is_err());
    }
}

#[test]
fn other_files_are_refused_with_the_reason() {
    for (pem, expected) in [
        ("", "no private key in PEM format"),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "cannot sign tokens",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "no private key in PEM format",
        ),
    ] {
        let error = TokenSigner::from_pem(pem.as_bytes()).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn lengths_are_encoded_as_der_has_them() {
    for (length, expected) in [
        (0, &[4, 0][..]),
        (0x7f, &[4, 0x7f]),
        (0x80, &[4, 0x81, 0x80]),
        (0x100, &[4, 0x82, 1, 0]),
    ] {
        let der = tagged(OCTET_STRING, &vec![7; length]);
        assert_eq!(&der[..expected.len()], expected);
        assert_eq!(der.len(), expected.len() + length);
    }
}
