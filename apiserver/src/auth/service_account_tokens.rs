//! Service account tokens: JSON web tokens that this server signs and verifies.

use super::User;
use super::signing_key::SigningKey;
use crate::meta;
use crate::storage::Store;
use ring::error::Unspecified;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The issuer of tokens, and their default audience.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Kinds of objects to which a token can be bound, and their resources.
pub(crate) const BINDABLE_KINDS: [(&str, &str); 3] =
    [("Pod", "pods"), ("Secret", "secrets"), ("Node", "nodes")];

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

/// The lifetime of a pod's token as kubelets request it, in seconds. Such a token is valid for longer, so that programs that read it only
/// once go on working.
const EXTENDED_LIFETIME: i64 = 3607;
/// How long it is valid instead, in seconds.
const EXTENSION: i64 = 365 * 24 * 3600;

/// A token that was issued.
#[derive(Debug)]
pub struct IssuedToken {
    /// The token.
    pub token: String,
    /// The end of the requested lifetime, in Unix seconds.
    pub expiry: i64,
    /// The credential id, such as `JTI=…`.
    pub credential_id: String,
}

/// Issues and verifies tokens with a random key that lives as long as the server.
#[derive(Debug)]
pub struct ServiceAccountTokens {
    key: SigningKey,
}

impl ServiceAccountTokens {
    /// Generates the key.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn generate() -> Result<Self, Unspecified> {
        SigningKey::generate().map(|key| Self { key })
    }

    /// Returns the keys that verify tokens, as a set of JSON web keys.
    pub fn public_keys(&self) -> Value {
        json!({ "keys": [self.key.public_key()] })
    }

    /// Issues a token that is valid for `seconds`. A bound token becomes invalid when the object is deleted.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn issue(
        &self,
        store: &Store,
        account: &Value,
        audiences: &[String],
        seconds: i64,
        bound: Option<&Value>,
    ) -> Result<IssuedToken, Unspecified> {
        let now = jiff::Timestamp::now().as_second();
        let expiry = now.saturating_add(seconds);
        let (namespace, name) = (meta::namespace(account), meta::name(account));
        let default = [ISSUER.to_owned()];
        let audiences = if audiences.is_empty() { &default } else { audiences };
        let id = meta::new_uid();
        let mut claims = json!({
            "aud": audiences, "exp": expiry, "iat": now, "nbf": now, "iss": ISSUER, "jti": id,
            "sub": format!("system:serviceaccount:{namespace}:{name}"),
            "kubernetes.io": {
                "namespace": namespace, "serviceaccount": { "name": name, "uid": meta::uid(account) },
            },
        });
        if let Some(bound) = bound {
            let kind = bound["kind"].as_str().unwrap_or_default().to_lowercase();
            claims["kubernetes.io"][kind] = json!({ "name": meta::name(bound), "uid": meta::uid(bound) });
            if let Some(name) = bound["spec"]["nodeName"].as_str() {
                let node = store.get("nodes", name);
                let uid = node.as_ref().map_or("", |node| meta::uid(node.value()));
                claims["kubernetes.io"]["node"] = json!({ "name": name, "uid": uid });
            }
        }
        let is_for_server = audiences.iter().all(|audience| audience == ISSUER);
        if seconds == EXTENDED_LIFETIME && is_for_server && claims["kubernetes.io"].get("pod").is_some() {
            claims["kubernetes.io"]["warnafter"] = json!(expiry);
            claims["exp"] = json!(now + EXTENSION);
        }
        Ok(IssuedToken {
            token: self.key.sign(&claims)?,
            expiry,
            credential_id: credential_id(&id),
        })
    }

    /// Returns the account of a valid token, if the account and the bound objects still exist.
    pub fn verify(&self, store: &Store, token: &str) -> Option<User> {
        let claims = self.key.verify(token)?;
        if claims["exp"].as_i64()? < jiff::Timestamp::now().as_second() {
            return None;
        }
        let private_claims = &claims["kubernetes.io"];
        let (namespace, name) = (
            private_claims["namespace"].as_str()?,
            private_claims["serviceaccount"]["name"].as_str()?,
        );
        let account = store.get("serviceaccounts", &Store::key(namespace, name))?;
        let bound_object_exists = |(kind, resource): &(&str, &str)| {
            let Some(bound) = private_claims.get(kind.to_lowercase()) else {
                return true;
            };
            if *kind == "Node" && private_claims.get("pod").is_some() {
                // The node of the pod that the token is bound to.
                return true;
            }
            let namespace = if *kind == "Node" { "" } else { namespace };
            let key = Store::key(namespace, bound["name"].as_str().unwrap_or_default());
            let found = store.get(resource, &key);
            found.is_some_and(|found| bound["uid"] == meta::uid(found.value()))
        };
        if !BINDABLE_KINDS.iter().all(bound_object_exists) {
            return None;
        }
        let uid = meta::uid(account.value());
        (private_claims["serviceaccount"]["uid"] == uid).then(|| User {
            uid: uid.to_owned(),
            extra: extra_from_claims(&claims),
            ..User::service_account(namespace, name)
        })
    }
}

fn credential_id(id: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

    #[test]
    fn token_is_valid_while_account_and_bound_object_exist() {
        let store = Store::default();
        let account = json!({ "metadata": { "name": "op", "namespace": "n", "uid": "1" } });
        let stored = store.create("serviceaccounts", "n/op", account.clone()).unwrap();
        let tokens = ServiceAccountTokens::generate().unwrap();
        let token = tokens.issue(&store, &account, &[], 60, None).unwrap().token;
        assert_eq!(
            tokens.verify(&store, &token).unwrap().name,
            "system:serviceaccount:n:op"
        );
        let expired = tokens.issue(&store, &account, &[], -60, None).unwrap().token;
        assert_eq!(tokens.verify(&store, &expired), None);
        let other = ServiceAccountTokens::generate().unwrap();
        assert_eq!(other.verify(&store, &token), None);
        assert_eq!(tokens.verify(&store, "a.b.c"), None);
        let secret = json!({ "kind": "Secret", "metadata": { "name": "s", "namespace": "n", "uid": "2" } });
        let bound = tokens
            .issue(&store, &account, &[], 60, Some(&secret))
            .unwrap()
            .token;
        assert_eq!(tokens.verify(&store, &bound), None);
        let stored_secret = store.create("secrets", "n/s", secret).unwrap();
        assert!(tokens.verify(&store, &bound).is_some());
        store.delete("secrets", "n/s", &stored_secret).unwrap();
        assert_eq!(tokens.verify(&store, &bound), None);
        let pod = json!({
            "kind": "Pod", "metadata": { "name": "p", "namespace": "n", "uid": "3" }, "spec": { "nodeName": "gone" },
        });
        store.create("pods", "n/p", pod.clone()).unwrap();
        let bound = tokens.issue(&store, &account, &[], 60, Some(&pod)).unwrap().token;
        let mut extra = tokens.verify(&store, &bound).unwrap().extra;
        assert!(extra.remove(CREDENTIAL_ID_EXTRA).unwrap()[0].starts_with("JTI="));
        let one = |key: &str, value: &str| (key.to_owned(), vec![value.to_owned()]);
        let [(_, pod_name, pod_uid), _] = BOUND_OBJECT_EXTRAS;
        let expected = [
            one(NODE_NAME_EXTRA, "gone"),
            one(pod_name, "p"),
            one(pod_uid, "3"),
        ];
        assert_eq!(extra, BTreeMap::from(expected));
        let extended = tokens
            .issue(&store, &account, &[], EXTENDED_LIFETIME, Some(&pod))
            .unwrap()
            .token;
        let claims = BASE64.decode(extended.split('.').nth(1).unwrap()).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        let start = claims["iat"].as_i64().unwrap();
        assert_eq!(claims["exp"], start + EXTENSION);
        assert_eq!(claims["kubernetes.io"]["warnafter"], start + EXTENDED_LIFETIME);
        store.delete("serviceaccounts", "n/op", &stored).unwrap();
        assert_eq!(tokens.verify(&store, &token), None);
    }
}
