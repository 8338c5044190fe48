//! What `kubewright import` reads: standard input, large and deep definitions, the same one twice, and schemas that refer to others.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use kubewright_cli::exit;

use crate::{import::definition, support::Sandbox};
use serde_json::{Value, json};

const MODULE: &str = "src/api/imported/demo_dev/thing.rs";

/// Runs the command as a process, with a text as standard input. Returns its exit code and messages.
fn import_text(project: &Sandbox, text: &str) -> (Option<i32>, String) {
    let rustfmt = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/fake_rustfmt.sh");
    let mut import = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .current_dir(&project.cwd)
        .args(["import", "-"])
        .env("RUSTFMT", rustfmt)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    import.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = import.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A definition whose spec has the schema.
fn with_spec(spec: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.demo.dev"},
        "spec": {
            "group": "demo.dev", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}],
        },
    })
}

#[test]
fn standard_input_is_read_as_a_file_is() {
    let [piped, named] = [(); 2].map(|()| Sandbox::project());
    let (code, messages) = import_text(&piped, &definition("integer"));
    assert_eq!(code, Some(0), "{messages}");
    assert!(messages.contains(&format!("create {MODULE}\n")), "{messages}");
    std::fs::write(named.beside("thing.yaml"), definition("integer")).unwrap();
    named.kubewright("import ../../thing.yaml").expect(0);
    assert_eq!(piped.files(), named.files());

    let before = piped.files();
    for (text, code, expected) in [
        (
            "",
            exit::USAGE,
            "error: standard input has no CustomResourceDefinition: ",
        ),
        (
            "\n",
            exit::USAGE,
            "error: standard input has no CustomResourceDefinition: ",
        ),
        (
            "a: 1\nb: [",
            exit::DEFINITION,
            "error: standard input:2: invalid YAML: ",
        ),
    ] {
        let (found, messages) = import_text(&piped, text);
        assert_eq!(found, Some(code.into()), "{text:?}: {messages}");
        assert!(messages.starts_with(expected), "{text:?}: {messages}");
    }
    assert_eq!(piped.files(), before);
}

#[test]
fn same_definition_twice_is_imported_once() {
    let project = Sandbox::project();
    let text = definition("integer");
    let annotated = text.replace(
        "  name: things.demo.dev",
        "  name: things.demo.dev\n  annotations: {a: b}",
    );
    project.write("all.yaml", &format!("{text}---\n{annotated}---\n{text}"));
    project
        .kubewright("import all.yaml")
        .expect(0)
        .stderr_contains("kubewright add controller Thing");
    project
        .kubewright("import all.yaml")
        .expect(0)
        .stderr_contains("Thing: already imported, nothing to do");
    project.write("all.yaml", &format!("{text}---\n{}", definition("string")));
    let before = project.files();
    project
        .kubewright("import all.yaml")
        .expect(exit::USAGE)
        .stderr_contains(
            "all.yaml defines things.demo.dev twice, with differences: remove one of the definitions",
        );
    assert_eq!(project.files(), before);
}

#[test]
fn schemas_that_refer_to_others_are_refused() {
    let project = Sandbox::project();
    let before = project.files();
    let object = |field: Value| json!({"type": "object", "properties": {"next": field}});
    let reference = json!({"$ref": "#/properties/spec"});
    for (spec, path) in [
        (reference.clone(), ".spec"),
        (object(reference.clone()), ".spec.next"),
        (
            object(json!({"type": "array", "items": reference})),
            ".spec.next[]",
        ),
        (
            object(json!({"type": "object", "additionalProperties": reference})),
            ".spec.next.*",
        ),
        (
            object(json!({"allOf": [{"type": "string"}, reference]})),
            ".spec.next",
        ),
    ] {
        std::fs::write(project.beside("crd.yaml"), with_spec(&spec).to_string()).unwrap();
        project
            .kubewright("import ../../crd.yaml")
            .expect(exit::DEFINITION)
            .stderr_contains(&format!(
                "error: things.demo.dev: {path} has a `$ref`, which the API server refuses"
            ));
    }
    assert_eq!(project.files(), before);
    // A field may have the name.
    let field = json!({"type": "object", "properties": {"$ref": {"type": "string"}}});
    std::fs::write(project.beside("crd.yaml"), with_spec(&field).to_string()).unwrap();
    project.kubewright("import ../../crd.yaml").expect(0);
    assert!(project.read(MODULE).contains("rename = \"$ref\""));
}

/// A recursive type is written as some levels of it. A crash of the process would have no exit code.
#[test]
fn deep_schemas_are_imported_or_refused() {
    for (depth, is_imported) in [(100, true), (1_000, false), (100_000, false)] {
        let project = Sandbox::project();
        let before = project.files();
        let levels = r#"{"type":"object","properties":{"a":"#.repeat(depth);
        let spec = format!("{levels}{{\"type\":\"string\"}}{}", "}}".repeat(depth));
        let text = with_spec(&json!("SPEC")).to_string().replace("\"SPEC\"", &spec);
        let (code, messages) = import_text(&project, &text);
        if is_imported {
            assert_eq!(code, Some(0), "{messages}");
            let module = project.read(MODULE);
            assert_eq!(module.matches("pub struct ThingSpec").count(), depth);
            syn::parse_file(&module).unwrap();
        } else {
            assert_eq!(code, Some(exit::DEFINITION.into()), "{depth}: {messages}");
            let expected = "invalid YAML: lists and maps are nested deeper than 250 levels; fix it first";
            assert!(messages.contains(expected), "{depth}: {messages}");
            assert_eq!(project.files(), before);
        }
    }
}

#[test]
fn a_megabyte_of_descriptions_is_imported() {
    const SIZE: usize = 1_000_000;
    let sentence = "The size of the thing, in pieces, as `kubectl get` prints it.";
    for separator in [" ", "\n", ".\n\n```yaml\n"] {
        let project = Sandbox::project().with_rustfmt();
        let line = format!("{sentence}{separator}");
        let text = line.repeat(SIZE / line.len() + 1);
        let spec =
            json!({"type": "object", "properties": {"size": {"type": "integer", "description": text}}});
        std::fs::write(project.beside("crd.yaml"), with_spec(&spec).to_string()).unwrap();
        project.kubewright("import ../../crd.yaml").expect(0);
        let module = project.read(MODULE);
        assert!(
            module.len() > SIZE && module.contains("    pub size: Option<i64>,\n"),
            "{separator:?}"
        );
        syn::parse_file(&module).unwrap();
        let imported = project.files();
        project
            .kubewright("import ../../crd.yaml")
            .expect(0)
            .stderr_contains("Thing: already imported, nothing to do");
        assert_eq!(project.files(), imported);
        // The user's edit and another text are merged.
        project.edit(MODULE, "#[derive(Clone, Debug", "#[derive(Clone, Eq, Debug");
        project
            .kubewright("import ../../crd.yaml --descriptions short")
            .expect(0);
        let merged = project.read(MODULE);
        assert!(merged.contains("#[derive(Clone, Eq, Debug"), "{separator:?}");
        assert!(merged.len() < SIZE / 2, "{separator:?}: {}", merged.len());
    }
}
