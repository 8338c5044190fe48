use super::*;

const FOO: &str = r#"use std::collections::{BTreeMap, BTreeSet};

/// The desired state.
#[derive(CustomResource, Informer, Clone)]
#[kube(group = "demo.dev", version = "v1alpha1", kind = "Foo", status = "FooStatus")]
#[serde(rename_all = "camelCase")]
pub struct FooSpec {
    pub ports: Option<Vec<Port>>,
    pub modes: BTreeMap<String, Box<Mode>>,
    pub aliases: Aliases,
    pub condition: Condition,
}

#[derive(Clone)] // A port.
pub struct Port(u16);

pub type Aliases = Vec<Alias>;

mod inner {
    #[derive(Clone)]
    struct Unused;
}

#[derive(Clone)]
pub struct Alias;

#[derive(Clone)]
pub enum Mode {
    Fixed { size: Size },
    Other(self::Other),
}

#[derive(Clone)]
pub struct Size {}

#[derive(Clone)]
#[derive(Debug)]
pub struct Other {}

#[derive(Clone)]
pub struct FooStatus {}

#[derive(Clone)]
pub struct Unrelated {}
"#;

/// Returns the lines that an edit adds, each with its number.
fn added(before: &str, after: &str) -> Vec<String> {
    let mut rest = before.lines();
    let mut expected = rest.next();
    let mut added = Vec::new();
    for (number, line) in after.lines().enumerate() {
        if Some(line) == expected {
            expected = rest.next();
        } else {
            added.push(format!("{}: {line}", number + 1));
        }
    }
    assert_eq!(expected, None, "a line was changed:\n{after}");
    added
}

#[test]
fn types_of_spec_and_status_derive_the_conversion() {
    let edited = derive_conversion(FOO, "Foo", "v1").unwrap();
    let convert = "#[derive(kubewright::Convert)]";
    let hub = |name: &str| format!("#[convert(hub = super::v1::{name})]");
    let expected = [
        format!("5: {convert}"),
        format!("6: {}", hub("FooSpec")),
        "8: #[kube(deprecated = \"demo.dev/v1alpha1 Foo is deprecated: use v1\")]".to_owned(),
    ];
    let lines = added(FOO, &edited);
    assert_eq!(lines[..3], expected);
    for name in ["Port", "Alias", "Mode", "Size", "Other", "FooStatus"] {
        assert_eq!(edited.matches(&hub(name)).count(), 1, "{name}: {edited}");
    }
    assert!(
        !edited.contains("Unrelated)]") && !edited.contains("Unused)]"),
        "{edited}"
    );
    assert!(
        edited.contains(&format!("#[derive(Debug)]\n{convert}")),
        "{edited}"
    );
    assert!(
        edited.contains(&format!("#[derive(Clone)] // A port.\n{convert}")),
        "{edited}"
    );
    assert!(syn::parse_file(&edited).is_ok());
    assert_eq!(unconverted(FOO, "Foo").unwrap(), []);
    assert_eq!(
        derive_conversion(&edited, "Foo", "v1").unwrap(),
        edited,
        "a second time"
    );
}

#[test]
fn version_is_replaced_and_nothing_else() {
    let other = FOO.replace("/// The desired", "/// About v1alpha1: the desired");
    let edited = set_version(&other, "Foo", "v1").unwrap();
    assert_eq!(
        edited,
        other.replace("version = \"v1alpha1\"", "version = \"v1\"")
    );
}

#[test]
fn rules_and_note_follow_the_hub() {
    let old = derive_conversion(FOO, "Foo", "v1beta1").unwrap();
    let new = derive_conversion(FOO, "Foo", "v1").unwrap();
    assert_eq!(change_hub(&old, "Foo", "v1beta1", "v1").unwrap(), new);
    let own_note = old.replace("use v1beta1\"", "ask us about v1beta1\"");
    let edited = change_hub(&own_note, "Foo", "v1beta1", "v1").unwrap();
    assert!(edited.contains("ask us about v1beta1\""), "{edited}");
}

#[test]
fn what_cannot_convert_is_listed() {
    let text = "#[kube(group = \"a.b\", version = \"v1\", kind = \"Foo\", status = \"FooStatus\")]
struct FooSpec {
    colors: BTreeSet<Color>,
    pair: (Color, u8),
    keys: BTreeMap<Color, u8>,
    generic: Wrapper<u8>,
    plain: BTreeSet<String>,
}
enum Color { Red }
struct Wrapper<T>(T);";
    let found: Vec<_> = unconverted(text, "Foo").unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|(line, text)| format!("{line}: {}", &text[..text.find(':').unwrap()]))
        .collect();
    assert_eq!(
        found,
        [
            "1: the status FooStatus is not in this file",
            "3: FooSpec.colors has Color in a type that does not convert with it",
            "4: FooSpec.pair has Color in a type that does not convert with it",
            "5: FooSpec.keys has Color in a type that does not convert with it",
            "10: `Convert` is not derived for Wrapper, which has generic parameters",
        ]
    );
}

#[test]
fn kind_in_an_inline_module_is_an_error() {
    let text = "mod a { #[kube(group = \"a.b\", version = \"v1\", kind = \"Foo\")] struct FooSpec; }";
    let error = set_version(text, "Foo", "v2").unwrap_err();
    assert!(error.to_string().contains("inline module"), "{error}");
}
