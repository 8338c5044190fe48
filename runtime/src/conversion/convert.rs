//! [`Convert`]: the typed conversion between a type of another version and the hub's.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    hash::{BuildHasher, Hash},
};

use super::FieldRules;

/// Converts between a type of another version and the type of the hub that has its place. `#[derive(Convert)]` implements it.
///
/// Implement it by hand where the derive's rules do not suffice. What one side cannot hold may be lost here: the webhook finds the loss by
/// a round trip and keeps it in an annotation; see the [module](super). So equal input must give equal output.
///
/// `Option`, `Vec`, `Box` and maps convert when their elements do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no conversion to the hub",
    note = "add `Convert` to its derives, with the hub's type: `#[convert(hub = …)]`"
)]
pub trait Convert: Sized {
    /// The hub's type.
    type Hub;

    /// Converts to the hub's type.
    ///
    /// # Errors
    /// The value has no equivalent. The conversion of the whole object fails then, and so does the request of the client.
    fn to_hub(self) -> Result<Self::Hub, ConvertError>;

    /// Converts from the hub's type.
    ///
    /// # Errors
    /// As those of [`to_hub`](Self::to_hub).
    fn from_hub(hub: Self::Hub) -> Result<Self, ConvertError>;

    /// Adds the rules of the fields. Without rules, both functions change no JSON, so that the API server may convert by itself. What an
    /// implementation by hand does is unknown.
    #[doc(hidden)]
    fn describe(rules: &mut FieldRules) {
        rules.function("", "");
    }
}

/// Why a value cannot be converted, with the path of the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertError {
    path: String,
    reason: String,
}

impl ConvertError {
    /// Returns an error with a reason. [`Convert`] of the types around the value adds the path.
    pub fn new(reason: impl fmt::Display) -> Self {
        Self {
            path: String::new(),
            reason: reason.to_string(),
        }
    }

    /// Prepends a field to the path: in an implementation of [`Convert`] by hand, for the errors of nested values.
    #[must_use]
    pub fn in_field(self, field: &str) -> Self {
        self.prefixed(field)
    }

    /// The error without its reason, which may quote values.
    pub(super) fn hidden(self) -> Self {
        Self {
            reason: "the reason is hidden because the kind is sensitive".to_owned(),
            ..self
        }
    }

    fn in_element(self, element: impl fmt::Display) -> Self {
        self.prefixed(&format!("[{element}]"))
    }

    fn prefixed(self, step: &str) -> Self {
        let is_last = self.path.is_empty() || self.path.starts_with('[');
        let separator = if is_last { "" } else { "." };
        Self {
            path: format!("{step}{separator}{}", self.path),
            reason: self.reason,
        }
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.reason);
        }
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl std::error::Error for ConvertError {}

impl<T: Convert> Convert for Option<T> {
    type Hub = Option<T::Hub>;

    fn to_hub(self) -> Result<Self::Hub, ConvertError> {
        self.map(T::to_hub).transpose()
    }

    fn from_hub(hub: Self::Hub) -> Result<Self, ConvertError> {
        hub.map(T::from_hub).transpose()
    }

    fn describe(rules: &mut FieldRules) {
        T::describe(rules);
    }
}

impl<T: Convert> Convert for Box<T> {
    type Hub = Box<T::Hub>;

    fn to_hub(self) -> Result<Self::Hub, ConvertError> {
        (*self).to_hub().map(Box::new)
    }

    fn from_hub(hub: Self::Hub) -> Result<Self, ConvertError> {
        T::from_hub(*hub).map(Self::new)
    }

    fn describe(rules: &mut FieldRules) {
        T::describe(rules);
    }
}

impl<T: Convert> Convert for Vec<T> {
    type Hub = Vec<T::Hub>;

    fn to_hub(self) -> Result<Self::Hub, ConvertError> {
        elements(self, T::to_hub)
    }

    fn from_hub(hub: Self::Hub) -> Result<Self, ConvertError> {
        elements(hub, T::from_hub)
    }

    fn describe(rules: &mut FieldRules) {
        rules.elements(T::describe);
    }
}

fn elements<A, B>(from: Vec<A>, convert: fn(A) -> Result<B, ConvertError>) -> Result<Vec<B>, ConvertError> {
    let elements = from.into_iter().enumerate();
    elements
        .map(|(at, element)| convert(element).map_err(|error| error.in_element(at)))
        .collect()
}

impl<K: Ord + fmt::Display, T: Convert> Convert for BTreeMap<K, T> {
    type Hub = BTreeMap<K, T::Hub>;

    fn to_hub(self) -> Result<Self::Hub, ConvertError> {
        entries(self, T::to_hub)
    }

    fn from_hub(hub: Self::Hub) -> Result<Self, ConvertError> {
        entries(hub, T::from_hub)
    }

    fn describe(rules: &mut FieldRules) {
        rules.values(T::describe);
    }
}

impl<K: Eq + Hash + fmt::Display, T: Convert, S: BuildHasher + Default> Convert for HashMap<K, T, S> {
    type Hub = HashMap<K, T::Hub, S>;

    fn to_hub(self) -> Result<Self::Hub, ConvertError> {
        entries(self, T::to_hub)
    }

    fn from_hub(hub: Self::Hub) -> Result<Self, ConvertError> {
        entries(hub, T::from_hub)
    }

    fn describe(rules: &mut FieldRules) {
        rules.values(T::describe);
    }
}

fn entries<K: fmt::Display, A, B, C: FromIterator<(K, B)>>(
    from: impl IntoIterator<Item = (K, A)>,
    convert: fn(A) -> Result<B, ConvertError>,
) -> Result<C, ConvertError> {
    let entry = |(key, value)| match convert(value) {
        Ok(value) => Ok((key, value)),
        Err(error) => Err(error.in_element(key)),
    };
    from.into_iter().map(entry).collect()
}
