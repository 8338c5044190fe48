//! Verbs as types: they restrict the methods of a client at compile time, and generate the Role.

use crate::{Kind, WithScale, WithStatus};

/// The RBAC rule of one verb type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerbRule {
    /// The verb type's name, which names the permission.
    pub unit: &'static str,
    /// The subresource; none for the object itself.
    pub subresource: Option<&'static str>,
    /// The RBAC verbs.
    pub verbs: &'static [&'static str],
}

/// A verb for clients of kind `K`; verbs of a subresource exist only for kinds that have it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no verb",
    note = "the verbs stand in `kubewright::client`: Get, List, Create, Update, Patch, Apply, Delete, UpdateStatus and so on"
)]
pub trait Verb<K> {
    /// Returns the verb's RBAC rule.
    const RULE: VerbRule;
}

/// A tuple of verbs, or [`All`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tuple of verbs that kind `{K}` has",
    note = "write a tuple of verbs, as in `(Get, Apply)`, with a comma behind a single one: `(Apply,)`; \
            status and scale verbs need a kind with that subresource"
)]
pub trait Verbs<K> {
    /// Returns the RBAC rules of all verbs.
    #[doc(hidden)]
    fn rules() -> Vec<VerbRule>;
}

/// The client may use the verb `V`. `At` is the verb's position in the tuple, which the compiler infers.
///
/// Methods of [`TypedClient`](super::TypedClient) require it through a trait per verb ([`may`]), for a better error message
/// of the compiler.
#[diagnostic::on_unimplemented(
    message = "this client may not `{V}`",
    note = "add the verb to the client's type, as in `TypedClient<Kind, ({V}, …)>`; the operator's role follows"
)]
pub trait Allows<V, At> {}

/// Every verb of the kind. The Role then allows everything; `kubewright generate` warns about it.
#[derive(Debug, Clone, Copy)]
pub struct All;

macro_rules! verbs {
    ($($(#[$doc:meta])* $verb:ident, $may:ident, $denied:tt: $kind:ident, $subresource:expr, $verbs:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy)]
            pub struct $verb;

            impl<K: $kind> Verb<K> for $verb {
                const RULE: VerbRule =
                    VerbRule { unit: stringify!($verb), subresource: $subresource, verbs: &$verbs };
            }
        )*

        /// [`Allows`] of each verb. The compiler's message about a missing one then has the verb's bare name: of a generic trait
        /// it would write the whole path wherever another crate has a type of that name.
        pub(crate) mod may {
            use super::Allows;

            $(
                #[doc = concat!("The client may [`", stringify!($verb), "`](super::", stringify!($verb), ").")]
                #[diagnostic::on_unimplemented(
                    message = $denied,
                    label = "the verb is not in the client's type",
                    note = "add it to the tuple in `TypedClient<Kind, (…)>`; the operator's role follows at the next `kubewright generate`"
                )]
                pub trait $may<At> {}

                #[diagnostic::do_not_recommend]
                impl<V: Allows<super::$verb, At>, At> $may<At> for V {}
            )*
        }
    };
}

verbs! {
    /// Read an object from the API server. For reads that may be slightly stale use a lister.
    Get, MayGet, "this client may not `Get`": Kind, None, ["get"];
    /// List objects from the API server.
    List, MayList, "this client may not `List`": Kind, None, ["list"];
    /// Watch objects on the API server. For a cache use an informer.
    Watch, MayWatch, "this client may not `Watch`": Kind, None, ["watch"];
    /// Create an object.
    Create, MayCreate, "this client may not `Create`": Kind, None, ["create"];
    /// Replace an object.
    Update, MayUpdate, "this client may not `Update`": Kind, None, ["update"];
    /// Change parts of an object: JSON, merge or strategic merge patch.
    Patch, MayPatch, "this client may not `Patch`": Kind, None, ["patch"];
    /// Server-side apply; it creates a missing object.
    Apply, MayApply, "this client may not `Apply`": Kind, None, ["patch", "create"];
    /// Delete an object.
    Delete, MayDelete, "this client may not `Delete`": Kind, None, ["delete"];
    /// Delete all objects that match selectors.
    DeleteCollection, MayDeleteCollection, "this client may not `DeleteCollection`": Kind, None, ["deletecollection"];
    /// Replace the status.
    UpdateStatus, MayUpdateStatus, "this client may not `UpdateStatus`": WithStatus, Some("status"), ["update"];
    /// Change parts of the status.
    PatchStatus, MayPatchStatus, "this client may not `PatchStatus`": WithStatus, Some("status"), ["patch"];
    /// Server-side apply of the status.
    ApplyStatus, MayApplyStatus, "this client may not `ApplyStatus`": WithStatus, Some("status"), ["patch"];
    /// Read the scale.
    GetScale, MayGetScale, "this client may not `GetScale`": WithScale, Some("scale"), ["get"];
    /// Set the number of replicas.
    UpdateScale, MayUpdateScale, "this client may not `UpdateScale`": WithScale, Some("scale"), ["update", "patch"];
}

/// The position of a verb in a tuple.
#[derive(Debug, Clone, Copy)]
pub struct At<const I: usize>;

/// The position of every verb in [`All`].
#[derive(Debug, Clone, Copy)]
pub struct Anywhere;

impl<V> Allows<V, Anywhere> for All {}

impl<K: Kind> Verbs<K> for All {
    /// Status and scale are granted even if the kind lacks them: a role may name a subresource that does not exist.
    fn rules() -> Vec<VerbRule> {
        let rule = |subresource, verbs| VerbRule {
            unit: "All",
            subresource,
            verbs,
        };
        vec![
            rule(
                None,
                &[
                    "get",
                    "list",
                    "watch",
                    "create",
                    "update",
                    "patch",
                    "delete",
                    "deletecollection",
                ],
            ),
            rule(Some("status"), &["update", "patch"]),
            rule(Some("scale"), &["get", "update", "patch"]),
        ]
    }
}

/// Implements [`Verbs`] and [`Allows`] for one tuple: its verbs, then each verb with its position.
macro_rules! tuple {
    ($($verb:ident)*; $($at:literal $place:ident)*) => {
        impl<Kind_, $($verb: Verb<Kind_>),*> Verbs<Kind_> for ($($verb,)*) {
            fn rules() -> Vec<VerbRule> {
                vec![$($verb::RULE),*]
            }
        }
        tuple!(@places ($($verb)*) $($at $place)*);
    };
    (@places $verbs:tt $($at:literal $place:ident)*) => {
        $(tuple!(@place $verbs $at $place);)*
    };
    (@place ($($verb:ident)*) $at:literal $place:ident) => {
        impl<$($verb),*> Allows<$place, At<$at>> for ($($verb,)*) {}
    };
}

tuple!(A; 0 A);
tuple!(A B; 0 A 1 B);
tuple!(A B C; 0 A 1 B 2 C);
tuple!(A B C D; 0 A 1 B 2 C 3 D);
tuple!(A B C D E; 0 A 1 B 2 C 3 D 4 E);
tuple!(A B C D E F; 0 A 1 B 2 C 3 D 4 E 5 F);
tuple!(A B C D E F G; 0 A 1 B 2 C 3 D 4 E 5 F 6 G);
tuple!(A B C D E F G H; 0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H);
tuple!(A B C D E F G H I; 0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I);
tuple!(A B C D E F G H I J; 0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I 9 J);
tuple!(A B C D E F G H I J K; 0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I 9 J 10 K);
tuple!(A B C D E F G H I J K L; 0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I 9 J 10 K 11 L);

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;

    use super::*;

    #[test]
    fn tuple_has_the_rules_of_its_verbs_in_order() {
        let rules = <(Apply, UpdateStatus) as Verbs<Deployment>>::rules();
        let expected = [
            VerbRule {
                unit: "Apply",
                subresource: None,
                verbs: &["patch", "create"],
            },
            VerbRule {
                unit: "UpdateStatus",
                subresource: Some("status"),
                verbs: &["update"],
            },
        ];
        assert_eq!(rules, expected);
    }

    #[test]
    fn twelve_verbs_fit_in_a_tuple() {
        fn may<V, A>()
        where
            V: Allows<UpdateScale, A> + Verbs<Deployment>,
        {
            assert_eq!(V::rules().len(), 12);
        }
        may::<
            (
                Get,
                List,
                Create,
                Update,
                Patch,
                Apply,
                Delete,
                UpdateStatus,
                PatchStatus,
                ApplyStatus,
                GetScale,
                UpdateScale,
            ),
            _,
        >();
    }

    #[test]
    fn all_covers_every_verb_of_every_client_method() {
        let all = <All as Verbs<Deployment>>::rules();
        let single = [
            <(
                Get,
                List,
                Watch,
                Create,
                Update,
                Patch,
                Apply,
                Delete,
                DeleteCollection,
            ) as Verbs<Deployment>>::rules(),
            <(UpdateStatus, PatchStatus, ApplyStatus, GetScale, UpdateScale) as Verbs<Deployment>>::rules(),
        ];
        for rule in single.concat() {
            let granted = all
                .iter()
                .find(|one| one.subresource == rule.subresource)
                .unwrap();
            assert!(
                rule.verbs.iter().all(|verb| granted.verbs.contains(verb)),
                "{rule:?}"
            );
        }
    }
}
