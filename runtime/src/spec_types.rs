//! The derives that the types in a custom resource need. The expansion of `#[derive(Informer)]` requires them, so that a missing one is an
//! error with its name, at the type; without that, the compiler lists all types that implement the trait. So does that of
//! `#[derive(ApplyConfiguration)]`.
//!
//! The types in the fields of a field's type are not checked unless it derives `ApplyConfiguration`, and then not for `JsonSchema`: a derive
//! sees the fields of its own struct only, and only schemars can write the error of its trait. A bound that requires the fields' derives if the
//! struct itself implements `JsonSchema` needs specialization. An impl `Fields<'a> for Rule where Limit: DerivesJsonSchema<'a>`, which the kind
//! requires, compiles, but its error is at the spec's field and not at that of `Rule`, which has the compiler's error already.

use std::{fmt::Debug, marker::PhantomData};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

/// Requires the derives that the types of `spec` and `status` need besides those of every type in them.
pub struct RootType<T: DerivesClone + DerivesDebug>(PhantomData<T>);

/// Requires the derives with which a type is read and written.
pub struct SerdeType<T: DerivesDeserialize + DerivesSerialize>(PhantomData<T>);

/// Requires the derive from which the schema is generated.
pub struct SchemaType<T: DerivesJsonSchema>(PhantomData<T>);

/// Requires that a type is applied by fields.
pub struct NestedType<T: HasApplyConfiguration>(PhantomData<T>);

/// Requires what a type needs that is applied as a whole.
pub struct WholeType<T: DerivesPartialEq>(PhantomData<T>);

/// A type with `#[derive(ApplyConfiguration)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no apply configuration",
    label = "add `ApplyConfiguration` to the derives of `{Self}`"
)]
pub trait HasApplyConfiguration {}

// Each trait is that of the derive under a name of ours, since only the trait's crate can write its error. `do_not_recommend` makes the
// compiler report our trait rather than the other one.

#[diagnostic::on_unimplemented(
    message = "`{Self}` is the spec or status of a kind and does not implement `Clone`",
    label = "add `Clone` to the derives of `{Self}`"
)]
pub trait DerivesClone {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` is the spec or status of a kind and does not implement `Debug`",
    label = "add `Debug` to the derives of `{Self}`"
)]
pub trait DerivesDebug {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` is part of a custom resource and does not implement `Deserialize`",
    label = "add `Deserialize` to the derives of `{Self}`; if it is there, correct the `#[serde(…)]` attribute in the error of that derive",
    note = "a type of another crate needs that crate's serde feature, or `#[serde(with = \"…\")]` on the field"
)]
pub trait DerivesDeserialize {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` is part of a custom resource and does not implement `Serialize`",
    label = "add `Serialize` to the derives of `{Self}`; if it is there, correct the `#[serde(…)]` attribute in the error of that derive",
    note = "a type of another crate needs that crate's serde feature, or `#[serde(with = \"…\")]` on the field"
)]
pub trait DerivesSerialize {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` is part of a custom resource and does not implement `JsonSchema`",
    label = "add `JsonSchema` to the derives of `{Self}`; if it is there, correct the `#[schemars(…)]` attribute in the error of that derive",
    note = "a type of another crate needs that crate's schemars feature, or `#[schemars(with = \"…\")]` on the field"
)]
pub trait DerivesJsonSchema {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` is applied as a whole and does not implement `PartialEq`",
    label = "add `PartialEq` to the derives of `{Self}`",
    note = "a struct with `#[derive(ApplyConfiguration)]` does not need it: `#[apply(nested)]` on the field applies its fields"
)]
pub trait DerivesPartialEq {}

#[diagnostic::do_not_recommend]
impl<T: PartialEq> DerivesPartialEq for T {}

#[diagnostic::do_not_recommend]
impl<T: Clone> DerivesClone for T {}

#[diagnostic::do_not_recommend]
impl<T: Debug> DerivesDebug for T {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> DerivesDeserialize for T {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> DerivesSerialize for T {}

#[diagnostic::do_not_recommend]
impl<T: JsonSchema> DerivesJsonSchema for T {}
