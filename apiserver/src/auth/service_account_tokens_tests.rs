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
    let verified = tokens.verify(store, token, tokens.audiences(), &mut TokenUse::default())?;
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
    let within_leeway = tokens.issue(&store, &account, &api, -30, None).unwrap().token;
    assert!(verify(&tokens, &store, &within_leeway).is_ok());
    let expired = tokens.issue(&store, &account, &api, -62, None).unwrap().token;
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
        let verified = tokens
            .verify(&store, &token, &texts(asked), &mut TokenUse::default())
            .unwrap();
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

/// The claims of a token of the account `op` in the Secret `s`.
fn secret_claims() -> Value {
    json!({
        "iss": LEGACY_ISSUER, "sub": "system:serviceaccount:n:op", "kubernetes.io/serviceaccount/namespace": "n",
        "kubernetes.io/serviceaccount/secret.name": "s", "kubernetes.io/serviceaccount/service-account.name": "op",
        "kubernetes.io/serviceaccount/service-account.uid": "1",
    })
}

fn secret_of_token(token: &str, labels: &Value) -> Value {
    let data = base64::engine::general_purpose::STANDARD.encode(token);
    json!({ "metadata": { "name": "s", "namespace": "n", "labels": labels }, "data": { "token": data } })
}

/// A controller manager signs these, with a key of its own.
#[test]
fn tokens_in_secrets_are_valid_while_the_secret_has_them() {
    let store = Store::default();
    stored_account(&store);
    let controller = tokens_of(TokenOptions::default());
    let claims = secret_claims();
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
    let stored = store
        .create("secrets", "n/s", secret_of_token("other", &json!({})))
        .unwrap();
    assert_eq!(
        verify(&tokens, &store, &token).unwrap_err(),
        invalid("Token does not match server's copy")
    );
    let stored = store
        .update("secrets", "n/s", &stored, secret_of_token(&token, &json!({})))
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
        .update("secrets", "n/s", &stored, secret_of_token(&token, &labels))
        .unwrap();
    let why = verify(&tokens, &store, &token).unwrap_err();
    assert!(
        why.contains("for service account n/op has been marked invalid"),
        "{why}"
    );
}

#[test]
fn use_of_a_token_in_a_secret_is_noted_once_a_day() {
    let store = Store::default();
    let tokens = tokens_of(TokenOptions::default());
    let token = tokens.sign(&secret_claims()).unwrap();
    let stored_account = store
        .create("serviceaccounts", "n/op", stored_account(&Store::default()))
        .unwrap();
    let mut stored = store
        .create("secrets", "n/s", secret_of_token(&token, &json!({})))
        .unwrap();
    let used = || {
        let mut token_use = TokenUse::default();
        let verified = tokens.verify(&store, &token, tokens.audiences(), &mut token_use);
        (verified.is_ok(), token_use)
    };
    let annotation = |name: &str, value: &str| {
        let key = format!("authentication.k8s.io/legacy-token-{name}");
        BTreeMap::from([(key, value.to_owned())])
    };
    let (valid, first) = used();
    let (secret, today) = first.unlabelled.unwrap();
    assert!(valid && first.warnings.is_empty() && meta::name(secret.value()) == "s");
    assert_eq!(first.annotations, annotation("manual-secret", "s"));
    let day = |days: i64| {
        let time = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * days);
        time.strftime("%Y-%m-%d").to_string()
    };
    assert!([day(0), day(-1)].contains(&today));
    for (days, is_noted) in [(-2, false), (0, true), (1, true), (3, false)] {
        let labels = json!({ "kubernetes.io/legacy-token-last-used": day(days) });
        let secret = secret_of_token(&token, &labels);
        stored = store.update("secrets", "n/s", &stored, secret).unwrap();
        assert_eq!(used().1.unlabelled.is_none(), is_noted, "{days} days");
    }
    let labels = json!({ "kubernetes.io/legacy-token-invalid-since": "2026-01-01" });
    let marked = secret_of_token(&token, &labels);
    stored = store.update("secrets", "n/s", &stored, marked).unwrap();
    let (valid, marked) = used();
    assert!(!valid && marked.unlabelled.is_some() && marked.warnings.is_empty());
    assert_eq!(marked.annotations, annotation("invalidated", "s/n"));
    let secret = secret_of_token(&token, &json!({}));
    store.update("secrets", "n/s", &stored, secret).unwrap();
    let mut account = stored_account.value().clone();
    account["secrets"] = json!([{ "name": "s" }]);
    let stored_account = store
        .update("serviceaccounts", "n/op", &stored_account, account.clone())
        .unwrap();
    let (valid, generated) = used();
    assert!(valid && generated.warnings[0].starts_with("Use tokens from the TokenRequest API"));
    assert_eq!(generated.annotations, annotation("autogenerated-secret", "s"));
    account["metadata"]["deletionTimestamp"] = meta::now().into();
    store
        .update("serviceaccounts", "n/op", &stored_account, account)
        .unwrap();
    let why = verify(&tokens, &store, &token).unwrap_err();
    assert_eq!(
        why,
        "[invalid bearer token, ServiceAccount n/op has been deleted]"
    );
}

#[test]
fn times_of_tokens_and_of_deletions_have_a_minute_of_leeway() {
    let store = Store::default();
    let account = stored_account(&store);
    let tokens = tokens_of(TokenOptions::default());
    let now = jiff::Timestamp::now().as_second();
    let claims = json!({
        "iss": ISSUER, "exp": now + 600, "iat": now, "nbf": now, "sub": "system:serviceaccount:n:op",
        "kubernetes.io": { "namespace": "n", "serviceaccount": { "name": "op", "uid": "1" } },
    });
    for (claim, within, beyond, why) in [
        ("exp", -50, -70, "has expired"),
        ("nbf", 50, 70, "is not valid yet"),
        ("iat", 50, 70, "is issued in the future"),
    ] {
        let with = |seconds: i64| {
            let mut claims = claims.clone();
            claims[claim] = json!(now + seconds);
            verify(&tokens, &store, &tokens.sign(&claims).unwrap())
        };
        assert!(with(within).is_ok(), "{claim}");
        let expected = format!("[invalid bearer token, service account token {why}]");
        assert_eq!(with(beyond).unwrap_err(), expected);
    }
    let mut stale = claims.clone();
    stale["kubernetes.io"]["warnafter"] = json!(now - 100);
    let mut token_use = TokenUse::default();
    let token = tokens.sign(&stale).unwrap();
    tokens
        .verify(&store, &token, tokens.audiences(), &mut token_use)
        .unwrap();
    let annotation = &token_use.annotations["authentication.k8s.io/stale-token"];
    let start = "subject: system:serviceaccount:n:op, seconds after warning threshold: 10";
    assert!(annotation.starts_with(start), "{annotation}");

    let pod = json!({ "kind": "Pod", "metadata": { "name": "p", "namespace": "n", "uid": "3" } });
    let api = tokens.audiences().to_vec();
    let bound = tokens
        .issue(&store, &account, &api, 60, Some(&pod))
        .unwrap()
        .token;
    store.create("pods", "n/p", pod).unwrap();
    let deleted = |table: &str, key: &str, seconds: i64| {
        let stored = store.get(table, key).unwrap();
        let mut object = stored.value().clone();
        let time = jiff::Timestamp::from_second(now + seconds).unwrap();
        object["metadata"]["deletionTimestamp"] = time.to_string().into();
        store.update(table, key, &stored, object).unwrap();
        verify(&tokens, &store, &bound)
    };
    assert!(deleted("pods", "n/p", -50).is_ok());
    assert_eq!(
        deleted("pods", "n/p", -70).unwrap_err(),
        "[invalid bearer token, service account token has been invalidated]"
    );
    assert!(deleted("pods", "n/p", 0).is_ok());
    assert!(deleted("serviceaccounts", "n/op", -50).is_ok());
    assert_eq!(
        deleted("serviceaccounts", "n/op", -70).unwrap_err(),
        "[invalid bearer token, service account n/op has been deleted]"
    );
}
