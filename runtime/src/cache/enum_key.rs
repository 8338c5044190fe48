//! Enums as values of an index of strings.

use serde::Serialize;

use super::IndexKey;

impl IndexKey {
    /// The string that serde makes of `value`. What serde makes something else of finds nothing: the key is one that no index of
    /// strings holds.
    pub fn of_enum<T: Serialize>(value: &T) -> Self {
        match serde_json::to_value(value) {
            Ok(serde_json::Value::String(text)) => text.into(),
            _ => Self::Bool(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    #[serde(rename_all = "kebab-case")]
    enum Phase {
        InUse,
        Since(u32),
    }

    #[test]
    fn an_enum_is_the_string_that_serde_makes() {
        assert_eq!(IndexKey::of_enum(&Phase::InUse), IndexKey::from("in-use"));
        assert!(!matches!(
            IndexKey::of_enum(&Phase::Since(1)),
            IndexKey::String(_)
        ));
    }
}
