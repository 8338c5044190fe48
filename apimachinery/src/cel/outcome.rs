//! The results of expressions.

#[cfg(feature = "cel")]
use super::type_values;
#[cfg(feature = "cel")]
use kube_cel::cel::Value as CelValue;

/// The result of an expression, as far as admission uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A boolean.
    Bool(bool),
    /// A string.
    Text(String),
    /// Null.
    Null,
    /// A value of the type with this name.
    Other(String),
}

#[cfg(feature = "cel")]
impl Outcome {
    pub(super) fn from_cel(value: &CelValue) -> Self {
        match value {
            CelValue::Bool(truth) => Self::Bool(*truth),
            CelValue::String(text) => Self::Text(text.to_string()),
            CelValue::Null => Self::Null,
            other => Self::Other(type_values::name_of(other).to_owned()),
        }
    }
}

impl Outcome {
    /// The name of the result's type.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Bool(_) => "bool",
            Self::Text(_) => "string",
            Self::Null => "null_type",
            Self::Other(name) => name,
        }
    }
}
