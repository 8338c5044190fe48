use super::*;

fn decode(code: u16, retry_after: Option<&'static str>, body: &str) -> Status {
    let headers = retry_after.map(|value| (RETRY_AFTER, value.parse().unwrap()));
    decode_error_response(
        StatusCode::from_u16(code).unwrap(),
        &headers.into_iter().collect(),
        body.as_bytes(),
    )
}

#[test]
fn status_of_the_body_is_kept() {
    let status = decode(
        410,
        None,
        r#"{"kind":"Status","reason":"Expired","message":"too old","code":410}"#,
    );
    assert_eq!(
        (status.code, &*status.reason, &*status.message),
        (410, "Expired", "too old")
    );
    let status = decode(403, None, r#"{"kind":"Status","reason":"Forbidden"}"#);
    assert_eq!(
        (status.code, &*status.reason),
        (403, "Forbidden"),
        "the HTTP code"
    );
}

#[test]
fn other_bodies_are_quoted_with_the_http_code() {
    let long = "x".repeat(1000);
    for (body, excerpt) in [
        ("404 page not found\n", "404 page not found"),
        ("{}", "{}"),
        ("{", "{"),
        ("", ""),
        (&*long, &long[..200]),
    ] {
        let status = decode(502, None, body);
        assert_eq!((status.code, &*status.reason), (502, ""), "{body}");
        assert_eq!(
            status.message,
            format!("the response body is not a Kubernetes Status: {excerpt:?}")
        );
    }
}

#[test]
fn longer_retry_after_of_header_and_body_counts() {
    let body = r#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":7}}"#;
    for (header, body, expected) in [
        (None, body, Some(7)),
        (Some("3"), body, Some(7)),
        (Some(" 9 "), body, Some(9)),
        (Some("9"), "", Some(9)),
        (Some("Wed, 21 Oct 2026 07:28:00 GMT"), body, Some(7)),
        (Some("-1"), "", None),
        (None, "", None),
    ] {
        let delay = retry_after::retry_after(&decode(429, header, body));
        assert_eq!(delay.map(|delay| delay.as_secs()), expected, "{header:?} {body}");
    }
}
