//! Reading and writing the Secret's data, with what can be wrong in it.

use jiff::SignedDuration;

use super::*;
use crate::webhooks::certificates::{
    plan::{plan, usable_leaf},
    validity::add,
};

fn names() -> ServerNames {
    ServerNames::of_service("shop", "default")
}

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn days(days: i64) -> Timestamp {
    add(start(), SignedDuration::from_hours(24 * days))
}

/// Plans and applies until nothing is left to do, as a replica that writes the Secret does; returns how often it was written.
fn correct(data: &SecretData, now: Timestamp) -> (SecretData, Vec<String>) {
    let (mut contents, problems) = Contents::read(data);
    for _ in 0..3 {
        let plan = plan(&contents.state(&names()), now, true);
        if plan.is_empty() {
            return (contents.to_data(), problems);
        }
        contents.apply(&plan, &names(), now).unwrap();
    }
    panic!("the plan never ends");
}

fn fresh() -> SecretData {
    correct(&SecretData::new(), start()).0
}

fn text(data: &SecretData, key: &str) -> String {
    String::from_utf8(data[key].0.clone()).unwrap()
}

fn set(data: &mut SecretData, key: &str, value: &str) {
    data.insert(key.to_owned(), ByteString(value.as_bytes().to_vec()));
}

/// Asserts that the data needs no change, and that its certificate can be served.
fn assert_good(data: &SecretData, now: Timestamp) {
    let (contents, problems) = Contents::read(data);
    assert_eq!(problems, Vec::<String>::new());
    let state = contents.state(&names());
    usable_leaf(&state, now).unwrap();
    assert!(plan(&state, now, true).is_empty(), "{state:?}");
    assert_eq!(&contents.to_data(), data, "it is read as it was written");
}

#[test]
fn empty_secret_gets_a_ca_and_a_certificate_with_all_names() {
    let data = fresh();
    assert_good(&data, start());
    assert_eq!(
        data.keys().collect::<Vec<_>>(),
        [BUNDLE, AUTHORITY_KEYS, CERTIFICATE, KEY]
            .map(String::from)
            .iter()
            .collect::<Vec<_>>()
    );
    let (contents, _) = Contents::read(&data);
    let leaf = contents.leaf().unwrap().certificate().unwrap();
    assert_eq!(names().missing_from(leaf), None);
    let other = ServerNames::of_service("shop", "other");
    assert_eq!(other.missing_from(leaf), Some("shop.other.svc"));
    let extra = names().with("127.0.0.1").unwrap();
    assert_eq!(extra.missing_from(leaf), Some("127.0.0.1"));
    assert!(
        names()
            .with("no name")
            .unwrap_err()
            .contains("neither a DNS name nor an IP address")
    );
}

#[test]
fn added_names_get_a_certificate_of_the_same_ca() {
    let (mut contents, _) = Contents::read(&fresh());
    let names = names().with("127.0.0.1").unwrap().with("localhost").unwrap();
    let bundle = contents.bundle();
    let plan = plan(&contents.state(&names), start(), true);
    assert_eq!(
        plan.new_leaf.as_ref().unwrap().1,
        "the serving certificate is not for 127.0.0.1"
    );
    contents.apply(&plan, &names, start()).unwrap();
    assert_eq!(
        names.missing_from(contents.leaf().unwrap().certificate().unwrap()),
        None
    );
    assert_eq!(contents.bundle(), bundle);
}

/// Breaks the data, with that of another operator.
type Break = fn(&mut SecretData, &SecretData);

/// What is wrong, what is logged about it, and whether the CA survives.
#[test]
fn wrong_data_is_named_and_replaced() {
    let good = fresh();
    let foreign = fresh();
    let cases: [(&str, Break, &[&str], bool); 10] = [
        (
            "garbage in tls.crt",
            |data, _| set(data, CERTIFICATE, "garbage"),
            &["tls.crt, tls.key: the TLS certificate has no PEM block CERTIFICATE"],
            true,
        ),
        (
            "broken tls.crt",
            |data, _| {
                set(
                    data,
                    CERTIFICATE,
                    "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
                );
            },
            &["tls.crt, tls.key: the TLS certificate is no valid PEM"],
            true,
        ),
        (
            "no tls.key",
            |data, _| drop(data.remove(KEY)),
            &["tls.crt, tls.key: the TLS key has no PEM block of a private key"],
            true,
        ),
        (
            "foreign tls.key",
            |data, foreign| set(data, KEY, &text(foreign, KEY)),
            &["tls.crt, tls.key: the TLS certificate and its key cannot be used"],
            true,
        ),
        (
            "foreign certificate and key",
            |data, foreign| {
                set(data, CERTIFICATE, &text(foreign, CERTIFICATE));
                set(data, KEY, &text(foreign, KEY));
            },
            &["tls.crt: no CA in ca.crt signed it"],
            true,
        ),
        (
            "foreign ca.crt",
            |data, foreign| set(data, BUNDLE, &text(foreign, BUNDLE)),
            &[
                "ca.key: a key belongs to no CA in ca.crt",
                "tls.crt: no CA in ca.crt signed it",
            ],
            false,
        ),
        (
            "garbage in ca.crt",
            |data, _| set(data, BUNDLE, "garbage"),
            &[
                "ca.crt: it has no PEM block CERTIFICATE",
                "ca.key: a key belongs to no CA in ca.crt",
                "tls.crt: no CA in ca.crt signed it",
            ],
            false,
        ),
        (
            "garbage in ca.key",
            |data, _| set(data, AUTHORITY_KEYS, "garbage"),
            &["ca.key: it has no PEM block PRIVATE KEY"],
            true,
        ),
        (
            "garbage after the CA",
            |data, _| {
                let bundle = text(data, BUNDLE);
                set(data, BUNDLE, &(bundle + "-----BEGIN CERTIFICATE-----\n!\n"));
            },
            &["ca.crt: it is no valid PEM"],
            true,
        ),
        (
            "garbage in retired.crt",
            |data, _| set(data, RETIRED, "garbage"),
            &["retired.crt: it has no PEM block CERTIFICATE"],
            true,
        ),
    ];
    for (name, break_it, expected, keeps_ca) in cases {
        let mut data = good.clone();
        break_it(&mut data, &foreign);
        let (corrected, problems) = correct(&data, start());
        assert_eq!(problems.len(), expected.len(), "{name}: {problems:?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.starts_with(expected), "{name}: {problem}");
            assert!(!problem.contains("PRIVATE KEY-----"), "{name}: {problem}");
        }
        assert_good(&corrected, start());
        let bundle = text(&corrected, BUNDLE);
        assert_eq!(bundle.contains(&text(&good, BUNDLE)), keeps_ca, "{name}");
        assert!(
            !bundle.contains(&text(&foreign, BUNDLE)),
            "{name}: a foreign CA stays trusted"
        );
    }
}

#[test]
fn foreign_ca_in_the_bundle_is_removed() {
    let good = fresh();
    let mut data = good.clone();
    set(
        &mut data,
        BUNDLE,
        &(text(&good, BUNDLE) + &text(&fresh(), BUNDLE)),
    );
    let (corrected, problems) = correct(&data, start());
    assert_eq!((corrected, problems), (good, vec![]));
}

#[test]
fn expired_ca_is_replaced_with_its_certificate() {
    let old = fresh();
    let (corrected, problems) = correct(&old, days(3650));
    assert_eq!(problems, Vec::<String>::new());
    assert_good(&corrected, days(3650));
    assert!(!text(&corrected, BUNDLE).contains(&text(&old, BUNDLE)));
}

#[test]
fn rotation_goes_through_both_cas() {
    let mut data = fresh();
    let mut bundle_sizes = Vec::new();
    for day in (0..2 * 3650).step_by(5) {
        let (contents, problems) = Contents::read(&data);
        assert_eq!(problems, Vec::<String>::new());
        usable_leaf(&contents.state(&names()), days(day)).unwrap();
        let size = text(&data, BUNDLE).matches("BEGIN").count();
        if bundle_sizes.last() != Some(&size) {
            bundle_sizes.push(size);
        }
        let mut contents = contents;
        let plan = plan(&contents.state(&names()), days(day), true);
        if !plan.is_empty() {
            contents.apply(&plan, &names(), days(day)).unwrap();
            data = contents.to_data();
        }
    }
    // In twenty years two rotations, each with both CAs for a while.
    assert_eq!(bundle_sizes, [1, 2, 1, 2, 1]);
}
