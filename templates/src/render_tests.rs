use std::collections::BTreeSet;

use super::*;
use crate::{
    ApiModule, ApiRoot, CargoToml, Ci, Controller, ControllerTest, ControllersRoot, DeployKustomization,
    DisruptionBudget, Dockerfile, Dockerignore, ExistingKindController, ExistingKindTest, Gitignore, LibRs,
    MainRs, NetworkPolicy, OperatorManifest, OperatorManifests, ProjectFile, Readme, RustToolchain, Sample,
    ServiceMonitor, VersionsModule, VersionsTest, WebhookDefaulter, WebhookModule, WebhookTest,
    WebhookValidator,
};

fn embedded(folder: &Dir<'_>, names: &mut BTreeSet<String>) {
    names.extend(folder.files().map(|file| file.path().display().to_string()));
    folder.dirs().for_each(|below| embedded(below, names));
}

#[test]
fn every_template_has_a_context() {
    let mut names = BTreeSet::new();
    embedded(&FILES, &mut names);
    let sources = [
        ApiModule::SOURCE,
        ApiRoot::SOURCE,
        CargoToml::SOURCE,
        Ci::SOURCE,
        Controller::SOURCE,
        ControllerTest::SOURCE,
        ControllersRoot::SOURCE,
        DeployKustomization::SOURCE,
        DisruptionBudget::SOURCE,
        Dockerfile::SOURCE,
        Dockerignore::SOURCE,
        ExistingKindController::SOURCE,
        ExistingKindTest::SOURCE,
        Gitignore::SOURCE,
        LibRs::SOURCE,
        MainRs::SOURCE,
        NetworkPolicy::SOURCE,
        OperatorManifest::SOURCE,
        OperatorManifests::SOURCE,
        ProjectFile::SOURCE,
        Readme::SOURCE,
        RustToolchain::SOURCE,
        Sample::SOURCE,
        ServiceMonitor::SOURCE,
        VersionsModule::SOURCE,
        VersionsTest::SOURCE,
        WebhookDefaulter::SOURCE,
        WebhookModule::SOURCE,
        WebhookTest::SOURCE,
        WebhookValidator::SOURCE,
    ];
    assert_eq!(names, sources.iter().map(ToString::to_string).collect());
}

#[test]
fn nothing_is_escaped_and_escaped_braces_are_kept() {
    let ci = render(&Ci {
        kubewright_version: "<1>",
    })
    .unwrap();
    assert!(
        ci.contains("--version <1>") && ci.contains("${{ runner.os }}"),
        "{ci}"
    );
}

#[test]
fn every_file_names_the_rust_release_of_this_workspace() {
    let release = env!("CARGO_PKG_RUST_VERSION");
    let (dependency, testkit) = ("\"1\"", "\"1\"");
    let name = "shop";
    let toolchain = render(&RustToolchain {}).unwrap();
    assert!(
        toolchain.contains(&format!("channel = \"{release}.0\"")),
        "{toolchain}"
    );
    let cargo_toml = render(&CargoToml {
        name,
        dependency,
        testkit,
    })
    .unwrap();
    assert!(
        cargo_toml.contains(&format!("rust-version = \"{release}\"")),
        "{cargo_toml}"
    );
    let dockerfile = render(&Dockerfile { name }).unwrap();
    assert!(
        dockerfile.contains(&format!("FROM rust:{release}-")),
        "{dockerfile}"
    );
}

#[test]
fn missing_context_names_are_errors() {
    #[derive(Serialize)]
    struct Nothing {}
    impl Template for Nothing {
        const SOURCE: &'static str = Dockerfile::SOURCE;
    }
    let error = render(&Nothing {}).unwrap_err();
    assert!(error.to_string().contains("project/Dockerfile.hbs"), "{error}");
}
