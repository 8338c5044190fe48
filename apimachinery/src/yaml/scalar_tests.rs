use super::ScalarValue::{self, Bool, Float, Integer, Null, Text, Unsigned};
use crate::yaml::parse;
use serde_json::json;

fn value(text: &str) -> ScalarValue {
    ScalarValue::untagged(text)
}

/// As Go's library reads them, seen on kube-apiserver.
#[test]
fn plain_texts_have_values() {
    for (text, expected) in [
        ("", Null),
        ("~", Null),
        ("y", Bool(true)),
        ("No", Bool(false)),
        ("0777", Integer(511)),
        ("-0777", Integer(-511)),
        ("0o777", Integer(511)),
        ("08", Float(8.0)),
        ("0x1F", Integer(31)),
        ("-0x1F", Integer(-31)),
        ("0b11", Integer(3)),
        ("1_000", Integer(1000)),
        ("1__0", Integer(10)),
        ("+1", Integer(1)),
        ("9223372036854775807", Integer(i64::MAX)),
        ("-9223372036854775808", Integer(i64::MIN)),
        ("9223372036854775808", Unsigned(1 << 63)),
        ("18446744073709551616", Float(18_446_744_073_709_551_616.0)),
        (".5", Float(0.5)),
        ("5.", Float(5.0)),
        (".5_0", Float(0.5)),
        ("685_230.15", Float(685_230.15)),
        ("1e3", Float(1000.0)),
        ("-.inf", Float(f64::NEG_INFINITY)),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
    for text in [
        "tRue",
        "nil",
        "0x",
        "0x-5",
        "0b2",
        "_1",
        "1e",
        "e1",
        "1e400",
        "-1e400",
        "1:30",
        "2001-01-01",
        "+inf",
        "-nan",
        "Infinity",
        "0x1.8p1",
        "1,000",
        ".",
        "<<",
        "._1",
        "=",
    ] {
        assert_eq!(value(text), Text(text.to_owned()), "{text}");
    }
}

#[test]
fn tags_choose_the_value() {
    for (text, expected) in [
        ("!!str y", json!("y")),
        ("!!int \"3\"", json!(3)),
        ("!!float 3", json!(3)),
        ("!!bool \"yes\"", json!(true)),
        ("!!null \"\"", json!(null)),
        ("!!binary aGVsbG8=", json!("hello")),
        ("!!timestamp 2001-01-01", json!("2001-01-01")),
        ("!own 1", json!("1")),
        ("!!binary aGVsbG9=", json!("hello")),
        ("'1'", json!("1")),
        ("1.0", json!(1)),
        ("9223372036854775808", json!(9_223_372_036_854_775_808.0)),
        ("-9223372036854775809", json!(-9_223_372_036_854_775_808.0)),
        ("1.234567890123456789e18", json!(1_234_567_890_123_456_800_i64)),
    ] {
        assert_eq!(parse(text).unwrap().value, expected, "{text}");
    }
    for (text, expected) in [
        ("!!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("!!binary x", "yaml: !!binary value contains invalid base64 data"),
        (".inf", "json: unsupported value: +Inf"),
        ("-.inf", "json: unsupported value: -Inf"),
        (".nan", "json: unsupported value: NaN"),
    ] {
        assert_eq!(parse(text).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn keys_are_texts_of_their_values() {
    for (text, expected) in [
        ("y", "true"),
        ("OFF", "false"),
        ("007", "7"),
        ("0x1F", "31"),
        ("1.0", "1"),
        ("685230.15", "685230.1"),
        ("1e18", "1e+18"),
        ("0.1e-7", "1e-08"),
        ("-0.0", "-0"),
        ("+.inf", ".inf"),
        ("'y'", "y"),
        ("!!int \"3\"", "3"),
    ] {
        assert_eq!(
            parse(&format!("{text}: 1")).unwrap().value,
            json!({ expected: 1 }),
            "{text}"
        );
    }
    for (text, expected) in [
        (
            "~",
            "unsupported map key of type: %!s(<nil>), key: <nil>, value: 1",
        ),
        (
            "9223372036854775808",
            "unsupported map key of type: uint64, key: 0x8000000000000000, value: 1",
        ),
    ] {
        assert_eq!(parse(&format!("{text}: 1")).unwrap_err(), expected, "{text}");
    }
}
