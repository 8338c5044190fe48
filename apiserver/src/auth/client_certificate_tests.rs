//! Tests of client certificates.

use super::*;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

#[test]
fn user_is_read_from_the_subject() {
    let mut parameters = CertificateParams::new(vec![]).unwrap();
    parameters.distinguished_name.push(DnType::CommonName, "alice");
    parameters
        .distinguished_name
        .push(DnType::OrganizationName, "devs");
    let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
    let der = certificate.der();
    let alice = user_from_certificate(der).unwrap();
    assert_eq!(
        (alice.name.as_str(), alice.groups),
        ("alice", vec!["devs".to_owned()])
    );
    for end in 0..der.len() {
        assert_eq!(user_from_certificate(&der[..end]), None);
    }
}

#[test]
fn only_valid_authorities_may_issue() {
    let now: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
    let check = |is_ca: IsCa, usages: &[KeyUsagePurpose], years: (i32, i32)| {
        // Without a last date, certificates end with the year 9999.
        let end = if years.1 == 9999 { (12, 31) } else { (1, 1) };
        let mut parameters = CertificateParams::new(vec![]).unwrap();
        parameters.is_ca = is_ca;
        parameters.key_usages = usages.to_vec();
        parameters.not_before = date_time_ymd(years.0, 1, 1);
        parameters.not_after = date_time_ymd(years.1, end.0, end.1);
        let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
        for end in 0..certificate.der().len() {
            assert!(!may_issue(&certificate.der()[..end], now));
        }
        may_issue(certificate.der(), now)
    };
    let ca = || IsCa::Ca(BasicConstraints::Unconstrained);
    let signs = KeyUsagePurpose::KeyCertSign;
    assert!(check(ca(), &[], (2020, 2031)));
    assert!(check(ca(), &[], (2020, 9999)));
    assert!(check(ca(), std::slice::from_ref(&signs), (1990, 2060)));
    assert!(check(
        ca(),
        &[KeyUsagePurpose::DigitalSignature, signs],
        (2020, 2031)
    ));
    assert!(!check(ca(), &[KeyUsagePurpose::DigitalSignature], (2020, 2031)));
    assert!(!check(ca(), &[], (2020, 2029)), "expired");
    assert!(!check(ca(), &[], (2031, 2040)), "not valid yet");
    assert!(!check(IsCa::NoCa, &[], (2020, 2031)));
    assert!(!check(IsCa::ExplicitNoCa, &[], (2020, 2031)));
}
#[test]
fn only_valid_certificates_for_clients_may_identify() {
    let now: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
    let check = |years: (i32, i32), change: &dyn Fn(&mut CertificateParams)| {
        let mut parameters = CertificateParams::new(vec!["alice.dev".to_owned()]).unwrap();
        parameters.not_before = date_time_ymd(years.0, 1, 1);
        parameters.not_after = date_time_ymd(years.1, 1, 1);
        change(&mut parameters);
        let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
        for end in 0..certificate.der().len() {
            assert!(!may_identify(&certificate.der()[..end], now));
        }
        may_identify(certificate.der(), now)
    };
    let usages = |usages: &[ExtendedKeyUsagePurpose]| {
        check((2020, 2031), &|parameters| {
            parameters.extended_key_usages = usages.to_vec();
        })
    };
    let with_extension = |oid: &[u64], is_critical: bool, content: &[u8]| {
        let mut extension = CustomExtension::from_oid_content(oid, content.to_vec());
        extension.set_criticality(is_critical);
        check((2020, 2031), &|parameters| {
            parameters.custom_extensions.push(extension.clone());
        })
    };
    let (client, server) = (
        ExtendedKeyUsagePurpose::ClientAuth,
        ExtendedKeyUsagePurpose::ServerAuth,
    );
    assert!(usages(&[]));
    assert!(usages(std::slice::from_ref(&client)));
    assert!(usages(&[server.clone(), client]));
    assert!(usages(&[ExtendedKeyUsagePurpose::Any]));
    assert!(!usages(&[server]));
    assert!(!check((2020, 2029), &|_| ()), "expired");
    assert!(!check((2031, 2040), &|_| ()), "not valid yet");
    assert!(check((2020, 2031), &|parameters| {
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    }));
    // A sequence without usages, one that is cut, inhibitAnyPolicy, and an extension that nobody knows.
    assert!(with_extension(&[2, 5, 29, 37], false, &[0x30, 0]));
    assert!(!with_extension(&[2, 5, 29, 37], false, &[0x30, 9, 6]));
    assert!(with_extension(&[2, 5, 29, 54], true, &[2, 1, 0]));
    assert!(with_extension(&[1, 2, 3], false, &[5, 0]));
    assert!(!with_extension(&[1, 2, 3], true, &[5, 0]));
    assert!(!with_extension(&[2, 5, 29, 54, 1], true, &[5, 0]));
}
