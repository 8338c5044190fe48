use super::*;
use std::fs;

#[test]
fn path_dependencies_are_included_except_dev_dependencies() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let write = |path: &str, text: &str| {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    };
    let package = |name: &str, more: &str| {
        let text = format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n{more}");
        write(&format!("{name}/Cargo.toml"), &text);
        write(&format!("{name}/src/lib.rs"), "");
    };
    write(
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"shop\", \"other\"]\n",
    );
    package(
        "shop",
        "[dependencies]\nnear = { path = \"../near\" }\n[dev-dependencies]\nchecks = { path = \"../checks\" }\n",
    );
    package("near", "[build-dependencies]\nfar = { path = \"../far\" }\n");
    for name in ["far", "checks", "other"] {
        package(name, "");
    }
    write("near/build.rs", "fn main() {}");
    write("shop/tests/shop.rs", "");
    let mut command = cargo_metadata::MetadataCommand::new();
    command.manifest_path(root.join("shop/Cargo.toml"));
    let metadata = command.exec().unwrap();
    let operator = crate::cargo::find_package(&metadata, &root.join("shop/Cargo.toml")).unwrap();
    let found = source_paths(&metadata, &build_dependencies(&metadata, &operator.id));
    let found: Vec<_> = found
        .iter()
        .map(|path| path.strip_prefix(&root).unwrap())
        .collect();
    let expected = [
        "Cargo.toml",
        "far/Cargo.toml",
        "far/src",
        "far/src/lib.rs",
        "near/Cargo.toml",
        "near/build.rs",
        "near/src",
        "near/src/lib.rs",
        "shop/Cargo.toml",
        "shop/src",
        "shop/src/lib.rs",
    ];
    assert_eq!(found, expected.map(std::path::Path::new));
}
