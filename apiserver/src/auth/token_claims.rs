//! Whom a token is for, and whether it still holds: the account exists, and the objects to which the token is bound.

use super::User;
use super::service_account_tokens::BINDABLE_KINDS;
use super::token_use::TokenUse;
use crate::meta::{self, text};
use crate::quote::quoted;
use crate::storage::{Object, Store};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The issuer of tokens in Secrets, which a controller signs.
pub(super) const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";

/// The extra key of the node to which a token is bound, directly or by its pod.
pub(crate) const NODE_NAME_EXTRA: &str = "authentication.kubernetes.io/node-name";

/// The extra keys for name and uid of the object to which a token is bound.
const BOUND_OBJECT_EXTRAS: [(&str, &str, &str); 2] = [
    (
        "pod",
        "authentication.kubernetes.io/pod-name",
        "authentication.kubernetes.io/pod-uid",
    ),
    ("node", NODE_NAME_EXTRA, "authentication.kubernetes.io/node-uid"),
];
const CREDENTIAL_ID_EXTRA: &str = "authentication.kubernetes.io/credential-id";

/// The label of Secrets whose tokens a controller found unused for long.
const INVALID_SINCE_LABEL: &str = "kubernetes.io/legacy-token-invalid-since";

/// The audit annotation of a pod's token that is used after its requested lifetime.
const STALE_TOKEN: &str = "authentication.k8s.io/stale-token";

/// How far the clocks of servers may differ, in seconds: so long a token is valid before and after its times, and after the deletion of what
/// it depends on.
const LEEWAY: i64 = 60;

const INVALIDATED: &str = "service account token has been invalidated";

/// Returns the user of a token with a valid signature.
///
/// # Errors
///
/// kube-apiserver's reason why the token does not hold.
pub(super) fn user(
    store: &Store,
    token: &str,
    claims: &Value,
    token_use: &mut TokenUse,
) -> Result<User, String> {
    if claims["iss"] == LEGACY_ISSUER {
        legacy_user(store, token, claims, token_use)
    } else {
        bound_user(store, claims, token_use)
    }
}

fn bound_user(store: &Store, claims: &Value, token_use: &mut TokenUse) -> Result<User, String> {
    let now = jiff::Timestamp::now().as_second();
    let time = |claim: &str| claims[claim].as_i64();
    if time("nbf").is_some_and(|start| start > now + LEEWAY) {
        return Err("service account token is not valid yet".to_owned());
    }
    if time("exp").is_some_and(|end| end < now - LEEWAY) {
        return Err("service account token has expired".to_owned());
    }
    if time("iat").is_some_and(|issued| issued > now + LEEWAY) {
        return Err("service account token is issued in the future".to_owned());
    }
    let was_deleted = |object: &Object| {
        let time = text(&object.value()["metadata"], "deletionTimestamp").parse::<jiff::Timestamp>();
        time.is_ok_and(|time| time.as_second() < now - LEEWAY)
    };
    let private_claims = &claims["kubernetes.io"];
    let namespace = text(private_claims, "namespace");
    let (name, uid) = (
        text(&private_claims["serviceaccount"], "name"),
        text(&private_claims["serviceaccount"], "uid"),
    );
    let found = account(store, namespace, name)?;
    if meta::uid(found.value()) != uid {
        let own = meta::uid(found.value());
        return Err(format!(
            "service account UID ({own}) does not match claim ({uid})"
        ));
    }
    if was_deleted(&found) {
        return Err(format!("service account {namespace}/{name} has been deleted"));
    }
    for (kind, resource) in BINDABLE_KINDS {
        let kind_name = kind.to_lowercase();
        let Some(bound) = private_claims.get(&kind_name) else {
            continue;
        };
        if kind == "Node" && private_claims.get("pod").is_some() {
            // The node of the pod that the token is bound to.
            continue;
        }
        let namespace = if kind == "Node" { "" } else { namespace };
        let found = store.get(resource, &Store::key(namespace, text(bound, "name")));
        let found = found.ok_or(INVALIDATED)?;
        let (own, uid) = (meta::uid(found.value()), text(bound, "uid"));
        if own != uid {
            return Err(format!(
                "{kind_name} UID ({own}) does not match service account {kind_name} ref claim ({uid})"
            ));
        }
        if was_deleted(&found) {
            return Err(INVALIDATED.to_owned());
        }
    }
    let requested_end = private_claims["warnafter"].as_i64().filter(|end| *end != 0);
    if let Some(end) = requested_end.filter(|end| *end < now) {
        let subject = text(claims, "sub");
        let why = format!(
            "subject: {subject}, seconds after warning threshold: {}",
            now.saturating_sub(end)
        );
        token_use.annotations.insert(STALE_TOKEN.to_owned(), why);
    }
    Ok(User {
        uid: uid.to_owned(),
        extra: extra_from_claims(claims),
        ..User::service_account(namespace, name)
    })
}

fn legacy_user(store: &Store, token: &str, claims: &Value, token_use: &mut TokenUse) -> Result<User, String> {
    let claim = |name: &str| text(claims, &format!("kubernetes.io/serviceaccount/{name}"));
    let (namespace, secret) = (claim("namespace"), claim("secret.name"));
    let (name, uid) = (claim("service-account.name"), claim("service-account.uid"));
    for (value, claim) in [
        (text(claims, "sub"), "sub"),
        (namespace, "namespace"),
        (secret, "secretName"),
        (name, "serviceAccountName"),
        (uid, "serviceAccountUID"),
    ] {
        if value.is_empty() {
            return Err(format!("{claim} claim is missing"));
        }
    }
    let user = User::service_account(namespace, name);
    if claims["sub"] != user.name {
        return Err("sub claim is invalid".to_owned());
    }
    let found = store.get("secrets", &Store::key(namespace, secret));
    let found = found.filter(|secret| !meta::is_being_deleted(secret.value()));
    let found = found.ok_or("Token has been invalidated")?;
    if text(&found.value()["data"], "token") != STANDARD.encode(token) {
        return Err("Token does not match server's copy".to_owned());
    }
    let account = account(store, namespace, name)?;
    if meta::is_being_deleted(account.value()) {
        return Err(format!("ServiceAccount {namespace}/{name} has been deleted"));
    }
    let own = meta::uid(account.value());
    if own != uid {
        return Err(format!("ServiceAccount UID ({own}) does not match claim ({uid})"));
    }
    if !text(&found.value()["metadata"]["labels"], INVALID_SINCE_LABEL).is_empty() {
        token_use.add_invalidated(&found);
        return Err(format!(
            "the token in secret {namespace}/{secret} for service account {namespace}/{name} has been marked invalid. Use tokens from the \
             TokenRequest API or manually created secret-based tokens, or remove the '{INVALID_SINCE_LABEL}' label from the secret to \
             temporarily allow use of this token"
        ));
    }
    token_use.add(&found, account.value());
    Ok(User {
        uid: uid.to_owned(),
        ..user
    })
}

fn account(store: &Store, namespace: &str, name: &str) -> Result<Arc<Object>, String> {
    let found = store.get("serviceaccounts", &Store::key(namespace, name));
    found.ok_or_else(|| format!("serviceaccounts {} not found", quoted(name)))
}

pub(super) fn credential_id(id: &str) -> String {
    format!("JTI={id}")
}

/// Returns the extra fields of a token's user.
fn extra_from_claims(claims: &Value) -> BTreeMap<String, Vec<String>> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let mut extra = vec![(
        CREDENTIAL_ID_EXTRA,
        text(&claims["jti"]).map(|id| credential_id(&id)),
    )];
    for (kind, name, uid) in BOUND_OBJECT_EXTRAS {
        let bound = &claims["kubernetes.io"][kind];
        extra.extend([(name, text(&bound["name"])), (uid, text(&bound["uid"]))]);
    }
    let known = extra
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), vec![value?])));
    known.collect()
}
