//! The registration of a kind's versions.

use std::marker::PhantomData;

use super::{Converter, Versioned, version::OtherVersion};
use crate::{ApiResource, CustomKind, cache::RegisteredKind, client::OwnerVersions};

/// The versions of a kind, which [`Setup::versions`](crate::controller::Setup::versions) returns.
pub struct Versions<'a, H> {
    registered: &'a mut RegisteredVersions,
    kinds: &'a mut Vec<RegisteredKind>,
    owners: OwnerVersions,
    hub: PhantomData<H>,
}

/// A kind with several versions.
pub(crate) struct RegisteredVersions {
    pub(crate) converter: Converter,
    /// The version that the API server stores.
    pub(crate) stored: String,
    /// Whether the operator serves the conversion.
    pub(crate) is_served: bool,
    errors: Vec<VersionError>,
}

// ANCHOR: versions
/// An error in the registration of versions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// A type of another kind.
    #[error(
        "{rust_type} is {other}, not a version of {hub}: `versions` and its methods take the versions of one kind"
    )]
    OtherKind {
        /// The Rust type.
        rust_type: &'static str,
        /// Its kind.
        other: String,
        /// The hub's kind.
        hub: String,
    },
    /// A version that is registered twice.
    #[error(
        "version {version} of {kind} is registered twice: remove one `.other`, or change `version` of one type"
    )]
    Twice {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
    },
    /// A stored version that is none of the versions.
    #[error(
        "{kind} cannot be stored in version {version}, which is not registered: add `.other` with its type"
    )]
    StoredUnregistered {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
    },
    /// Two calls of `versions` for a kind.
    #[error("`versions` is called twice for {kind}: add all versions to one call")]
    SecondHub {
        /// The kind.
        kind: String,
    },
}
// ANCHOR_END: versions

impl VersionError {
    pub(crate) fn second_hub(info: &ApiResource) -> Self {
        Self::SecondHub {
            kind: described(info),
        }
    }
}

impl RegisteredVersions {
    pub(crate) fn of<H: Versioned>() -> Self {
        Self {
            converter: Converter::of::<H>(),
            stored: H::info().version.into_owned(),
            is_served: true,
            errors: Vec::new(),
        }
    }

    /// Returns the errors, and whether the stored version is one of the versions.
    pub(crate) fn errors(&self) -> impl Iterator<Item = VersionError> {
        let is_known = self.converter.versions().any(|version| version == self.stored);
        let unknown = (!is_known).then(|| VersionError::StoredUnregistered {
            kind: described(&self.converter.info),
            version: self.stored.clone(),
        });
        self.errors.iter().cloned().chain(unknown)
    }

    /// Whether the API server calls the operator to convert: a hub alone needs no conversion.
    pub(crate) fn is_called(&self) -> bool {
        self.is_served && self.converter.versions().nth(1).is_some()
    }

    /// Whether the hub is stored beside other versions: objects may have been stored in one of these before.
    pub(crate) fn is_migrated(&self) -> bool {
        self.converter.info.version == self.stored && self.converter.versions().nth(1).is_some()
    }

    /// Whether `info` is one of the versions.
    pub(crate) fn contains(&self, info: &ApiResource) -> bool {
        self.converter.versions().any(|version| version == info.version)
    }

    fn check<K: CustomKind>(&mut self) -> bool {
        let (info, hub) = (K::info(), &self.converter.info);
        let is_version = info.is_version_of(hub);
        if !is_version {
            self.errors.push(VersionError::OtherKind {
                rust_type: std::any::type_name::<K>(),
                other: described(&info),
                hub: described(hub),
            });
        }
        is_version
    }
}

impl<'a, H: Versioned> Versions<'a, H> {
    pub(crate) fn new(
        registered: &'a mut RegisteredVersions,
        kinds: &'a mut Vec<RegisteredKind>,
        owners: OwnerVersions,
    ) -> Self {
        owners.set(&registered.converter.info);
        Self {
            registered,
            kinds,
            owners,
            hub: PhantomData,
        }
    }

    /// Adds a version that is served and converted: its spec and status have `#[derive(Convert)]` with the hub's types.
    #[expect(
        clippy::must_use_candidate,
        clippy::return_self_not_must_use,
        reason = "the last call of a registration"
    )]
    pub fn other<O: OtherVersion<H>>(self) -> Self {
        if !self.registered.check::<O>() {
            return self;
        }
        let info = O::info();
        if self.registered.contains(&info) {
            self.registered.errors.push(VersionError::Twice {
                kind: described(&info),
                version: info.version.into_owned(),
            });
            return self;
        }
        RegisteredKind::of::<O>().add_to(self.kinds);
        self.registered.converter.add::<O, H>();
        self
    }

    /// Sets the version that the API server stores; by default the hub. In the first release with a new hub, store the version before it:
    /// until the objects are rewritten, the operator can be rolled back to a release that does not know the hub.
    ///
    /// The operator's clients write this version into owner references to the kind.
    #[expect(
        clippy::must_use_candidate,
        clippy::return_self_not_must_use,
        reason = "the last call of a registration"
    )]
    pub fn stored<K: CustomKind>(self) -> Self {
        if self.registered.check::<K>() {
            self.owners.set(&K::info());
            self.registered.stored = K::info().version.into_owned();
        }
        self
    }
}

fn described(info: &ApiResource) -> String {
    format!("{} ({})", info.kind, info.group)
}
