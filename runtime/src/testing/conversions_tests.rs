use std::{panic, panic::AssertUnwindSafe};

use k8s_openapi::api::core::v1::ConfigMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::{
    controller::Setup,
    prelude::*,
    testing::TestOperator,
    webhooks::{AdmissionError, AdmissionRequest, Defaulter, Validation, Validator, WebhookBuilder},
};

mod v1 {
    use super::*;
    use crate::{CustomResource, Informer};

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Foo", namespaced)]
    pub(super) struct FooSpec {
        pub(super) name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) color: Option<String>,
        pub(super) size: i32,
    }
}

mod v1alpha1 {
    use super::*;
    use crate::{Convert, CustomResource, Informer};

    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1alpha1", kind = "Foo", namespaced)]
    #[convert(crate = crate, hub = v1::FooSpec, hub_only(color))]
    pub(super) struct FooSpec {
        #[convert(renamed = "name")]
        title: String,
        #[convert(with = number)]
        #[schemars(regex(pattern = "^[1-9][0-9]{0,5}$"))]
        size: String,
    }

    mod number {
        #[expect(clippy::needless_pass_by_value, reason = "the derive passes values")]
        pub(super) fn to_hub(text: String) -> Result<i32, std::num::ParseIntError> {
            text.parse()
        }

        pub(super) fn from_hub(number: i32) -> String {
            number.to_string()
        }
    }
}

mod v1beta1 {
    use super::*;
    use crate::{Convert, CustomResource, Informer};

    /// What was forgotten: names that are no numbers.
    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1beta1", kind = "Foo", namespaced)]
    #[convert(crate = crate, hub = v1::FooSpec, hub_only(color))]
    pub(super) struct FooSpec {
        #[convert(with = number)]
        name: i64,
        size: i32,
    }

    mod number {
        pub(super) fn to_hub(number: i64) -> String {
            number.to_string()
        }

        #[expect(clippy::needless_pass_by_value, reason = "the derive passes values")]
        pub(super) fn from_hub(text: String) -> Result<i64, std::num::ParseIntError> {
            text.parse()
        }
    }
}

fn panic_of(register: fn(&mut Setup)) -> String {
    let test = Harness::new(register);
    let result = panic::catch_unwind(AssertUnwindSafe(|| test.assert_conversions(100)));
    crate::panics::message(&*result.unwrap_err()).to_owned()
}

#[tokio::test]
async fn lossless_conversion_passes() {
    let test = Harness::new(|setup| _ = setup.versions::<v1::Foo>().other::<v1alpha1::Foo>());
    test.assert_conversions(200);
}

#[tokio::test]
async fn objects_that_do_not_convert_are_shown_with_their_versions() {
    let message = panic_of(|setup| _ = setup.versions::<v1::Foo>().other::<v1beta1::Foo>());
    assert!(
        message.starts_with("Foo (demo.dev), v1 to v1beta1 and back, case "),
        "{message}"
    );
    assert!(message.contains("spec.name: "), "{message}");
    assert!(message.contains("restrict the schema of v1,"), "{message}");
    assert!(message.contains("\"apiVersion\": \"demo.dev/v1\""), "{message}");
}

mod hub {
    use super::*;
    use crate::{CustomResource, Informer};

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "demo.dev", version = "v1", kind = "Bar", namespaced)]
    pub(super) struct BarSpec {
        pub(super) first: i32,
        pub(super) second: i32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) note: Option<String>,
        /// In seconds.
        pub(super) wait: i32,
    }
}

/// Two versions whose conversions are lossless and wrong, and one that is right.
macro_rules! old_bar {
    ($module:ident, $version:literal, [$($hub_only:tt)*], $(#[$first:meta])*, $(#[$second:meta])*, $(#[$note:meta])*) => {
        #[expect(dead_code, reason = "only the conversion is tested")]
        mod $module {
            use super::*;
            use crate::{Convert, CustomResource, Informer};

            #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "demo.dev", version = $version, kind = "Bar", namespaced)]
            #[convert(crate = crate, hub = hub::BarSpec $($hub_only)*)]
            pub(super) struct BarSpec {
                $(#[$first])*
                first: i32,
                $(#[$second])*
                second: i32,
                #[serde(default, skip_serializing_if = "Option::is_none")]
                $(#[$note])*
                note: Option<String>,
                /// In minutes: another meaning, and another description.
                #[convert(dropped)]
                wait: i32,
            }
        }
    };
}
old_bar!(swapped, "v1alpha1", [, hub_only(wait)], #[convert(renamed = "second")], #[convert(renamed = "first")], );
old_bar!(dropped, "v1alpha2", [, hub_only(note), hub_only(wait)], , , #[convert(dropped)]);
old_bar!(right, "v1alpha3", [, hub_only(wait)], , , );

#[tokio::test]
async fn fields_that_are_swapped_or_dropped_are_failures() {
    let fix = "of the same type and description: correct the conversion, or describe the fields as different";
    let swap = panic_of(|setup| _ = setup.versions::<hub::Bar>().other::<swapped::Bar>());
    assert_eq!(
        swap,
        format!(
            "Bar (demo.dev): spec.first of v1 becomes spec.second of v1alpha1, which has a spec.first {fix}"
        )
    );
    let drop = panic_of(|setup| _ = setup.versions::<hub::Bar>().other::<dropped::Bar>());
    assert_eq!(
        drop,
        format!("Bar (demo.dev): spec.note of v1 has no effect in v1alpha2, which has a spec.note {fix}")
    );
    let right = Harness::new(|setup| _ = setup.versions::<hub::Bar>().other::<right::Bar>());
    right.assert_conversions(200);
}

#[tokio::test]
async fn nothing_to_convert_is_a_failure() {
    assert!(panic_of(|setup| _ = setup.versions::<v1::Foo>()).contains("no version is converted"));
    assert!(panic_of(|_| {}).contains("delete this test"));
}

/// Definitions in tests have one version, unless the test has them converted. A hub alone needs no conversion.
#[tokio::test]
async fn test_operators_convert_where_they_are_asked_to() {
    let two: fn(&mut Setup) = |setup| _ = setup.versions::<v1::Foo>().other::<v1alpha1::Foo>();
    assert!(Harness::new(two).setup().webhook_manifests().is_some());
    assert_eq!(TestOperator::permissions(two), []);
    let permissions = TestOperator::permissions(TestOperator::converting(two));
    let units: Vec<_> = permissions.iter().map(|permission| &*permission.unit).collect();
    assert_eq!(
        units,
        ["webhook certificate", "CA bundle CustomResourceDefinition"]
    );
    let one = Harness::new(|setup| _ = setup.versions::<v1::Foo>());
    assert!(one.setup().webhook_manifests().is_none());
}

/// Sets a color and a name. Sizes must not shrink.
struct Colors;

impl Defaulter<v1::Foo> for Colors {
    async fn set_defaults(&self, foo: &mut v1::Foo, _: &AdmissionRequest) -> Result<(), AdmissionError> {
        foo.spec.color.get_or_insert_with(|| "green".to_owned());
        if foo.spec.name.is_empty() {
            foo.spec.name = "default".to_owned();
        }
        Ok(())
    }
}

impl Validator<v1::Foo> for Colors {
    async fn update(
        &self,
        foo: &v1::Foo,
        old: &v1::Foo,
        request: &AdmissionRequest,
    ) -> Result<Validation, AdmissionError> {
        let mut validation = Validation::new();
        let decoded: Option<v1::Foo> = request.old_object()?;
        assert_eq!(decoded.unwrap().spec.size, old.spec.size);
        if foo.spec.size < old.spec.size {
            validation.invalid("spec.size", foo.spec.size, "must not shrink");
        }
        Ok(validation)
    }
}

fn register_colors(setup: &mut Setup) {
    setup.versions::<v1::Foo>().other::<v1alpha1::Foo>();
    setup.defaulter::<v1::Foo>(Colors);
    setup.validator::<v1::Foo>(Colors);
}

/// The API server would convert them otherwise, and refuse them while no replica converts.
#[tokio::test]
async fn objects_of_other_versions_are_admitted_as_they_are_sent() {
    let test = Harness::new(register_colors);
    let foo = |title: &str, size: &str| {
        json!({
            "apiVersion": "demo.dev/v1alpha1", "kind": "Foo", "metadata": {"name": "a"},
            "spec": {"title": title, "size": size, "unknown": [null]},
        })
    };
    let admitted = test.admit(AdmissionRequest::create(&foo("", "7"))).await.unwrap();
    let mut defaulted = admitted.object;
    let hub = test.convert(&defaulted, "v1").unwrap();
    let spec = json!({"name": "default", "size": 7, "color": "green"});
    let expected = |spec: &Value| spec.as_object().unwrap().clone();
    assert_eq!(
        expected(&hub["spec"])
            .into_iter()
            .filter(|(key, _)| key != "unknown")
            .collect::<serde_json::Map<_, _>>(),
        expected(&spec)
    );
    defaulted["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("annotations");
    assert_eq!(defaulted, foo("default", "7"));

    let update = AdmissionRequest::update(&foo("a", "7"), &foo("a", "6"));
    let denied = test.admit(update).await.unwrap_err();
    assert_eq!(
        denied.message,
        "Foo.demo.dev \"a\" is invalid: spec.size: Invalid value: 6: must not shrink"
    );
    let undecodable = test
        .admit(AdmissionRequest::create(&foo("a", "many")))
        .await
        .unwrap_err();
    assert_eq!(
        undecodable.message,
        "converting Foo a (demo.dev/v1alpha1) to demo.dev/v1 failed: spec.size: invalid digit found in string"
    );
    let stored = AdmissionRequest::update(&foo("a", "many"), &foo("a", "7"));
    let failed = test.admit(stored).await.unwrap_err();
    assert_eq!(
        failed.message,
        "the stored object cannot be converted to demo.dev/v1: the operator's log says why"
    );
}

#[tokio::test]
async fn rules_have_the_versions_that_the_webhook_converts() {
    let versions = |register: fn(&mut Setup)| {
        let manifests = json!(Harness::new(register).setup().webhook_manifests());
        manifests["validating"]["webhooks"][0]["rules"][0]["apiVersions"].clone()
    };
    assert_eq!(versions(register_colors), json!(["v1", "v1alpha1"]));
    assert_eq!(
        versions(|setup| _ = setup.validator::<v1::Foo>(Colors)),
        json!(["v1"])
    );
    let with = |option: fn(&mut WebhookBuilder) -> &mut WebhookBuilder| {
        let mut setup = Harness::new(|setup| _ = setup.versions::<v1::Foo>().other::<v1alpha1::Foo>());
        option(setup.setup.validator::<v1::Foo>(Colors));
        let manifests = json!(setup.setup().webhook_manifests());
        manifests["validating"]["webhooks"][0]["rules"][0]["apiVersions"].clone()
    };
    assert_eq!(with(WebhookBuilder::match_exact), json!(["v1"]));
    assert_eq!(
        with(|webhook| webhook.match_condition("big", "object.spec.size > 3")),
        json!(["v1"])
    );
    // A test has the definition of the hub alone.
    let mut alone = Harness::new(register_colors);
    alone.setup.leave_conversion_out();
    let manifests = json!(alone.setup().webhook_manifests());
    let rule = &manifests["validating"]["webhooks"][0]["rules"][0];
    assert_eq!(rule["apiVersions"], json!(["v1"]));
}

/// Creates a ConfigMap for each Foo.
struct Owner(TypedClient<ConfigMap, (Create,)>);

impl Reconciler for Owner {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let mut foo = v1::Foo::new(
            key.name(),
            v1::FooSpec {
                name: String::new(),
                color: None,
                size: 1,
            },
        );
        foo.metadata.uid = Some("1".to_owned());
        let mut config_map = ConfigMap::default();
        config_map.metadata.name = Some("a".to_owned());
        config_map.metadata.namespace = key.namespace().map(str::to_owned);
        config_map.metadata.owner_references = Some(vec![controller_reference(&foo)]);
        self.0.create(&config_map).await?;
        Ok(Action::await_change())
    }
}

fn register_owner(setup: &mut Setup) {
    let foos = setup.informers().custom::<v1::Foo>();
    let config_maps = setup.informers().of::<ConfigMap>();
    let owner = Owner(setup.client());
    setup
        .controller("owner", owner)
        .reconciles(&foos)
        .owns(&config_maps);
}

#[tokio::test]
async fn owner_references_have_the_stored_version() {
    let first = |setup: &mut Setup| {
        register_owner(setup);
        let versions = setup.versions::<v1::Foo>().other::<v1alpha1::Foo>();
        versions.stored::<v1alpha1::Foo>();
    };
    let owner_version = async |test: Harness| {
        test.reconcile("default/a").await.unwrap();
        test.requests().remove(0).body["metadata"]["ownerReferences"][0]["apiVersion"].take()
    };
    let migrated = |setup: &mut Setup| {
        register_owner(setup);
        setup.versions::<v1::Foo>().other::<v1alpha1::Foo>();
    };
    let test = Harness::new(migrated);
    let permissions = test.setup().permissions();
    let changed = permissions.iter().find(|unit| unit.unit == "owned ConfigMap");
    assert_eq!(changed.unwrap().verbs, ["delete"]);
    assert_eq!(owner_version(test).await, "demo.dev/v1");

    let test = Harness::new(first);
    let permissions = test.setup().permissions();
    assert!(permissions.iter().all(|unit| unit.unit != "owned ConfigMap"));
    assert_eq!(owner_version(test).await, "demo.dev/v1alpha1");

    // A test installs the definition of the hub alone.
    let mut alone = Harness::new(first);
    alone.setup.leave_conversion_out();
    assert_eq!(owner_version(alone).await, "demo.dev/v1");

    let one = Harness::new(register_owner);
    let permissions = one.setup().permissions();
    assert!(permissions.iter().all(|unit| unit.unit != "owned ConfigMap"));
    assert_eq!(owner_version(one).await, "demo.dev/v1");
}

#[test]
fn first_difference_is_named_by_its_path() {
    let found = |one: &Value, other: &Value| {
        let found = first_difference(Some(one), Some(other), String::new());
        found.map(|(path, before, after)| (path, before.cloned(), after.cloned()))
    };
    let one = json!({"a": {"b": [1, {"c": 1.0}]}, "d": null});
    assert_eq!(found(&one, &json!({"d": null, "a": {"b": [1, {"c": 1}]}})), None);
    let difference = |path: &str, before, after| Some((path.to_owned(), before, after));
    assert_eq!(
        found(&one, &json!({"a": {"b": [1, {"c": 2}]}, "d": null})),
        difference("a.b[1].c", Some(json!(1.0)), Some(json!(2)))
    );
    assert_eq!(
        found(&one, &json!({"a": {"b": [1, {"c": 1}]}})),
        difference("d", Some(Value::Null), None)
    );
    assert_eq!(
        found(&json!([1]), &json!([1, 2])),
        difference("[1]", None, Some(json!(2)))
    );
}
