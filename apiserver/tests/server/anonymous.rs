//! Anonymous authentication: every kind of identity with every set of authorization modes. The status codes are those of
//! kube-apiserver 1.36.3 with the same flags.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::certificates::{TestAuthority, request};
use kubewright_apiserver::{
    ApiServer, Tls,
    auth::{AuthorizationMode, User},
};
use rcgen::ExtendedKeyUsagePurpose;
use serde_json::{Value, json};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// The paths of each row: a resource, a path that everyone may read, a health check, a document for authenticated clients, an unknown path.
const PATHS: [&str; 5] = [SECRETS, "/version", "/readyz", "/openapi/v2", "/nope"];

/// What clients without credentials get where anonymous authentication is off.
const UNAUTHORIZED: [u16; 5] = [401; 5];
const BY_ROLES_ANONYMOUS: [u16; 5] = [403, 200, 200, 403, 403];
const BY_ROLES: [u16; 5] = [403, 200, 200, 200, 403];
const ALLOWED: [u16; 5] = [200, 200, 200, 200, 404];

#[tokio::test]
async fn anonymous_clients_are_unauthorized_where_a_mode_allows_everything() {
    use AuthorizationMode::{AlwaysAllow, Rbac};
    for (modes, anonymous_auth, anonymous, identified) in [
        (&[Rbac][..], None, BY_ROLES_ANONYMOUS, BY_ROLES),
        (&[Rbac], Some(true), BY_ROLES_ANONYMOUS, BY_ROLES),
        (&[Rbac], Some(false), UNAUTHORIZED, BY_ROLES),
        (&[AlwaysAllow], None, UNAUTHORIZED, ALLOWED),
        (&[AlwaysAllow], Some(true), UNAUTHORIZED, ALLOWED),
        (&[AlwaysAllow], Some(false), UNAUTHORIZED, ALLOWED),
        (&[Rbac, AlwaysAllow], None, UNAUTHORIZED, ALLOWED),
        (&[AlwaysAllow, Rbac], Some(true), UNAUTHORIZED, ALLOWED),
    ] {
        let authority = TestAuthority::new();
        let mut builder = ApiServer::builder()
            .tls(Tls::Generated)
            .client_ca(&authority.pem)
            .token("bob-token", User::new("bob", &[]))
            .authorization(modes);
        if let Some(enabled) = anonymous_auth {
            builder = builder.anonymous_auth(enabled);
        }
        let server = builder.start().await.unwrap();
        let label = format!("{modes:?} {anonymous_auth:?}");
        let certificate = || Some(authority.sign("alice", &[], ExtendedKeyUsagePurpose::ClientAuth));
        let untrusted = || Some(TestAuthority::new().sign("alice", &[], ExtendedKeyUsagePurpose::ClientAuth));
        let account = service_account_token(&server).await;
        for (at, path) in PATHS.into_iter().enumerate() {
            let code = async |certificate, token: &str| {
                let outcome = request(&server, certificate, token, ("GET", path, Value::Null)).await;
                outcome.unwrap().0
            };
            assert_eq!(code(None, "").await, anonymous[at], "{label} anonymous {path}");
            assert_eq!(code(None, "wrong").await, 401, "{label} bad token {path}");
            assert_eq!(
                code(untrusted(), "").await,
                401,
                "{label} untrusted certificate {path}"
            );
            assert_eq!(
                code(None, "bob-token").await,
                identified[at],
                "{label} token {path}"
            );
            assert_eq!(
                code(None, &account).await,
                identified[at],
                "{label} account {path}"
            );
            assert_eq!(
                code(certificate(), "").await,
                identified[at],
                "{label} certificate {path}"
            );
            let admin = server.admin_token();
            assert_eq!(
                code(None, admin).await,
                ALLOWED[at],
                "{label} administrator {path}"
            );
        }
    }
}

async fn service_account_token(server: &ApiServer) -> String {
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let admin = server.admin_token();
    let account = json!({ "metadata": { "name": "op" } });
    let created = request(server, None, admin, ("POST", accounts, account))
        .await
        .unwrap();
    assert_eq!(created.0, 201, "{}", created.1);
    let path = format!("{accounts}/op/token");
    let (code, issued) = request(server, None, admin, ("POST", &path, json!({ "spec": {} })))
        .await
        .unwrap();
    assert_eq!(code, 201, "{issued}");
    issued["status"]["token"].as_str().unwrap().to_owned()
}
