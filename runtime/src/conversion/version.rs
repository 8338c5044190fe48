//! [`Versioned`], and the conversion between two Rust types of a kind as functions of JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned, de::IgnoredAny};
use serde_json::{Map, Value};

use super::{Convert, ConvertError, FieldRule, FieldRules};
use crate::CustomKind;

/// A custom kind whose objects consist of `spec` and `status`. `#[derive(Informer)]` implements it.
#[diagnostic::on_unimplemented(
    message = "the objects of `{Self}` cannot be converted to another version",
    note = "add `Informer` to the derives of its spec, which `#[kube(no_spec)]` must not have"
)]
pub trait Versioned: CustomKind {
    /// The type of `spec`.
    type Spec;
    /// The type of `status`; [`NoStatus`] without one.
    type Status;
}

/// A version that can be converted from and to the hub `H`: its spec and status have [`Convert`] with the hub's types.
pub trait OtherVersion<H>: Versioned {
    /// Converts an object of this version, and the result back.
    #[doc(hidden)]
    fn object_to_hub(object: &Map<String, Value>) -> Result<RoundTrip, ConvertError>;

    /// Converts an object of the hub, and the result back.
    #[doc(hidden)]
    fn object_from_hub(object: &Map<String, Value>) -> Result<RoundTrip, ConvertError>;

    /// The rules of the fields. Without rules, both change nothing where the schemas are equal.
    #[doc(hidden)]
    fn rules() -> Vec<FieldRule>;
}

/// The status of kinds without one.
pub struct NoStatus;

impl<'de> Deserialize<'de> for NoStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl Serialize for NoStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

/// Converts a status to that of the hub, which other versions may lack.
#[diagnostic::on_unimplemented(
    message = "the status `{Self}` cannot be converted to the hub's status `{H}`",
    note = "add `Convert` to its derives, with `#[convert(hub = …)]`: a type that both versions use is its own hub"
)]
pub trait ConvertStatus<H>: Sized {
    fn status_to_hub(self) -> Result<Option<H>, ConvertError>;
    fn status_from_hub(hub: H) -> Result<Option<Self>, ConvertError>;
    fn describe_status(rules: &mut FieldRules);
}

#[diagnostic::do_not_recommend]
impl<T: Convert> ConvertStatus<T::Hub> for T {
    fn status_to_hub(self) -> Result<Option<T::Hub>, ConvertError> {
        self.to_hub().map(Some)
    }

    fn status_from_hub(hub: T::Hub) -> Result<Option<Self>, ConvertError> {
        Self::from_hub(hub).map(Some)
    }

    fn describe_status(rules: &mut FieldRules) {
        T::describe(rules);
    }
}

impl<H> ConvertStatus<H> for NoStatus {
    fn status_to_hub(self) -> Result<Option<H>, ConvertError> {
        Ok(None)
    }

    fn status_from_hub(_hub: H) -> Result<Option<Self>, ConvertError> {
        Ok(None)
    }

    /// If the hub has a status, the schemas differ.
    fn describe_status(_rules: &mut FieldRules) {}
}

/// `spec` and `status` of an object in another version, and what they give on the way back.
pub struct RoundTrip {
    pub(super) there: Map<String, Value>,
    pub(super) back: Map<String, Value>,
}

/// Converts an object and the result back.
pub(super) type ConvertObject = fn(&Map<String, Value>) -> Result<RoundTrip, ConvertError>;

impl<O, H> OtherVersion<H> for O
where
    H: Versioned<Spec: DeserializeOwned + Serialize, Status: DeserializeOwned + Serialize>,
    O: Versioned<
            Spec: DeserializeOwned + Serialize + Convert<Hub = H::Spec>,
            Status: DeserializeOwned + Serialize + ConvertStatus<H::Status>,
        >,
{
    fn object_to_hub(object: &Map<String, Value>) -> Result<RoundTrip, ConvertError> {
        round_trip(
            object,
            (O::Spec::to_hub, O::Spec::from_hub),
            (O::Status::status_to_hub, O::Status::status_from_hub),
        )
    }

    fn object_from_hub(object: &Map<String, Value>) -> Result<RoundTrip, ConvertError> {
        round_trip(
            object,
            (O::Spec::from_hub, O::Spec::to_hub),
            (O::Status::status_from_hub, O::Status::status_to_hub),
        )
    }

    fn rules() -> Vec<FieldRule> {
        let mut rules = FieldRules::default();
        rules.field("spec", "spec", O::Spec::describe);
        rules.field("status", "status", O::Status::describe_status);
        rules.into_rules()
    }
}

/// A function, and the one back.
type Functions<A, B, C = B, D = A> = (fn(A) -> Result<B, ConvertError>, fn(C) -> Result<D, ConvertError>);

/// Converts an object and the result back.
fn round_trip<A, B, C, D>(
    object: &Map<String, Value>,
    (spec_there, spec_back): Functions<A, B>,
    (status_there, status_back): Functions<C, Option<D>, D, Option<C>>,
) -> Result<RoundTrip, ConvertError>
where
    A: DeserializeOwned + Serialize,
    B: Serialize,
    C: DeserializeOwned + Serialize,
    D: Serialize,
{
    let there_spec = spec_there(spec(object)?).map_err(in_spec)?;
    let there_status = status(object)?.map(status_there).transpose();
    let there_status = there_status.map_err(in_status)?.flatten();
    let there = fields(&there_spec, there_status.as_ref())?;
    let back_spec = spec_back(there_spec).map_err(in_spec)?;
    let back_status = there_status.map(status_back).transpose();
    let back_status = back_status.map_err(in_status)?.flatten();
    let back = fields(&back_spec, back_status.as_ref())?;
    Ok(RoundTrip { there, back })
}

/// Decodes the spec. An object without one has an empty spec.
fn spec<T: DeserializeOwned>(object: &Map<String, Value>) -> Result<T, ConvertError> {
    let empty = Value::Object(Map::new());
    let spec = object.get("spec").unwrap_or(&empty);
    T::deserialize(spec).map_err(|error| in_spec(ConvertError::new(error)))
}

fn status<T: DeserializeOwned>(object: &Map<String, Value>) -> Result<Option<T>, ConvertError> {
    let status = object.get("status").filter(|status| !status.is_null());
    let status = status.map(T::deserialize).transpose();
    status.map_err(|error| in_status(ConvertError::new(error)))
}

fn fields<T: Serialize>(
    spec: &impl Serialize,
    status: Option<&T>,
) -> Result<Map<String, Value>, ConvertError> {
    let mut fields = Map::new();
    let spec = serde_json::to_value(spec).map_err(|error| in_spec(ConvertError::new(error)))?;
    fields.insert("spec".to_owned(), spec);
    if let Some(status) = status {
        let status = serde_json::to_value(status).map_err(|error| in_status(ConvertError::new(error)))?;
        fields.insert("status".to_owned(), status);
    }
    Ok(fields)
}

fn in_spec(error: ConvertError) -> ConvertError {
    error.in_field("spec")
}

fn in_status(error: ConvertError) -> ConvertError {
    error.in_field("status")
}
