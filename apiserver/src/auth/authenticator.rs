//! Who a request is from: a certificate, a static token, a service account's token, or nobody.

use super::{ServiceAccountTokens, User};
use crate::status::ApiError;
use crate::store::Store;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use std::collections::HashMap;

/// Knows users by what they show.
#[derive(Debug)]
pub struct Authenticator {
    /// Users by their static tokens.
    pub tokens: HashMap<String, User>,
    /// The tokens of service accounts.
    pub accounts: ServiceAccountTokens,
}

impl Authenticator {
    /// The user of a request, over a connection whose certificate names `certificate`.
    ///
    /// # Errors
    ///
    /// 401 for a token that is nobody's.
    pub fn authenticate(
        &self,
        store: &Store,
        headers: &HeaderMap,
        certificate: Option<&User>,
    ) -> Result<User, ApiError> {
        if let Some(user) = certificate {
            return Ok(authenticated(user.clone()));
        }
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        match token {
            Some(token) if !token.is_empty() => self
                .user_of(store, token)
                .map(authenticated)
                .ok_or_else(ApiError::unauthorized),
            _ => Ok(User::anonymous()),
        }
    }

    /// The user of a token.
    pub fn user_of(&self, store: &Store, token: &str) -> Option<User> {
        match self.tokens.get(token) {
            Some(user) => Some(user.clone()),
            None => self.accounts.verify(store, token),
        }
    }
}

fn authenticated(mut user: User) -> User {
    let group = "system:authenticated";
    if !user.is_in(group) {
        user.groups.push(group.to_owned());
    }
    user
}

/// Reads a static token file: a line a user, `token,user,uid,"group1,group2"`. Malformed lines are refused.
pub(crate) fn read_tokens(text: &str) -> Result<HashMap<String, User>, String> {
    let mut tokens = HashMap::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let fields = fields(line);
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

/// Fields apart by commas; quotes keep commas in.
fn fields(line: &str) -> Vec<String> {
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
    fn reads_token_files() {
        let tokens = read_tokens("t1,alice,1,\"a,b\"\n\nt2,bob,2\n").unwrap();
        assert_eq!(tokens["t1"].groups, ["a", "b"]);
        assert_eq!(tokens["t2"].name, "bob");
        assert!(read_tokens("t1,alice").is_err());
    }
}
