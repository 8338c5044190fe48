use super::*;
use ring::signature::ECDSA_P256_SHA256_FIXED;

const RSA_PKCS8: &str = include_str!("testdata/rsa_pkcs8.pem");
const RSA_PKCS1: &str = include_str!("testdata/rsa_pkcs1.pem");
const RSA_PUBLIC: &str = include_str!("testdata/rsa_public.pem");
const RSA_CERTIFICATE: &str = include_str!("testdata/rsa_certificate.pem");
/// What kube-apiserver publishes for this key.
const RSA_JWKS: &str = include_str!("testdata/rsa_jwks.json");
const ECDSA_SEC1: &str = include_str!("testdata/ecdsa_sec1.pem");
const ECDSA_PUBLIC: &str = include_str!("testdata/ecdsa_public.pem");
const P384_SEC1: &str = include_str!("testdata/p384_sec1.pem");
const P384_PKCS8: &str = include_str!("testdata/p384_pkcs8.pem");
const P384_PUBLIC: &str = include_str!("testdata/p384_public.pem");
/// What kube-apiserver publishes for this key.
const P384_JWKS: &str = include_str!("testdata/p384_jwks.json");
/// A key with the curve P-521.
const OTHER_CURVE: &str = include_str!("testdata/other_curve.pem");

#[test]
fn all_forms_of_a_key_are_one_public_key() {
    for (published, forms) in [
        (RSA_JWKS, &[RSA_PKCS8, RSA_PKCS1, RSA_PUBLIC, RSA_CERTIFICATE][..]),
        (P384_JWKS, &[P384_SEC1, P384_PKCS8, P384_PUBLIC]),
    ] {
        let expected: Value = serde_json::from_str(published).unwrap();
        for pem in forms {
            let keys = PublicKey::all_from_pem(pem).unwrap();
            let keys: Vec<Value> = keys.iter().map(PublicKey::to_json).collect();
            assert_eq!(json!({ "keys": keys }), expected, "{pem}");
        }
    }
    let key = PrivateKey::from_pem(ECDSA_SEC1).unwrap();
    assert_eq!(PublicKey::all_from_pem(ECDSA_PUBLIC).unwrap(), [key.public()]);
    let both = PublicKey::all_from_pem(&[RSA_PUBLIC, OTHER_CURVE, ECDSA_PUBLIC].concat()).unwrap();
    assert_eq!(both.len(), 2);
}

#[test]
fn signatures_of_a_key_are_verified_by_its_public_key_alone() {
    let keys = [
        PrivateKey::from_pem(RSA_PKCS8).unwrap(),
        PrivateKey::from_pem(ECDSA_SEC1).unwrap(),
        PrivateKey::from_pem(P384_PKCS8).unwrap(),
        PrivateKey::generate().unwrap(),
    ];
    for (at, key) in keys.iter().enumerate() {
        let signature = key.sign(b"text").unwrap();
        for (other, verifier) in keys.iter().enumerate() {
            assert_eq!(verifier.public().verifies(b"text", &signature), at == other);
        }
        assert!(!key.public().verifies(b"texts", &signature));
        assert!(!key.public().verifies(b"text", &[]));
    }
}

#[test]
fn published_key_verifies_signatures() {
    let key = PrivateKey::generate().unwrap();
    let published = key.public().to_json();
    let part = |name: &str| BASE64.decode(published[name].as_str().unwrap()).unwrap();
    let point = [vec![4], part("x"), part("y")].concat();
    let signature = key.sign(b"text").unwrap();
    let verifier = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
    verifier.verify(b"text", &signature).unwrap();
    assert_eq!(published["alg"], "ES256");
}

#[test]
fn texts_without_a_supported_key_are_refused() {
    let half = &RSA_PKCS8[..RSA_PKCS8.len() / 2];
    for pem in ["", "no key", OTHER_CURVE, half] {
        let message = PrivateKey::from_pem(pem).unwrap_err();
        assert!(
            message.starts_with("it contains no private key in PEM that is RSA with 2,048 bits"),
            "{message}"
        );
        assert!(PublicKey::all_from_pem(pem).is_err());
    }
    // A public key does not sign.
    assert!(PrivateKey::from_pem(RSA_PUBLIC).is_err());
}
