//! `kubewright import`.
//!
//! `UPDATE_GOLDEN=1 cargo test -p kubewright-cli golden` updates the modules in `tests/golden/imported`, which other tests compile.

use std::collections::BTreeMap;

use kubewright_cli::exit;

use crate::{
    golden::compare_files,
    support::{Sandbox, collect},
};

/// Definitions of several projects.
const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/imported/definitions.yaml");

/// A small definition; its field is of the type.
pub(crate) fn definition(ty: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.demo.dev\nspec:\n  group: demo.dev\n  \
         scope: Namespaced\n  names: {{kind: Thing, plural: things}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    \
         schema:\n      openAPIV3Schema:\n        type: object\n        required: [spec]\n        properties:\n          \
         spec: {{type: object, required: [size], properties: {{size: {{type: {ty}, description: The size. And more.}}}}}}\n"
    )
}

fn project() -> Sandbox {
    let project = Sandbox::project();
    project.write("thing.yaml", &definition("integer"));
    project
}

const MODULE: &str = "src/api/imported/demo_dev/thing.rs";

#[test]
fn golden_modules() {
    let sandbox = Sandbox::project().with_rustfmt();
    sandbox.kubewright(&format!("import {DEFINITIONS}")).expect(0);
    let mut found = BTreeMap::new();
    let folder = sandbox.cwd.join("src/api/imported");
    collect(&folder, &folder, &mut found);
    compare_files("imported", &found);
}

#[test]
fn kinds_are_imported_once() {
    let project = project();
    let before = project.files();
    project
        .kubewright("import thing.yaml")
        .expect(0)
        .stderr_contains("create src/api/imported/demo_dev/thing.rs")
        .stderr_contains("kubewright add controller Thing  # or --owns Thing");
    let after = project.files();
    let new: Vec<_> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    assert_eq!(
        new,
        [
            ".kubewright/base/src/api/imported/demo_dev/thing.rs",
            "manifests/imported/demo.dev_things.yaml",
            "src/api/imported/demo_dev/mod.rs",
            MODULE,
            "src/api/imported/mod.rs",
        ]
    );
    assert!(
        project
            .read("src/api/mod.rs")
            .contains("pub mod foo;\npub mod imported;\n")
    );
    project
        .kubewright("import thing.yaml")
        .expect(0)
        .stderr_contains("Thing: already imported, nothing to do");
    assert_eq!(project.files(), after);
    // The kind is not one of the operator: nothing is generated for it.
    project.kubewright("generate").expect(0);
    assert!(
        !project
            .files()
            .keys()
            .any(|name| name.contains("things") && !after.contains_key(name))
    );
}

#[test]
fn imported_kinds_have_controllers_and_owners() {
    let project = project();
    project.kubewright("import thing.yaml").expect(0);
    project
        .kubewright("add controller Thing --owns ConfigMap")
        .expect(0);
    let code = project.read("src/controllers/thing.rs");
    for line in [
        "use crate::api::imported::demo_dev::thing::Thing;\n",
        "        let things = setup.informers().of::<Thing>();\n",
    ] {
        assert!(code.contains(line), "{line:?} is not in {code}");
    }
    // The example of the test has what the definition requires.
    let test = project.read("tests/thing.rs");
    assert!(
        test.contains("\"spec\": {\n            \"size\": 1\n        }"),
        "{test}"
    );
    project
        .kubewright("add controller Node --owns Thing.demo.dev/v1")
        .expect(0);
    let code = project.read("src/controllers/node.rs");
    assert!(
        code.contains("    things: Lister<Thing>,\n") && code.contains(".owns(&things)"),
        "{code}"
    );
}

#[test]
fn changes_of_the_definition_and_of_the_user_are_merged() {
    let project = project();
    project
        .kubewright("import thing.yaml --descriptions none")
        .expect(0);
    let text = project.read(MODULE);
    assert!(
        text.contains("    pub size: i64,\n") && !text.contains("The size"),
        "{text}"
    );
    project.edit(MODULE, "Clone, Debug", "Clone, Eq, Debug");
    let edited = project.read(MODULE);
    project
        .kubewright("import thing.yaml --descriptions short")
        .expect(0);
    let merged = project.read(MODULE);
    assert!(
        merged.contains("Clone, Eq, Debug") && merged.contains("    /// The size.\n    pub size: i64,\n"),
        "{merged}"
    );
    assert!(merged.len() > edited.len());

    project.edit(MODULE, "pub size: i64", "pub size: i32");
    project.write("thing.yaml", &definition("string"));
    let before = project.files();
    project
        .kubewright("import thing.yaml --descriptions short")
        .expect(exit::CONFLICT)
        .stderr_contains(
            "    pub size: i32,\n||||||| before\n    pub size: i64,\n=======\n    pub size: String,\n",
        )
        .stderr_contains(
            "pass --keep to keep your version or --overwrite to discard it; nothing was written",
        );
    assert_eq!(project.files(), before);
    project
        .kubewright("import thing.yaml --descriptions short --keep")
        .expect(0);
    assert!(project.read(MODULE).contains("pub size: i32"));
    project
        .kubewright("import thing.yaml --descriptions short")
        .expect(0);
    assert!(
        project.read(MODULE).contains("pub size: i32"),
        "the conflict is resolved"
    );
    project
        .kubewright("import thing.yaml --descriptions short --overwrite")
        .expect(0);
    assert!(project.read(MODULE).contains("pub size: String"));
}

#[test]
fn bad_input_is_refused_and_nothing_is_written() {
    let project = project();
    project.write("bad.yaml", "a: [");
    project.write("other.yaml", "kind: Service\n");
    project.write("text.yaml", "text\n---\n- 1\n");
    project.write(
        "old.yaml",
        &definition("string").replace("k8s.io/v1", "k8s.io/v1beta1"),
    );
    project.write("reserved.yaml", &definition("string").replace("Thing", "Option"));
    let before = project.files();
    for (arguments, code, expected) in [
        ("missing.yaml", exit::IO, "missing.yaml"),
        ("bad.yaml", exit::DEFINITION, "bad.yaml:1: invalid YAML"),
        (
            "text.yaml",
            exit::USAGE,
            "text.yaml has no CustomResourceDefinition",
        ),
        (
            "other.yaml",
            exit::USAGE,
            "other.yaml has no CustomResourceDefinition",
        ),
        ("old.yaml", exit::DEFINITION, "which Kubernetes removed in 1.22"),
        ("reserved.yaml", exit::USAGE, "kind Option has the name of a type"),
        (
            "thing.yaml --kind Other",
            exit::USAGE,
            "thing.yaml does not define kind Other: it defines Thing",
        ),
        (
            "thing.yaml --api-version v3",
            exit::USAGE,
            "things.demo.dev has no version v3: choose one of v1",
        ),
        (
            "things.demo.dev --cluster no-such-context",
            exit::CLUSTER,
            "no-such-context",
        ),
    ] {
        project
            .kubewright(&format!("import {arguments}"))
            .expect(code)
            .stderr_contains(expected);
    }
    assert_eq!(project.files(), before);
    project.write(MODULE, "pub struct Mine;\n");
    project
        .kubewright("import thing.yaml")
        .expect(exit::USAGE)
        .stderr_contains("src/api/imported/demo_dev/thing.rs has no kind, and things.demo.dev needs the same module: rename that file and the module `thing` in src/api/imported/demo_dev/mod.rs");
}

#[test]
fn uncommitted_changes_are_not_overwritten() {
    let project = project();
    project.kubewright("import thing.yaml").expect(0);
    project.git(&["init", "-q"]);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "start"]);
    project.edit(MODULE, "Clone, Debug", "Clone, Eq, Debug");
    project.write("thing.yaml", &definition("string"));
    project
        .kubewright("import thing.yaml")
        .expect(exit::UNCOMMITTED)
        .stderr_contains(MODULE);
    project
        .kubewright("import thing.yaml --allow-dirty --dry-run")
        .expect(0);
    assert!(project.read(MODULE).contains("pub size: i64"));
    project.kubewright("import thing.yaml --allow-dirty").expect(0);
    let text = project.read(MODULE);
    assert!(
        text.contains("Clone, Eq, Debug") && text.contains("pub size: String"),
        "{text}"
    );
}

#[test]
fn definitions_of_one_module_are_refused() {
    let project = Sandbox::project();
    let named = |kind: &str, group: &str| {
        definition("integer")
            .replace("things", &format!("{}s", kind.to_lowercase().replace('_', "")))
            .replace("Thing", kind)
            .replace("demo.dev", group)
    };
    for (one, other, names) in [
        (
            ("IPPool", "demo.dev"),
            ("IpPool", "demo.dev"),
            "IPPool (ippools.demo.dev) and IpPool (ippools.demo.dev) have the same module, src/api/imported/demo_dev/ip_pool.rs",
        ),
        (
            ("Thing", "a-b.dev"),
            ("Thing", "a.b.dev"),
            "Thing (things.a-b.dev) and Thing (things.a.b.dev) have the same module, src/api/imported/a_b_dev/thing.rs",
        ),
    ] {
        project.write(
            "all.yaml",
            &format!("{}---\n{}", named(one.0, one.1), named(other.0, other.1)),
        );
        let before = project.files();
        project
            .kubewright("import all.yaml")
            .expect(exit::USAGE)
            .stderr_contains(names);
        assert_eq!(project.files(), before);
    }
}

/// Paths and code are made of these names.
#[test]
fn invalid_names_are_refused() {
    let project = Sandbox::project();
    let json = |field: &str, value: &str| {
        let mut crd = serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.demo.dev"},
            "spec": {
                "group": "demo.dev", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
        });
        *crd.pointer_mut(field).unwrap() = value.into();
        crd.to_string()
    };
    let before = project.files();
    for (pointer, value, expected) in [
        (
            "/spec/group",
            "../../../../tmp/x",
            "spec.group \"../../../../tmp/x\" is not valid",
        ),
        (
            "/spec/group",
            "demo.dev\nx",
            "spec.group \"demo.dev\\nx\" is not valid",
        ),
        (
            "/spec/names/kind",
            "Thing\nfn f() {}",
            "spec.names.kind \"Thing\\nfn f() {}\" is not valid",
        ),
        (
            "/spec/names/plural",
            "../things",
            "spec.names.plural \"../things\" is not valid",
        ),
        (
            "/spec/versions/0/name",
            "v1\n",
            "spec.versions[].name \"v1\\n\" is not valid",
        ),
        (
            "/metadata/name",
            "things.demo.dev\n",
            "metadata.name \"things.demo.dev\\n\" is not valid",
        ),
    ] {
        std::fs::write(project.beside("crd.yaml"), json(pointer, value)).unwrap();
        project
            .kubewright("import ../../crd.yaml")
            .expect(exit::DEFINITION)
            .stderr_contains(expected);
    }
    assert_eq!(project.files(), before);
}
