//! Which service accounts a namespace lacks.

/// The accounts that each namespace has.
pub(super) const ACCOUNTS: [&str; 1] = ["default"];

/// Returns the names of the accounts to create. A namespace that is being deleted gets none.
pub(super) fn missing_accounts(phase: &str, exists: impl Fn(&str) -> bool) -> Vec<&'static str> {
    if phase != "Active" {
        return Vec::new();
    }
    ACCOUNTS.into_iter().filter(|name| !exists(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_namespaces_get_what_they_lack() {
        for (phase, existing, expected) in [
            ("Active", &[][..], &["default"][..]),
            ("Active", &["default"], &[]),
            ("Active", &["other"], &["default"]),
            ("Terminating", &[], &[]),
            ("", &[], &[]),
        ] {
            let missing = missing_accounts(phase, |name| existing.contains(&name));
            assert_eq!(missing, expected, "{phase} {existing:?}");
        }
    }
}
