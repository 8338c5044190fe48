//! The static users of the API server.

use super::Builder;
use super::identity::{Identity, IdentityError, Server};
use crate::temp_folder::TempFolder;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A user with a token.
#[derive(Debug)]
struct StaticUser {
    name: String,
    groups: Vec<String>,
    token: String,
}

/// The administrator, kube-controller-manager, and the users of the builder.
#[derive(Debug)]
pub(super) struct StaticUsers {
    admin: StaticUser,
    manager: StaticUser,
    added: Vec<StaticUser>,
}

/// The users with their kubeconfigs.
#[derive(Debug)]
pub(super) struct Identities {
    pub(super) admin: Identity,
    pub(super) manager: Identity,
    pub(super) added: Vec<Identity>,
}

impl StaticUsers {
    pub(super) fn new(builder: &Builder) -> Self {
        let in_masters_group = |name| StaticUser::new(name, &["system:masters".to_owned()]);
        Self {
            admin: in_masters_group("admin"),
            manager: in_masters_group("system:kube-controller-manager"),
            added: builder
                .users
                .iter()
                .map(|(name, groups)| StaticUser::new(name, groups))
                .collect(),
        }
    }

    /// The token file of kube-apiserver: token, name, uid, groups.
    pub(super) fn csv(&self) -> String {
        [&self.admin, &self.manager]
            .into_iter()
            .chain(&self.added)
            .map(StaticUser::csv)
            .collect()
    }

    pub(super) fn identities(
        self,
        server: &Server,
        folder: &TempFolder,
    ) -> Result<Identities, IdentityError> {
        let write = |user: StaticUser, file: &str| {
            Identity::write(
                server,
                user.name,
                user.token,
                None,
                folder.kubeconfigs().join(file),
            )
        };
        let added = self.added.into_iter().enumerate();
        Ok(Identities {
            admin: write(self.admin, "admin.json")?,
            manager: write(self.manager, "kube-controller-manager.json")?,
            added: added
                .map(|(index, user)| write(user, &format!("user-{index}.json")))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl StaticUser {
    fn new(name: &str, groups: &[String]) -> Self {
        // Tokens must be unguessable for other users of the machine: the standard library's hasher keys are seeded by the system.
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
    fn token_file_quotes_names_and_groups() {
        let users = StaticUsers::new(&Builder::default().user("al\"ice, the", &["a", "b"]));
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
    fn tokens_are_unique() {
        let (one, two) = (StaticUser::new("a", &[]), StaticUser::new("a", &[]));
        assert_eq!(one.token.len(), 32);
        assert_ne!(one.token, two.token);
    }
}
