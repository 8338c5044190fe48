use super::super::token_keys::PrivateKey;
use super::*;
use crate::auth::token_claims::NODE_NAME_EXTRA;
use std::collections::BTreeMap;

const CREDENTIAL_ID_EXTRA: &str = "authentication.kubernetes.io/credential-id";

fn tokens_of(options: TokenOptions) -> ServiceAccountTokens {
    ServiceAccountTokens::new(options).unwrap()
}

/// Verifies a token for the API.
fn verify(tokens: &ServiceAccountTokens, store: &Store, token: &str) -> Result<User, String> {
    let verified = tokens.verify(store, token, tokens.audiences())?;
    Ok(verified.user)
}

#[test]
fn token_is_valid_while_account_and_bound_object_exist() {
    let store = Store::default();
    let account = json!({ "metadata": { "name": "op", "namespace": "n", "uid": "1" } });
    let stored = store.create("serviceaccounts", "n/op", account.clone()).unwrap();
    let tokens = tokens_of(TokenOptions::default());
    let api = tokens.audiences().to_vec();
    let token = tokens.issue(&store, &account, &api, 60, None).unwrap().token;
    assert_eq!(
        verify(&tokens, &store, &token).unwrap().name,
        "system:serviceaccount:n:op"
    );
    let expired = tokens.issue(&store, &account, &api, -60, None).unwrap().token;
    assert_eq!(
        verify(&tokens, &store, &expired).unwrap_err(),
        "[invalid bearer token, service account token has expired]"
    );
    let other = tokens_of(TokenOptions::default());
    assert_eq!(
        verify(&other, &store, &token).unwrap_err(),
        "[invalid bearer token, invalid signature, no keys found]"
    );
    assert_eq!(
        verify(&tokens, &store, "a.b.c").unwrap_err(),
        "invalid bearer token"
    );
    let secret = json!({ "kind": "Secret", "metadata": { "name": "s", "namespace": "n", "uid": "2" } });
    let bound = tokens
        .issue(&store, &account, &api, 60, Some(&secret))
        .unwrap()
        .token;
    assert_eq!(
        verify(&tokens, &store, &bound).unwrap_err(),
        "[invalid bearer token, service account token has been invalidated]"
    );
    let stored_secret = store.create("secrets", "n/s", secret).unwrap();
    assert!(verify(&tokens, &store, &bound).is_ok());
    store.delete("secrets", "n/s", &stored_secret).unwrap();
    assert!(verify(&tokens, &store, &bound).is_err());
    let pod = json!({
        "kind": "Pod", "metadata": { "name": "p", "namespace": "n", "uid": "3" }, "spec": { "nodeName": "gone" },
    });
    store.create("pods", "n/p", pod.clone()).unwrap();
    let bound = tokens
        .issue(&store, &account, &api, 60, Some(&pod))
        .unwrap()
        .token;
    let mut extra = verify(&tokens, &store, &bound).unwrap().extra;
    assert!(extra.remove(CREDENTIAL_ID_EXTRA).unwrap()[0].starts_with("JTI="));
    let one = |key: &str, value: &str| (key.to_owned(), vec![value.to_owned()]);
    let [pod_name, pod_uid] = ["name", "uid"].map(|part| format!("authentication.kubernetes.io/pod-{part}"));
    let expected = [
        one(NODE_NAME_EXTRA, "gone"),
        one(&pod_name, "p"),
        one(&pod_uid, "3"),
    ];
    assert_eq!(extra, BTreeMap::from(expected));
    let extended = tokens
        .issue(&store, &account, &api, EXTENDED_LIFETIME, Some(&pod))
        .unwrap()
        .token;
    let claims = BASE64.decode(extended.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    let start = claims["iat"].as_i64().unwrap();
    assert_eq!(claims["exp"], start + EXTENSION);
    assert_eq!(claims["kubernetes.io"]["warnafter"], start + EXTENDED_LIFETIME);
    store.delete("serviceaccounts", "n/op", &stored).unwrap();
    let gone = r#"[invalid bearer token, serviceaccounts "op" not found]"#;
    assert_eq!(verify(&tokens, &store, &token).unwrap_err(), gone);
}

/// The account `op` of the namespace `n`, which is stored.
fn stored_account(store: &Store) -> Value {
    let account = json!({ "metadata": { "name": "op", "namespace": "n", "uid": "1" } });
    store.create("serviceaccounts", "n/op", account.clone()).unwrap();
    account
}

#[test]
fn token_is_valid_for_its_audiences_alone() {
    let texts = |values: &[&str]| {
        values
            .iter()
            .map(|value| (*value).to_owned())
            .collect::<Vec<String>>()
    };
    let store = Store::default();
    let account = stored_account(&store);
    let tokens = tokens_of(TokenOptions {
        issuers: texts(&["https://new", "https://old"]),
        ..TokenOptions::default()
    });
    // The audiences of the API are the issuers.
    assert_eq!(tokens.audiences(), ["https://new", "https://old"]);
    let token = tokens
        .issue(&store, &account, &texts(&["vault", "https://old"]), 60, None)
        .unwrap()
        .token;
    for (asked, shared) in [
        (&["vault"][..], &["vault"][..]),
        (&["https://old", "x", "vault"], &["https://old", "vault"]),
        (&["https://new", "https://old"], &["https://old"]),
    ] {
        let verified = tokens.verify(&store, &token, &texts(asked)).unwrap();
        assert_eq!(verified.audiences, shared, "{asked:?}");
    }
    let other = tokens
        .issue(&store, &account, &texts(&["vault"]), 60, None)
        .unwrap()
        .token;
    let why =
        r#"token audiences ["vault"] is invalid for the target audiences ["https://new" "https://old"]"#;
    assert_eq!(
        verify(&tokens, &store, &other).unwrap_err(),
        format!("[invalid bearer token, {why}]")
    );
}

#[test]
fn changed_tokens_and_those_of_other_issuers_are_invalid() {
    let store = Store::default();
    let account = stored_account(&store);
    let key = || PrivateKey::generate().unwrap();
    let tokens = tokens_of(TokenOptions::default());
    let api = tokens.audiences().to_vec();
    let [first, second] =
        [60, 61].map(|seconds| tokens.issue(&store, &account, &api, seconds, None).unwrap().token);
    // The second time, the signature is known.
    for _ in 0..2 {
        assert!(verify(&tokens, &store, &first).is_ok());
    }
    let parts: Vec<&str> = first.split('.').collect();
    let others: Vec<&str> = second.split('.').collect();
    let mixed = [parts[0], others[1], parts[2]].join(".");
    let cryptographic = "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]";
    assert_eq!(verify(&tokens, &store, &mixed).unwrap_err(), cryptographic);
    for malformed in ["", "a", &parts[..2].join("."), &format!("{first}.{}", parts[2])] {
        assert_eq!(
            verify(&tokens, &store, malformed).unwrap_err(),
            INVALID_TOKEN,
            "{malformed}"
        );
    }
    // Another server with the key, whose tokens have another issuer.
    let pem = include_str!("testdata/rsa_pkcs8.pem");
    let options = |issuer: &str| TokenOptions {
        signing_key: Some(PrivateKey::from_pem(pem).unwrap()),
        issuers: vec![issuer.to_owned()],
        ..TokenOptions::default()
    };
    let [own, other] = ["https://own", "https://other"].map(|issuer| tokens_of(options(issuer)));
    let audience = ["https://own".to_owned()];
    let foreign = other.issue(&store, &account, &audience, 60, None).unwrap().token;
    assert_eq!(verify(&own, &store, &foreign).unwrap_err(), INVALID_TOKEN);
    assert!(
        verify(
            &tokens_of(TokenOptions {
                issuers: vec!["https://own".into(), "https://other".into()],
                ..options("")
            }),
            &store,
            &foreign
        )
        .is_ok()
    );
    assert_eq!(own.algorithms(), ["RS256"]);
    let both = TokenOptions {
        keys: vec![key().public()],
        ..options("https://own")
    };
    assert_eq!(tokens_of(both).algorithms(), ["ES256", "RS256"]);
}

/// A controller manager signs these, with a key of its own.
#[test]
fn tokens_in_secrets_are_valid_while_the_secret_has_them() {
    let store = Store::default();
    stored_account(&store);
    let controller = tokens_of(TokenOptions::default());
    let claims = json!({
        "iss": LEGACY_ISSUER, "sub": "system:serviceaccount:n:op", "kubernetes.io/serviceaccount/namespace": "n",
        "kubernetes.io/serviceaccount/secret.name": "s", "kubernetes.io/serviceaccount/service-account.name": "op",
        "kubernetes.io/serviceaccount/service-account.uid": "1",
    });
    let token = controller.sign(&claims).unwrap();
    let tokens = tokens_of(TokenOptions {
        keys: controller.keys.clone(),
        ..TokenOptions::default()
    });
    let invalid = |why: &str| format!("[invalid bearer token, {why}]");
    assert_eq!(
        verify(&tokens, &store, &token).unwrap_err(),
        invalid("Token has been invalidated")
    );
    let secret = |data: &str, labels: Value| {
        let data = base64::engine::general_purpose::STANDARD.encode(data);
        json!({ "metadata": { "name": "s", "namespace": "n", "labels": labels }, "data": { "token": data } })
    };
    let stored = store
        .create("secrets", "n/s", secret("other", json!({})))
        .unwrap();
    assert_eq!(
        verify(&tokens, &store, &token).unwrap_err(),
        invalid("Token does not match server's copy")
    );
    let stored = store
        .update("secrets", "n/s", &stored, secret(&token, json!({})))
        .unwrap();
    let user = verify(&tokens, &store, &token).unwrap();
    assert_eq!(
        (user.name.as_str(), user.uid.as_str()),
        ("system:serviceaccount:n:op", "1")
    );
    assert_eq!(
        user.groups,
        [
            "system:serviceaccounts",
            "system:serviceaccounts:n",
            "system:authenticated"
        ]
    );
    assert!(user.extra.is_empty());
    // Without the controller's key.
    assert!(verify(&tokens_of(TokenOptions::default()), &store, &token).is_err());
    for (claim, value, why) in [
        ("sub", "system:serviceaccount:n:other", "sub claim is invalid"),
        ("sub", "", "sub claim is missing"),
        (
            "kubernetes.io/serviceaccount/secret.name",
            "",
            "secretName claim is missing",
        ),
    ] {
        let mut claims = claims.clone();
        claims[claim] = value.into();
        let token = controller.sign(&claims).unwrap();
        assert_eq!(verify(&tokens, &store, &token).unwrap_err(), invalid(why));
    }
    let labels = json!({ "kubernetes.io/legacy-token-invalid-since": "2026-01-01" });
    store
        .update("secrets", "n/s", &stored, secret(&token, labels))
        .unwrap();
    let why = verify(&tokens, &store, &token).unwrap_err();
    assert!(
        why.contains("for service account n/op has been marked invalid"),
        "{why}"
    );
}
