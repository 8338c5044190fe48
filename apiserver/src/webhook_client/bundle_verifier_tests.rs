use super::super::ca_bundle::root_certificates;
use super::*;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd,
};
use std::time::Duration;

struct Made {
    der: CertificateDer<'static>,
    pem: String,
}

/// Makes a certificate for `a.dev`, valid in 2026, signed by a CA that is in no bundle, or by itself.
fn made(is_ca: bool, is_self_signed: bool, usage: ExtendedKeyUsagePurpose) -> Made {
    let mut params = CertificateParams::new(vec!["a.dev".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(2027, 1, 1);
    params.extended_key_usages = vec![usage];
    if is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = if is_self_signed {
        params.self_signed(&key).unwrap()
    } else {
        let mut ca = CertificateParams::new(vec![]).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = Issuer::new(ca, KeyPair::generate().unwrap());
        params.signed_by(&key, &issuer).unwrap()
    };
    Made {
        der: certificate.der().clone(),
        pem: certificate.pem(),
    }
}

/// Verifies a server's certificate with a bundle, in the middle of a year.
fn verified(server: &Made, bundle: &str, name: &str, year: u64) -> Result<(), String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = BundleVerifier::new(root_certificates(bundle.as_bytes()).unwrap(), provider).unwrap();
    let now = UnixTime::since_unix_epoch(Duration::from_secs((year - 1970) * 31_557_600 + 15_000_000));
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let outcome = verifier.verify_server_cert(&server.der, &[], &name, &[], now);
    outcome.map(drop).map_err(|error| format!("{error:?}"))
}

#[test]
fn certificate_in_the_bundle_is_trusted_within_its_names_dates_and_usage() {
    use ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
    let other = made(false, true, ServerAuth);
    for (is_ca, is_self_signed) in [(false, false), (false, true), (true, true)] {
        let server = made(is_ca, is_self_signed, ServerAuth);
        let case = format!("CA {is_ca}, self-signed {is_self_signed}");
        assert_eq!(verified(&server, &server.pem, "a.dev", 2026), Ok(()), "{case}");
        let both = format!("{}{}", other.pem, server.pem);
        assert_eq!(verified(&server, &both, "a.dev", 2026), Ok(()), "{case}");
        for (bundle, name, year, expected) in [
            (&server.pem, "b.dev", 2026, "NotValidForName"),
            (&server.pem, "a.dev", 2028, "Expired"),
            (&server.pem, "a.dev", 2024, "NotValidYet"),
            (&other.pem, "a.dev", 2026, ""),
        ] {
            let refused = verified(&server, bundle, name, year).unwrap_err();
            assert!(refused.contains(expected), "{case}, {name} in {year}: {refused}");
        }
    }
    let client = made(false, false, ClientAuth);
    let refused = verified(&client, &client.pem, "a.dev", 2026).unwrap_err();
    assert!(refused.contains("Purpose"), "{refused}");
}
