//! Enums as values of a string index.

use serde::Serialize;

use super::IndexKey;

impl IndexKey {
    /// Returns the string that serde serializes `value` to.
    ///
    /// A variant that serde serializes to anything else, such as one with fields, is logged as an error, and the returned key finds
    /// nothing: no string index contains it.
    pub fn of_enum<T: Serialize>(value: &T) -> Self {
        if let Ok(serde_json::Value::String(text)) = serde_json::to_value(value) {
            return text.into();
        }
        tracing::error!(
            "index lookup finds nothing: serde does not serialize this variant of {} to a string; use variants without fields",
            std::any::type_name::<T>()
        );
        Self::Bool(false)
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
    fn enum_key_is_the_string_that_serde_serializes() {
        assert_eq!(IndexKey::of_enum(&Phase::InUse), IndexKey::from("in-use"));
        assert!(!matches!(
            IndexKey::of_enum(&Phase::Since(1)),
            IndexKey::String(_)
        ));
    }
}
