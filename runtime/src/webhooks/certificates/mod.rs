//! The certificate of the webhook server: its CA, its Secret, its renewal, and the CA bundles that the API server verifies it with.
//!
//! Read in this order:
//!
//! - [`validity`] and [`pem`] read certificates; [`server_names`] has the names that a certificate must have; [`authority`] makes CAs, and
//!   [`leaf`] serving certificates;
//! - [`contents`] is the Secret as certificates and keys; [`plan`] decides what to change in it, without I/O: the order of a rotation;
//! - [`serving`] holds the certificate that TLS handshakes use, and swaps it;
//! - [`secret_watch`] follows the Secret; [`bundles`] keeps `caBundle` of configurations and definitions; [`rotation`] runs plan and bundles;
//! - [`folder`] reads files instead; [`client_ca`] verifies the API server's client certificate;
//! - [`keeper`] is the entry point.

mod authority;
mod bundles;
mod client_ca;
mod contents;
mod folder;
mod keeper;
mod leaf;
mod pem;
mod plan;
mod rotation;
mod secret_watch;
mod server_names;
mod serving;
mod validity;

pub use bundles::BundleTarget;
pub(super) use bundles::RequestFailure;
pub(crate) use client_ca::client_verifier;
pub use keeper::{CertificateKeeper, CertificateSource, secret_manifest};
pub(crate) use pem::certified_key;
pub use rotation::RotationTiming;
pub use server_names::ServerNames;
pub use serving::ServingCertificate;
