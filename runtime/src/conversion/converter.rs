//! Converts objects between the versions of a kind, without loss.

use std::sync::OnceLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use prometheus_client::metrics::counter::Counter;
use serde_json::{Map, Value};

use super::{
    ConvertError, FieldRule, Versioned,
    lost_fields::{self, LostField},
    partial_objects,
    schema_at::{SchemaAt, drop_new_nulls},
    version::{self, ConvertObject, RoundTrip},
};
use crate::{
    ApiResource,
    panics::{caught, caught_silently},
};

/// The start of the annotation with what the object's version cannot hold; the version that holds it follows.
pub(super) const ANNOTATION_PREFIX: &str = "conversion.kubewright.dev/";

/// The most bytes that the annotation may have. The API server takes 256 KiB for all annotations of an object.
const MAX_ANNOTATION_BYTES: usize = 128 * 1024;

/// The versions of one kind.
#[derive(Clone)]
pub(crate) struct Converter {
    pub(crate) info: ApiResource,
    /// Whether errors must not quote values.
    sensitive: bool,
    hub: Version,
    others: Vec<OtherVersion>,
}

#[derive(Clone)]
struct Version {
    name: String,
    definition: fn() -> CustomResourceDefinition,
    schema: OnceLock<Value>,
}

#[derive(Clone)]
struct OtherVersion {
    version: Version,
    rules: Vec<FieldRule>,
    to_hub: ConvertObject,
    from_hub: ConvertObject,
}

impl Converter {
    /// A converter of one version, the hub.
    pub(crate) fn of<H: Versioned>() -> Self {
        Self {
            info: H::info(),
            sensitive: H::SENSITIVE,
            hub: Version::of::<H>(),
            others: Vec::new(),
        }
    }

    /// Adds another version.
    pub(crate) fn add<O: version::OtherVersion<H>, H>(&mut self) {
        self.sensitive |= O::SENSITIVE;
        self.others.push(OtherVersion {
            version: Version::of::<O>(),
            rules: O::rules(),
            to_hub: O::object_to_hub,
            from_hub: O::object_from_hub,
        });
    }

    /// Whether errors must not quote values.
    pub(super) fn is_sensitive(&self) -> bool {
        self.sensitive
    }

    /// The names of all versions, the hub first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &str> {
        let others = self.others.iter().map(|other| &*other.version.name);
        [&*self.hub.name].into_iter().chain(others)
    }

    /// Whether it is one of the versions.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.versions().any(|version| version == name)
    }

    /// Whether all conversions are known to change nothing where the schemas are equal: no type has a rule.
    pub(crate) fn is_identity(&self) -> bool {
        self.others.iter().all(|other| other.rules.is_empty())
    }

    /// The rules of each version but the hub.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (&str, &[FieldRule])> {
        let others = self.others.iter();
        others.map(|other| (&*other.version.name, &*other.rules))
    }

    /// Returns the schema of the objects of a version; null if it has none.
    pub(crate) fn schema(&self, name: &str) -> &Value {
        let other = self.other(name).map(|other| &other.version);
        other.unwrap_or(&self.hub).schema().0.unwrap_or(&Value::Null)
    }

    /// Converts an object of one of the versions to another of them. Counts annotations that it ignores.
    pub(super) fn convert(
        &self,
        mut object: Map<String, Value>,
        from: &str,
        to: &str,
        ignored: &Counter,
    ) -> Result<Map<String, Value>, ConvertError> {
        if from == to {
            return Ok(object);
        }
        let hide = |error: ConvertError| if self.sensitive { error.hidden() } else { error };
        if let Some(other) = self.other(from) {
            let step = Step {
                from: &other.version,
                to: &self.hub,
                convert: other.to_hub,
                convert_back: other.from_hub,
            };
            object = step.convert(&self.info, object, ignored).map_err(hide)?;
        }
        if let Some(other) = self.other(to) {
            let step = Step {
                from: &self.hub,
                to: &other.version,
                convert: other.from_hub,
                convert_back: other.to_hub,
            };
            object = step.convert(&self.info, object, ignored).map_err(hide)?;
        }
        Ok(object)
    }

    fn other(&self, name: &str) -> Option<&OtherVersion> {
        self.others.iter().find(|other| other.version.name == name)
    }
}

impl Version {
    fn of<K: Versioned>() -> Self {
        Self {
            name: K::info().version.into_owned(),
            definition: K::definition,
            schema: OnceLock::new(),
        }
    }

    fn schema(&self) -> SchemaAt<'_> {
        // A definition that panics is an error of the manifests; without a schema, list elements are found by `name`.
        let schema = self.schema.get_or_init(|| {
            let definition = caught(self.definition).ok();
            let version = definition.and_then(|definition| definition.spec.versions.into_iter().next());
            let schema = version.and_then(|version| version.schema?.open_api_v3_schema);
            serde_json::to_value(schema).unwrap_or_default()
        });
        SchemaAt(Some(schema))
    }
}

/// A conversion from the hub to another version, or the reverse.
struct Step<'a> {
    from: &'a Version,
    to: &'a Version,
    convert: ConvertObject,
    convert_back: ConvertObject,
}

impl Step<'_> {
    fn convert(
        &self,
        info: &ApiResource,
        mut object: Map<String, Value>,
        ignored: &Counter,
    ) -> Result<Map<String, Value>, ConvertError> {
        let RoundTrip {
            there: mut converted,
            back: mut base,
        } = self.round_trip(&object)?;
        let Some(Value::Object(mut metadata)) = object.remove("metadata") else {
            return Err(ConvertError::new("the object has no metadata"));
        };
        drop_nulls(&mut converted, &object, self.to);
        if let Some(text) = take_annotation(&mut metadata, &self.to.name) {
            match self.restore(&text, &converted, &base) {
                Some(restored) => (converted, base) = (restored.there, restored.back),
                None => _ = ignored.inc(),
            }
        }
        // As on the way back.
        drop_nulls(&mut base, &converted, self.from);
        let lost = lost_fields::find(&object, &base, self.from.schema());
        self.annotate(&mut metadata, &lost)?;
        let api_version = format!("{}/{}", info.group, self.to.name);
        converted.insert("apiVersion".to_owned(), api_version.into());
        converted.insert("kind".to_owned(), info.kind.as_ref().into());
        converted.insert("metadata".to_owned(), metadata.into());
        Ok(converted)
    }

    fn round_trip(&self, object: &Map<String, Value>) -> Result<RoundTrip, ConvertError> {
        (self.convert)(object).or_else(|error| {
            let there = partial_objects::convert(object, self.from.schema(), self.convert, error)?;
            // Not that of the completed objects: it lacks what `there` lacks. Without a way back the annotation keeps everything.
            let back = caught_silently(|| self.way_back(&there));
            let back = back.ok().and_then(Result::ok).unwrap_or_default();
            Ok(RoundTrip { there, back })
        })
    }

    fn way_back(&self, there: &Map<String, Value>) -> Result<Map<String, Value>, ConvertError> {
        match (self.convert_back)(there) {
            Ok(converted) => Ok(converted.there),
            Err(error) => partial_objects::convert(there, self.to.schema(), self.convert_back, error),
        }
    }

    /// Restores the values of an annotation. Returns the object, and what it gives on the way back, which is `base` if nothing was restored.
    /// None if the annotation does not decode, or its values do not.
    fn restore(
        &self,
        annotation: &str,
        converted: &Map<String, Value>,
        base: &Map<String, Value>,
    ) -> Option<RoundTrip> {
        let lost: Vec<LostField> = serde_json::from_str(annotation).ok()?;
        let mut there = converted.clone();
        let back = if lost_fields::restore(lost, &mut there) {
            self.way_back(&there).ok()?
        } else {
            base.clone()
        };
        Some(RoundTrip { there, back })
    }

    /// Sets the annotation, or removes an old one if nothing is lost.
    fn annotate(&self, metadata: &mut Map<String, Value>, lost: &[LostField]) -> Result<(), ConvertError> {
        if lost.is_empty() {
            take_annotation(metadata, &self.from.name);
            return Ok(());
        }
        let text = serde_json::to_string(lost).map_err(ConvertError::new)?;
        if text.len() > MAX_ANNOTATION_BYTES {
            return Err(ConvertError::new(format!(
                "version {} cannot hold {} KiB of this object, and at most {} KiB fit into the annotation that keeps them",
                self.to.name,
                text.len().div_ceil(1024),
                MAX_ANNOTATION_BYTES / 1024
            )));
        }
        let annotations = metadata.entry("annotations").or_insert_with(|| Map::new().into());
        if annotations.is_null() {
            *annotations = Map::new().into();
        }
        let Value::Object(annotations) = annotations else {
            return Err(ConvertError::new("metadata.annotations is not an object"));
        };
        annotations.insert(format!("{ANNOTATION_PREFIX}{}", self.from.name), text.into());
        Ok(())
    }
}

fn drop_nulls(converted: &mut Map<String, Value>, original: &Map<String, Value>, version: &Version) {
    for (name, value) in converted {
        drop_new_nulls(value, original.get(name), version.schema().field(name));
    }
}

/// Removes the annotation with the lost values of a version; and the annotations, if it was the only one.
fn take_annotation(metadata: &mut Map<String, Value>, version: &str) -> Option<String> {
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let found = annotations.remove(&format!("{ANNOTATION_PREFIX}{version}"))?;
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    Some(match found {
        Value::String(text) => text,
        other => other.to_string(),
    })
}
