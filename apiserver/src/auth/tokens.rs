//! Tokens of service accounts: JSON web tokens that this server signs and reads.

use super::User;
use crate::meta;
use crate::store::Store;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use rand::RngExt as _;
use ring::hmac;
use serde_json::{Value, json};

/// Who issues tokens, and whom they are for where nothing else is said.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// What a token can be bound to: core kinds and their resources.
pub(crate) const BOUND: [(&str, &str); 3] = [("Pod", "pods"), ("Secret", "secrets"), ("Node", "nodes")];

/// Signs and reads; the key lives as long as the server.
#[derive(Debug)]
pub struct ServiceAccountTokens {
    key: hmac::Key,
}

impl Default for ServiceAccountTokens {
    fn default() -> Self {
        let secret: [u8; 32] = rand::rng().random();
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &secret),
        }
    }
}

impl ServiceAccountTokens {
    /// A token for an account, valid for so many seconds, and when that ends. Bound to an object, it is valid as long as that is there.
    pub fn issue(
        &self,
        account: &Value,
        audiences: &[String],
        seconds: i64,
        bound: Option<&Value>,
    ) -> (String, i64) {
        let now = jiff::Timestamp::now().as_second();
        let expiry = now.saturating_add(seconds);
        let (namespace, name) = (meta::namespace(account), meta::name(account));
        let default = [ISSUER.to_owned()];
        let audiences = if audiences.is_empty() { &default } else { audiences };
        let mut claims = json!({
            "aud": audiences, "exp": expiry, "iat": now, "nbf": now, "iss": ISSUER,
            "sub": format!("system:serviceaccount:{namespace}:{name}"),
            "kubernetes.io": {
                "namespace": namespace, "serviceaccount": { "name": name, "uid": meta::uid(account) },
            },
        });
        if let Some(bound) = bound {
            let kind = bound["kind"].as_str().unwrap_or_default().to_lowercase();
            claims["kubernetes.io"][kind] = json!({ "name": meta::name(bound), "uid": meta::uid(bound) });
        }
        let header = json!({ "alg": "HS256", "typ": "JWT" });
        let text = format!(
            "{}.{}",
            BASE64.encode(header.to_string()),
            BASE64.encode(claims.to_string())
        );
        let signature = hmac::sign(&self.key, text.as_bytes());
        (format!("{text}.{}", BASE64.encode(signature)), expiry)
    }

    /// The account of a token that is ours and valid, if the account is still there.
    pub fn verify(&self, store: &Store, token: &str) -> Option<User> {
        let (text, signature) = token.rsplit_once('.')?;
        let signature = BASE64.decode(signature).ok()?;
        hmac::verify(&self.key, text.as_bytes(), &signature).ok()?;
        let claims = BASE64.decode(text.split_once('.')?.1).ok()?;
        let claims: Value = serde_json::from_slice(&claims).ok()?;
        if claims["exp"].as_i64()? < jiff::Timestamp::now().as_second() {
            return None;
        }
        let about = &claims["kubernetes.io"];
        let (namespace, name) = (
            about["namespace"].as_str()?,
            about["serviceaccount"]["name"].as_str()?,
        );
        let account = store.get("serviceaccounts", &Store::key(namespace, name))?;
        let is_there = |(kind, resource): &(&str, &str)| {
            let Some(bound) = about.get(kind.to_lowercase()) else {
                return true;
            };
            let namespace = if *kind == "Node" { "" } else { namespace };
            let key = Store::key(namespace, bound["name"].as_str().unwrap_or_default());
            let found = store.get(resource, &key);
            found.is_some_and(|found| bound["uid"] == meta::uid(found.value()))
        };
        if !BOUND.iter().all(is_there) {
            return None;
        }
        let uid = meta::uid(account.value());
        (about["serviceaccount"]["uid"] == uid).then(|| User {
            uid: uid.to_owned(),
            ..User::service_account(namespace, name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_of_living_accounts() {
        let store = Store::default();
        let account = json!({ "metadata": { "name": "op", "namespace": "n", "uid": "1" } });
        let stored = store.create("serviceaccounts", "n/op", account.clone()).unwrap();
        let tokens = ServiceAccountTokens::default();
        let (token, _) = tokens.issue(&account, &[], 60, None);
        assert_eq!(
            tokens.verify(&store, &token).unwrap().name,
            "system:serviceaccount:n:op"
        );
        let (expired, _) = tokens.issue(&account, &[], -60, None);
        assert_eq!(tokens.verify(&store, &expired), None);
        assert_eq!(ServiceAccountTokens::default().verify(&store, &token), None);
        assert_eq!(tokens.verify(&store, "a.b.c"), None);
        let secret = json!({ "kind": "Secret", "metadata": { "name": "s", "namespace": "n", "uid": "2" } });
        let (bound, _) = tokens.issue(&account, &[], 60, Some(&secret));
        assert_eq!(tokens.verify(&store, &bound), None);
        let kept = store.create("secrets", "n/s", secret).unwrap();
        assert!(tokens.verify(&store, &bound).is_some());
        store.delete("secrets", "n/s", &kept).unwrap();
        assert_eq!(tokens.verify(&store, &bound), None);
        store.delete("serviceaccounts", "n/op", &stored).unwrap();
        assert_eq!(tokens.verify(&store, &token), None);
    }
}
