//! Verbs as types: what a client may do, known to the compiler and to the Role.

use crate::{Kind, WithScale, WithStatus};

/// What one verb stands for in a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerbRule {
    /// The verb type's name: the unit of permission.
    pub unit: &'static str,
    /// The subresource, or none for the object itself.
    pub subresource: Option<&'static str>,
    /// The verbs that a role grants.
    pub verbs: &'static [&'static str],
}

/// A verb for clients of kind `K`; verbs of a subresource exist only for kinds that have it.
pub trait Verb<K> {
    /// What the verb stands for in a role.
    const RULE: VerbRule;
}

/// A tuple of verbs, or [`All`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tuple of verbs that kind `{K}` has",
    note = "write a tuple of verbs, as in `(Get, Apply)`, with a comma behind a single one: `(Apply,)`; \
            status and scale verbs need a kind with that subresource"
)]
pub trait Verbs<K> {
    /// What they stand for in a role.
    fn rules() -> Vec<VerbRule>;
}

/// The client may `V`. `At` is the verb's place in the tuple, which the compiler finds.
#[diagnostic::on_unimplemented(
    message = "this client may not `{V}`",
    label = "`{V}` is not among the client's verbs `{Self}`",
    note = "add the verb to the client's type, as in `TypedClient<Kind, ({V}, …)>`; the operator's Role follows"
)]
pub trait Allows<V, At> {}

/// Every verb that the kind has. The Role then allows everything; `kubewright generate` warns of it.
#[derive(Debug, Clone, Copy)]
pub struct All;

macro_rules! verbs {
    ($($(#[$doc:meta])* $verb:ident : $kind:ident, $subresource:expr, $verbs:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $verb;

        impl<K: $kind> Verb<K> for $verb {
            const RULE: VerbRule = VerbRule { unit: stringify!($verb), subresource: $subresource, verbs: &$verbs };
        }
    )*};
}

verbs! {
    /// Read an object from the API server; reads that may be a moment old come from a lister instead.
    Get: Kind, None, ["get"];
    /// List objects from the API server.
    List: Kind, None, ["list"];
    /// Create an object.
    Create: Kind, None, ["create"];
    /// Replace an object.
    Update: Kind, None, ["update"];
    /// Change parts of an object: JSON, merge or strategic merge patch.
    Patch: Kind, None, ["patch"];
    /// Server-side apply; creates what is missing.
    Apply: Kind, None, ["patch", "create"];
    /// Delete an object.
    Delete: Kind, None, ["delete"];
    /// Replace the status.
    UpdateStatus: WithStatus, Some("status"), ["update"];
    /// Change parts of the status.
    PatchStatus: WithStatus, Some("status"), ["patch"];
    /// Server-side apply of the status.
    ApplyStatus: WithStatus, Some("status"), ["patch"];
    /// Read the scale.
    GetScale: WithScale, Some("scale"), ["get"];
    /// Set the number of replicas.
    UpdateScale: WithScale, Some("scale"), ["update", "patch"];
}

/// The place of a verb in a tuple.
#[derive(Debug, Clone, Copy)]
pub struct At<const I: usize>;

/// The place of every verb in [`All`].
#[derive(Debug, Clone, Copy)]
pub struct Anywhere;

impl<V> Allows<V, Anywhere> for All {}

impl<A> Allows<A, At<0>> for (A,) {}
impl<K, A: Verb<K>> Verbs<K> for (A,) {
    fn rules() -> Vec<VerbRule> {
        vec![A::RULE]
    }
}
