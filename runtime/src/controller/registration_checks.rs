//! Checks of the registrations: names, the order of runnables, and what controllers must not share.

use std::collections::BTreeSet;

use super::{ControllerBuilder, Expectations, HealthCheck, Probe, RegistrationError, Runnable, Setup};

impl Setup {
    /// Returns the errors of the registrations. An operator with errors must not run.
    #[doc(hidden)]
    pub fn errors(&self) -> Vec<RegistrationError> {
        let mut errors: Vec<_> = self
            .controllers
            .iter()
            .flat_map(ControllerBuilder::errors)
            .collect();
        errors.extend(self.shared_expectations());
        errors.extend(self.shared_sources());
        errors.extend(bad_names(
            "controller",
            self.controllers.iter().map(ControllerBuilder::name),
        ));
        errors.extend(bad_names("component", self.components.names()));
        errors.extend(self.ordered_in_components());
        errors.extend(self.versions_errors());
        errors.extend(self.webhooks.errors().into_iter().map(RegistrationError::Webhook));
        errors.extend(bad_names("runnable", self.runnables.iter().map(Runnable::name)));
        let groups: BTreeSet<_> = self.runnables.iter().filter_map(Runnable::group_name).collect();
        errors.extend(bad_names("group", groups.into_iter()));
        for probe in [Probe::Live, Probe::Ready] {
            let checks = self.health_checks.iter().filter(|check| check.probe == probe);
            errors.extend(bad_names("health check", checks.map(HealthCheck::name)));
        }
        errors
    }

    /// Runnables of components start when their caches have synced, so nothing can wait for them.
    fn ordered_in_components(&self) -> impl Iterator<Item = RegistrationError> {
        let ordered = self.runnables.iter().filter_map(|runnable| {
            let component = self.components.name(runnable.component?);
            runnable.delays_others().then_some((component, runnable.name()))
        });
        ordered.map(|(component, runnable)| RegistrationError::OrderedInComponent {
            component: component.to_owned(),
            runnable: runnable.to_owned(),
        })
    }

    fn shared_sources(&self) -> impl Iterator<Item = RegistrationError> {
        let is_shared = |index: &usize| {
            let sources = &self.controllers[*index].added_sources;
            let mut earlier = self.controllers[..*index].iter();
            earlier.any(|other| other.added_sources.is_same(sources))
        };
        let shared = (0..self.controllers.len()).filter(is_shared);
        shared.map(|index| RegistrationError::SharedSources {
            controller: self.controllers[index].name.clone(),
        })
    }

    fn shared_expectations(&self) -> Vec<RegistrationError> {
        let (mut owners, mut errors) = (Vec::<(&str, &Expectations)>::new(), Vec::new());
        for controller in &self.controllers {
            let mut own: Vec<&Expectations> = Vec::new();
            for expectations in controller
                .sources
                .iter()
                .filter_map(|source| source.expectations.as_ref())
            {
                if own.iter().any(|known| known.is_same(expectations)) {
                    continue;
                }
                own.push(expectations);
                if let Some((first, _)) = owners.iter().find(|(_, known)| known.is_same(expectations)) {
                    errors.push(RegistrationError::SharedExpectations {
                        first: (*first).to_owned(),
                        second: controller.name.clone(),
                    });
                }
            }
            owners.extend(
                own.into_iter()
                    .map(|expectations| (&*controller.name, expectations)),
            );
        }
        errors
    }
}

fn bad_names<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Vec<RegistrationError> {
    let (mut seen, mut errors) = (BTreeSet::new(), Vec::new());
    for name in names {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(fits) {
            errors.push(RegistrationError::BadName {
                what,
                name: name.to_owned(),
            });
        }
        if !seen.insert(name) {
            errors.push(RegistrationError::DuplicateName {
                what,
                name: name.to_owned(),
            });
        }
    }
    errors
}
