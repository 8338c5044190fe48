//! What a token Secret lacks.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret};
use serde_json::{Value, json};

pub(super) const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
pub(super) const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// The service account of a Secret, by the Secret's annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AccountReference {
    pub(super) name: String,
    /// None on a Secret that was not filled yet.
    pub(super) uid: Option<String>,
}

impl AccountReference {
    /// Reads the annotations; none if they name no account.
    pub(super) fn of(secret: &Secret) -> Option<Self> {
        let annotation = |key| {
            let value = secret.metadata.annotations.as_ref()?.get(key)?;
            (!value.is_empty()).then(|| value.clone())
        };
        Some(Self {
            name: annotation(ACCOUNT_NAME)?,
            uid: annotation(ACCOUNT_UID),
        })
    }

    /// Whether an account with this uid is meant: not one that was deleted and created again.
    pub(super) fn is_of(&self, uid: Option<&str>) -> bool {
        self.uid.is_none() || self.uid.as_deref() == uid
    }
}

/// Whether the Secret lacks a value, or has another root CA.
pub(super) fn needs_update(secret: &Secret, root_ca: Option<&[u8]>) -> bool {
    let changes = Missing::of(secret, root_ca);
    changes.ca || changes.namespace || changes.token
}

struct Missing {
    ca: bool,
    namespace: bool,
    token: bool,
}

impl Missing {
    fn of(secret: &Secret, root_ca: Option<&[u8]>) -> Self {
        let value = |key| {
            secret
                .data
                .as_ref()
                .and_then(|data| data.get(key))
                .map(|value| value.0.as_slice())
        };
        let is_empty = |key| value(key).is_none_or(<[u8]>::is_empty);
        Self {
            ca: root_ca.is_some_and(|ca| !ca.is_empty() && value("ca.crt") != Some(ca)),
            namespace: is_empty("namespace"),
            token: is_empty("token"),
        }
    }
}

/// Fills what the Secret lacks. `sign` makes a token of claims.
pub(super) fn fill<E>(
    secret: &mut Secret,
    account_uid: &str,
    root_ca: Option<&[u8]>,
    sign: impl FnOnce(&Value) -> Result<String, E>,
) -> Result<(), E> {
    let (missing, account) = (Missing::of(secret, root_ca), AccountReference::of(secret));
    let account = account.map(|account| account.name).unwrap_or_default();
    let (namespace, name) = (
        secret.metadata.namespace.clone().unwrap_or_default(),
        secret.metadata.name.clone().unwrap_or_default(),
    );
    let data = secret.data.get_or_insert_default();
    let mut insert = |key: &str, value: Vec<u8>| data.insert(key.to_owned(), ByteString(value));
    if let Some(ca) = root_ca.filter(|_| missing.ca) {
        insert("ca.crt", ca.to_vec());
    }
    if missing.token {
        let token = sign(&claims(&namespace, &account, account_uid, &name))?;
        insert("token", token.into_bytes());
    }
    if missing.namespace {
        insert("namespace", namespace.into_bytes());
    }
    let annotations: &mut BTreeMap<_, _> = secret.metadata.annotations.get_or_insert_default();
    annotations.insert(ACCOUNT_NAME.to_owned(), account);
    annotations.insert(ACCOUNT_UID.to_owned(), account_uid.to_owned());
    Ok(())
}

/// The claims of a token without expiry, as API servers verify them: the Secret must exist as long as the token is used.
fn claims(namespace: &str, account: &str, account_uid: &str, secret: &str) -> Value {
    json!({
        "iss": "kubernetes/serviceaccount",
        "sub": format!("system:serviceaccount:{namespace}:{account}"),
        "kubernetes.io/serviceaccount/namespace": namespace,
        "kubernetes.io/serviceaccount/secret.name": secret,
        "kubernetes.io/serviceaccount/service-account.name": account,
        "kubernetes.io/serviceaccount/service-account.uid": account_uid,
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::shared::service_account::TOKEN_TYPE;

    fn secret(annotations: &Value, data: &[(&str, &str)]) -> Secret {
        let mut secret: Secret = serde_json::from_value(json!({
            "metadata": {"name": "token-1", "namespace": "shop", "annotations": annotations},
            "type": TOKEN_TYPE,
        }))
        .unwrap();
        let bytes = |(key, value): &(&str, &str)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec()));
        secret.data = Some(data.iter().map(bytes).collect());
        secret
    }

    #[test]
    fn missing_values_and_another_ca_need_an_update() {
        let full = [("token", "t"), ("namespace", "n"), ("ca.crt", "ca")];
        for (data, ca, expected) in [
            (&full[..], Some("ca"), false),
            (&full[..], None, false),
            (&full[..], Some(""), false),
            (&full[..], Some("other"), true),
            (&full[..2], None, false),
            (&full[..2], Some("ca"), true),
            (&full[1..], Some("ca"), true),
            (&[("token", ""), ("namespace", "n")], None, true),
            (&[("token", "t")], None, true),
        ] {
            let secret = secret(&json!({}), data);
            assert_eq!(
                needs_update(&secret, ca.map(str::as_bytes)),
                expected,
                "{data:?} {ca:?}"
            );
        }
    }

    #[test]
    fn secret_gets_what_it_lacks_and_keeps_what_it_has() {
        let mut secret = secret(
            &json!({ACCOUNT_NAME: "robot", "other": "kept"}),
            &[("namespace", "mine"), ("extra", "kept")],
        );
        let signed = fill(&mut secret, "uid-1", Some(b"ca"), |claims| {
            Ok::<_, Infallible>(claims.to_string())
        });
        signed.unwrap();
        let data = secret.data.as_ref().unwrap();
        let text = |key: &str| String::from_utf8(data[key].0.clone()).unwrap();
        assert_eq!(
            (text("namespace"), text("extra"), text("ca.crt")),
            ("mine".into(), "kept".into(), "ca".into())
        );
        let claims: Value = serde_json::from_str(&text("token")).unwrap();
        assert_eq!(claims["sub"], "system:serviceaccount:shop:robot");
        assert_eq!(claims["kubernetes.io/serviceaccount/secret.name"], "token-1");
        let account = AccountReference::of(&secret).unwrap();
        assert_eq!(
            (account.name.as_str(), account.uid.as_deref()),
            ("robot", Some("uid-1"))
        );
        assert!(!needs_update(&secret, Some(b"ca")));
    }

    #[test]
    fn account_of_another_uid_is_not_meant() {
        let reference = |annotations| AccountReference::of(&secret(&annotations, &[]));
        assert_eq!(reference(json!({})), None);
        assert_eq!(reference(json!({ACCOUNT_NAME: ""})), None);
        let without_uid = reference(json!({ACCOUNT_NAME: "a"})).unwrap();
        assert!(without_uid.is_of(Some("1")) && without_uid.is_of(None));
        let with_uid = reference(json!({ACCOUNT_NAME: "a", ACCOUNT_UID: "1"})).unwrap();
        assert!(with_uid.is_of(Some("1")) && !with_uid.is_of(Some("2")) && !with_uid.is_of(None));
    }
}
