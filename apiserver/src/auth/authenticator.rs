//! Authentication: by client certificate, static token or service account token; anonymous otherwise.

use super::service_account_tokens::INVALID_TOKEN;
use super::{AuthenticatedToken, ServiceAccountTokens, TokenUse, User};
use crate::status::ApiError;
use crate::storage::Store;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use std::collections::HashMap;

/// Authenticates requests.
#[derive(Debug)]
pub struct Authenticator {
    /// The static tokens and their users.
    pub tokens: HashMap<String, User>,
    /// Issues and verifies the tokens of service accounts.
    pub accounts: ServiceAccountTokens,
    /// Whether requests without credentials are served as `system:anonymous`.
    pub anonymous: bool,
}

impl Authenticator {
    /// Authenticates a request. `certificate` is the user of the connection's client certificate.
    ///
    /// # Errors
    ///
    /// 401 for an unknown token, and for a request without credentials if anonymous authentication is off.
    pub(crate) fn authenticate(
        &self,
        store: &Store,
        headers: &HeaderMap,
        certificate: Option<&User>,
        token_use: &mut TokenUse,
    ) -> Result<User, ApiError> {
        if let Some(user) = certificate {
            return Ok(add_authenticated_group(user.clone()));
        }
        // A token that is not ASCII is as unknown as any other.
        let header = headers.get(AUTHORIZATION);
        let header = header.map(|value| String::from_utf8_lossy(value.as_bytes()));
        let token = header.as_deref().and_then(|value| {
            // The token is what is between the first two spaces: a further space before it makes the request anonymous.
            let mut parts = value.trim().split(' ');
            let is_bearer = parts.next()?.eq_ignore_ascii_case("bearer");
            parts.next().filter(|_| is_bearer)
        });
        match token {
            Some(token) if !token.is_empty() => self
                .verify_token(store, token, self.accounts.audiences(), token_use)
                .map(|authenticated| add_authenticated_group(authenticated.user))
                .map_err(|_| ApiError::unauthorized()),
            _ if self.anonymous => Ok(User::anonymous()),
            _ => Err(ApiError::unauthorized()),
        }
    }

    /// Returns the user of a bearer token that is for one of the audiences. Static tokens are for the audiences of the API.
    ///
    /// # Errors
    ///
    /// kube-apiserver's message in the status of a TokenReview.
    pub(crate) fn verify_token(
        &self,
        store: &Store,
        token: &str,
        audiences: &[String],
        token_use: &mut TokenUse,
    ) -> Result<AuthenticatedToken, String> {
        let Some(user) = self.tokens.get(token) else {
            return self.accounts.verify(store, token, audiences, token_use);
        };
        let own = self.accounts.audiences().iter();
        let audiences: Vec<String> = own
            .filter(|audience| audiences.contains(audience))
            .cloned()
            .collect();
        if audiences.is_empty() {
            return Err(INVALID_TOKEN.to_owned());
        }
        let user = user.clone();
        Ok(AuthenticatedToken { user, audiences })
    }
}

fn add_authenticated_group(mut user: User) -> User {
    let group = "system:authenticated";
    if !user.is_in(group) {
        user.groups.push(group.to_owned());
    }
    user
}

/// Parses a static token file: one user a line, `token,user,uid,"group1,group2"`. Malformed lines are an error.
pub(crate) fn parse_token_file(text: &str) -> Result<HashMap<String, User>, String> {
    let mut tokens = HashMap::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let fields = csv_fields(line);
        let [token, name, uid, groups @ ..] = fields.as_slice() else {
            return Err(format!("line {}: a token, a user and a uid are needed", at + 1));
        };
        let groups = groups.first().map(String::as_str).unwrap_or_default();
        let user = User {
            name: name.clone(),
            uid: uid.clone(),
            groups: groups
                .split(',')
                .map(|group| group.trim().to_owned())
                .filter(|group| !group.is_empty())
                .collect(),
            ..User::default()
        };
        tokens.insert(token.clone(), user);
    }
    Ok(tokens)
}

/// Splits a line at commas outside of quotes.
fn csv_fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (vec![], String::new(), false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field).trim().to_owned()),
            other => field.push(other),
        }
    }
    fields.push(field.trim().to_owned());
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_file_is_parsed_and_malformed_lines_are_refused() {
        let tokens = parse_token_file("t1,alice,1,\"a,b\"\n\nt2,bob,2\n").unwrap();
        assert_eq!(tokens["t1"].groups, ["a", "b"]);
        assert_eq!(tokens["t2"].name, "bob");
        assert!(parse_token_file("t1,alice").is_err());
    }
}
