//! What the code of `#[derive(Convert)]` calls: the rule of each field, chosen by its types.

use std::{fmt::Display, marker::PhantomData, ops::Deref};

pub use super::field_rules::FieldRules;
use super::{Convert, ConvertError};

/// A field of the other version, of type `T`, and of the hub, of type `H`. `rule` selects the rule by the types: the inherent method is
/// for equal types, that of [`ConvertField`] for others.
pub struct Field<T, H>(PhantomData<(T, H)>);

/// Returns a field. The closure, which is never called, gives the type of the hub's field.
pub fn field<T, H, Hub: ?Sized>(_of_hub: fn(&Hub) -> &H) -> Field<T, H> {
    Field(PhantomData)
}

/// Moves the value.
pub struct Same;

/// Converts the value.
pub struct Converted {
    describe: fn(&mut FieldRules),
}

impl<V> Field<V, V> {
    pub fn rule(self) -> Same {
        Same
    }
}

/// The rule of fields with different types. One method for both directions: a type without conversion is one error.
pub trait ConvertField<T, H> {
    fn rule(self) -> Converted
    where
        T: ConvertTo<H>;
}

impl<T, H> ConvertField<T, H> for Field<T, H> {
    fn rule(self) -> Converted
    where
        T: ConvertTo<H>,
    {
        let describe = T::describe_rules;
        Converted { describe }
    }
}

impl Same {
    pub fn to_hub<T>(self, value: T) -> Result<T, ConvertError> {
        Ok(value)
    }

    pub fn from_hub<T>(self, hub: T) -> Result<T, ConvertError> {
        Ok(hub)
    }

    pub fn describe(self, _rules: &mut FieldRules) {}
}

impl Converted {
    pub fn to_hub<T: Convert>(self, value: T) -> Result<T::Hub, ConvertError> {
        value.to_hub()
    }

    pub fn from_hub<T: Convert>(self, hub: T::Hub) -> Result<T, ConvertError> {
        T::from_hub(hub)
    }

    pub fn describe(self, rules: &mut FieldRules) {
        (self.describe)(rules);
    }
}

/// [`Convert`] with the hub's type as a parameter, so that one error names both types.
#[diagnostic::on_unimplemented(
    message = "the field has type `{Self}` here and `{H}` in the hub, and nothing converts between them",
    label = "add `#[convert(with = module)]` with the functions `to_hub` and `from_hub`, or `Convert` to the derives of its type",
    note = "`Option`, `Vec`, `Box` and maps of a type with `#[derive(Convert)]` are converted"
)]
pub trait ConvertTo<H> {
    fn describe_rules(rules: &mut FieldRules);
}

#[diagnostic::do_not_recommend]
impl<T: Convert> ConvertTo<T::Hub> for T {
    fn describe_rules(rules: &mut FieldRules) {
        T::describe(rules);
    }
}

/// The hub, under a name that the compiler shows when a field is missing in it: "no field `x` on type …".
pub struct AddConvertRenamedOrDropped<T>(PhantomData<T>);

impl<T> Deref for AddConvertRenamedOrDropped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        unreachable!("only the type of fields is used")
    }
}

/// What functions of `with` and `from` return: a value, or a `Result` with an error that can be displayed.
pub trait Outcome<T> {
    fn outcome(self) -> Result<T, ConvertError>;
}

impl<T> Outcome<T> for T {
    fn outcome(self) -> Result<T, ConvertError> {
        Ok(self)
    }
}

impl<T, E: Display> Outcome<T> for Result<T, E> {
    fn outcome(self) -> Result<T, ConvertError> {
        self.map_err(ConvertError::new)
    }
}

/// Returns what a function of `with` or `from` returned.
pub fn outcome<T>(returned: impl Outcome<T>) -> Result<T, ConvertError> {
    returned.outcome()
}
