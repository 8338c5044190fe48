//! Several versions of a kind, and the conversion between them.
//!
//! One version is the *hub*: the version that controllers use. The others are served, and converted from and to the hub. Each version is a
//! module with plain structs; [`#[derive(Convert)]`](derive@crate::Convert) on the structs of the other versions has the rules.
//! [`Setup::versions`](crate::controller::Setup::versions) registers them: the manifests have one definition with all versions, and the
//! operator answers the API server's conversion reviews.
//!
//! ```
//! mod v1 {
//!     use kubewright::prelude::*;
//!     use schemars::JsonSchema;
//!     use serde::{Deserialize, Serialize};
//!
//!     /// A shop. This version is the hub.
//!     #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
//!     #[kube(group = "demo.dev", version = "v1", kind = "Shop", namespaced, status = "ShopStatus")]
//!     #[serde(rename_all = "camelCase")]
//!     pub struct ShopSpec {
//!         pub max_items: i64,
//!         /// New in this version.
//!         #[serde(default, skip_serializing_if = "Option::is_none")]
//!         pub owner: Option<String>,
//!     }
//!
//!     #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
//!     pub struct ShopStatus {
//!         pub items: i64,
//!     }
//! }
//!
//! mod v1alpha1 {
//!     use kubewright::{Convert, prelude::*};
//!     use schemars::JsonSchema;
//!     use serde::{Deserialize, Serialize};
//!
//!     use super::v1;
//!
//!     #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
//!     #[kube(group = "demo.dev", version = "v1alpha1", kind = "Shop", namespaced, status = "ShopStatus")]
//!     #[kube(deprecated = "demo.dev/v1alpha1 Shop is deprecated: use v1")]
//!     #[convert(hub = v1::ShopSpec, hub_only(owner))]
//!     pub struct ShopSpec {
//!         #[convert(renamed = "max_items")]
//!         pub limit: i64,
//!     }
//!
//!     #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
//!     #[convert(hub = v1::ShopStatus)]
//!     pub struct ShopStatus {
//!         pub items: i64,
//!     }
//! }
//!
//! use kubewright::controller::Setup;
//!
//! fn register(setup: &mut Setup) {
//!     setup.versions::<v1::Shop>().other::<v1alpha1::Shop>();
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use kubewright::testing::Harness;
//! use serde_json::json;
//!
//! let test = Harness::new(register);
//! // A client of v1alpha1 sees:
//! let shop = json!({
//!     "apiVersion": "demo.dev/v1", "kind": "Shop", "metadata": {"name": "corner"},
//!     "spec": {"maxItems": 12, "owner": "Ann"},
//! });
//! let mut old = test.convert(&shop, "v1alpha1").unwrap();
//! assert_eq!(old["spec"], json!({"limit": 12}));
//!
//! // When it has written the limit, the owner is still there.
//! old["spec"]["limit"] = json!(13);
//! let shop = test.convert(&old, "v1").unwrap();
//! assert_eq!(shop["spec"], json!({"maxItems": 13, "owner": "Ann"}));
//! assert_eq!(shop["metadata"], json!({"name": "corner"}));
//! # }
//! ```
//!
//! # Guarantees
//!
//! - **No value is lost.** Of an object that is converted, the webhook keeps what the result cannot hold in the annotation
//!   `conversion.kubewright.dev/VERSION` of the result, with the converted object's version: it converts the result back and compares. So an
//!   object that is converted there and back is equal, with unknown fields, explicit nulls, and values that have no equivalent.
//! - **Written fields win.** When the result is converted back, a kept value is restored only where the way back still gives what it gave
//!   before. A client's change to a field that its version holds is never undone.
//! - **Elements of lists** are found by the keys of the schema's list type `map`, otherwise by `name`, if that differs in all elements. If they
//!   are reordered or removed by a client of the other version, values stay with their element. Elements without a key are found by
//!   comparing them whole: one that was changed loses what its version cannot hold.
//! - **Only annotations of the metadata change.** The annotation is removed on the way back. One that does not decode is ignored, and counted in
//!   `kubewright_conversion_annotations_ignored_total`.
//! - **An object that cannot be converted** is an error that names it, as is one whose annotation would have more than 128 KiB. A panic
//!   in a conversion function is such an error.
//!
//! # Limits
//!
//! - A client that drops annotations, as a replace with an object of its own does, drops what they held.
//! - A field that is changed and later set to exactly the value that stood for a lost one gets the lost one back, if the object was not
//!   converted between the changes: the stored version was the one without it.
//! - Who may write an object may write the annotation, and so the fields that its version lacks, including those of `status`. The API
//!   server validates what a client sends in the client's version.
//! - Values are kept within the object: the annotation of a sensitive kind is as sensitive as its spec.
//! - Equal elements of a list without keys are interchangeable. If some of them are removed and they stood for different values, none
//!   is restored.
//!
//! # Partial objects
//!
//! In a server-side apply the API server converts objects from which it removed fields, required ones included, to find out which fields other
//! versions have. They are converted: fields that depend on what is absent are left out of the result. The functions of rules are called with
//! made-up values in place of the absent ones; if one refuses these, the conversion fails, and so does the apply.
//!
//! # Owner references
//!
//! The operator's typed clients write the stored version into owner references to the kind, whatever version the controllers use, in creates,
//! updates, applies and patches other than JSON patches. A new hub changes no reference, a rollback finds all of them served, and the garbage collector reads
//! owners without a conversion.
//!
//! When the stored version changes, so do the references, at the next apply or update of each owned object. They must not keep a version that is
//! removed later: Kubernetes' garbage collector does not delete objects whose owner has a version that is not served. API servers with the
//! admission plugin OwnerReferencesPermissionEnforcement, such as OpenShift's, ask for the permission to delete an object whose owner
//! references change. So while the hub is stored and other versions are served, the manifests have it for the kinds that the kind's controllers
//! [own](crate::controller::ControllerBuilder::owns). The operator itself sends no such request.
//!
//! # Reading order
//!
//! `convert`, `rules` and `field_rules` (what the derive implements and calls), `version` (two Rust types as functions of JSON), `lost_fields` and `schema_at`
//! (what the annotation holds), `partial_objects` (without required fields), `converter` (the versions of a kind), `review` (the API server's requests), `versions` (registration),
//! `storage_migration` (after which a version can be removed).

mod convert;
mod converter;
mod field_rules;
mod lost_fields;
mod partial_objects;
mod review;
#[doc(hidden)]
pub mod rules;
mod schema_at;
mod storage_migration;
#[cfg(test)]
mod tests;
#[doc(hidden)]
pub mod version;
mod versions;

pub use convert::{Convert, ConvertError};
pub(crate) use converter::Converter;
pub(crate) use field_rules::{FieldRule, FieldRules};
#[doc(hidden)]
pub use review::Converters;
pub(crate) use review::ReviewError;
pub(crate) use schema_at::equal;
pub use storage_migration::{StorageMigration, StorageMigrationError};
#[doc(hidden)]
pub use version::Versioned;
pub use versions::Versions;
pub(crate) use versions::{RegisteredVersions, VersionError};

/// The path at which the operator serves conversion reviews.
pub(crate) const PATH: &str = "/convert";
