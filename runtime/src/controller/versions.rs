//! The registration of the versions of kinds.

use super::{RegistrationError, Setup};
use crate::conversion::{Converters, RegisteredVersions, VersionError, Versioned, Versions};

impl Setup {
    /// Registers the versions of a kind. `H` is the hub: the version that controllers use. The definition in the manifests has all versions,
    /// and the operator converts between them; see [`conversion`](crate::conversion).
    ///
    /// The versions need no [`kind`](Self::kind); their informers can be made as well.
    pub fn versions<H: Versioned>(&mut self) -> Versions<'_, H> {
        self.kind::<H>();
        self.versions.push(RegisteredVersions::of::<H>());
        let last = self.versions.len() - 1;
        Versions::new(&mut self.versions[last], &mut self.kinds)
    }

    /// Does not serve the conversion: for tests, whose definitions have one version.
    pub(crate) fn leave_conversion_out(&mut self) {
        self.versions
            .iter_mut()
            .for_each(|versions| versions.is_served = false);
    }

    /// Returns the kinds with several versions.
    pub(crate) fn registered_versions(&self) -> &[RegisteredVersions] {
        &self.versions
    }

    /// Returns what converts between the versions.
    #[doc(hidden)]
    pub fn converters(&self) -> Converters {
        Converters::new(self.versions.iter().map(|versions| versions.converter.clone()))
    }

    /// Returns the errors in the versions of kinds.
    pub(super) fn versions_errors(&self) -> impl Iterator<Item = RegistrationError> {
        let is_second = |index: &usize| {
            let info = &self.versions[*index].converter.info;
            let mut earlier = self.versions[..*index].iter();
            earlier.any(|other| other.converter.info.is_version_of(info))
        };
        let second = (0..self.versions.len()).filter(is_second);
        let second = second.map(|index| VersionError::second_hub(&self.versions[index].converter.info));
        let errors = self.versions.iter().flat_map(RegisteredVersions::errors);
        errors.chain(second).map(RegistrationError::Version)
    }
}
