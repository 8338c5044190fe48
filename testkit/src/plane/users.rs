//! The users that the API server knows from the start.

use super::Builder;
use super::identity::{Identity, IdentityError, Server};
use crate::folder::Folder;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A user with a token.
#[derive(Debug)]
struct User {
    name: String,
    groups: Vec<String>,
    token: String,
}

/// The administrator, kube-controller-manager, and whom the builder names.
#[derive(Debug)]
pub(super) struct Users {
    admin: User,
    manager: User,
    others: Vec<User>,
}

/// The same with their kubeconfigs.
#[derive(Debug)]
pub(super) struct Identities {
    pub(super) admin: Identity,
    pub(super) manager: Identity,
    pub(super) others: Vec<Identity>,
}

impl Users {
    pub(super) fn new(builder: &Builder) -> Self {
        let master = |name| User::new(name, &["system:masters".to_owned()]);
        Self {
            admin: master("admin"),
            manager: master("system:kube-controller-manager"),
            others: builder
                .users
                .iter()
                .map(|(name, groups)| User::new(name, groups))
                .collect(),
        }
    }

    /// kube-apiserver's file: token, name, uid, groups.
    pub(super) fn csv(&self) -> String {
        [&self.admin, &self.manager]
            .into_iter()
            .chain(&self.others)
            .map(User::csv)
            .collect()
    }

    pub(super) fn identities(self, server: &Server, folder: &Folder) -> Result<Identities, IdentityError> {
        let write = |user: User, file: &str| {
            Identity::write(
                server,
                user.name,
                user.token,
                None,
                folder.kubeconfigs().join(file),
            )
        };
        let others = self.others.into_iter().enumerate();
        Ok(Identities {
            admin: write(self.admin, "admin.json")?,
            manager: write(self.manager, "kube-controller-manager.json")?,
            others: others
                .map(|(index, user)| write(user, &format!("user-{index}.json")))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl User {
    fn new(name: &str, groups: &[String]) -> Self {
        // Nothing that other users of the machine could guess: the standard library seeds from the system.
        let half = || RandomState::new().build_hasher().finish();
        let token = format!("{:016x}{:016x}", half(), half());
        Self {
            name: name.to_owned(),
            groups: groups.to_vec(),
            token,
        }
    }

    fn csv(&self) -> String {
        let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let name = quote(&self.name);
        format!("{},{name},{name},{}\n", self.token, quote(&self.groups.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_has_everybody_quoted() {
        let users = Users::new(&Builder::default().user("al\"ice, the", &["a", "b"]));
        let csv = users.csv();
        let lines: Vec<&str> = csv.lines().map(|line| line.split_once(',').unwrap().1).collect();
        assert_eq!(
            lines,
            [
                r#""admin","admin","system:masters""#,
                r#""system:kube-controller-manager","system:kube-controller-manager","system:masters""#,
                r#""al""ice, the","al""ice, the","a,b""#,
            ]
        );
    }

    #[test]
    fn tokens_differ() {
        let (one, two) = (User::new("a", &[]), User::new("a", &[]));
        assert_eq!(one.token.len(), 32);
        assert_ne!(one.token, two.token);
    }
}
