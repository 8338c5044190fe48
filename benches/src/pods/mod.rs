//! The Pods of the benchmarks, generated from a random seed.
//!
//! `app` generates applications. Each is a template of its Pods, with managedFields from `managed`. Values that differ between the Pods of
//! an application (names, uids, addresses, container ids, times) are blanks in the template, which `template` fills with random values.

mod app;
mod custom;
mod managed;
mod template;

use rand::{SeedableRng as _, rngs::StdRng};

pub use custom::CUSTOM_PREFIX;
pub use template::{BlankCountError, ObjectTemplate};

/// The start of a Pod's JSON. In lists the API server omits kind and apiVersion.
pub const PREFIX: &str = r#"{"kind":"Pod","apiVersion":"v1","#;
/// The start of the JSON of metadata-only responses, in lists and in watch events.
pub const METADATA_PREFIX: &str = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","#;
/// The namespace of the [`end_marker`].
pub const END_MARKER_NAMESPACE: &str = "zz-marker";
/// Default number of applications.
pub const APPS: usize = 400;

/// One version of one Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodVersion {
    /// Number of the Pod. Pods with different numbers have different names and uids.
    pub ordinal: u32,
    /// Resource version of the Pod, counted from the first one.
    pub version: u32,
}

/// The templates of all Pods, as JSON and optionally as protobuf.
#[derive(Debug)]
pub struct Pods {
    json: Vec<ObjectTemplate>,
    metadata: Vec<ObjectTemplate>,
    protobuf: Vec<ObjectTemplate>,
    /// Position of each template in the order of namespaces and names.
    sort_positions: Vec<usize>,
    data: DataSet,
}

/// The objects that the load server serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DataSet {
    /// Pods of applications; Pods of one application are replicas of each other
    #[default]
    Pods,
    /// Custom resources of 1 to 4 KB, each different
    Custom,
}

impl DataSet {
    /// Returns the start of an object's JSON in a watch event.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Pods => PREFIX,
            Self::Custom => CUSTOM_PREFIX,
        }
    }

    /// Returns the start of an object's JSON in a list. The API server omits kind and apiVersion for built-in kinds only.
    pub fn item_prefix(self) -> &'static str {
        match self {
            Self::Pods => "{",
            Self::Custom => CUSTOM_PREFIX,
        }
    }

    /// Returns the start of a list's JSON.
    pub fn list_prefix(self) -> &'static str {
        match self {
            Self::Pods => r#"{"kind":"PodList","apiVersion":"v1""#,
            Self::Custom => r#"{"apiVersion":"bench.dev/v1","kind":"MixedList""#,
        }
    }
}

impl Pods {
    /// Generates the templates; the same seed gives the same templates. `apps` is the number of applications or of custom resources.
    pub fn new(apps: usize, seed: u64, data: DataSet) -> Result<Self, BlankCountError> {
        let mut random = StdRng::seed_from_u64(seed);
        let (mut json, mut metadata, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for app in 0..apps {
            let text = match data {
                DataSet::Pods => app::template(app, &mut random),
                DataSet::Custom => custom::template(app, &mut random),
            };
            let metadata_text = text.split(r#","spec":"#).next().unwrap_or_default();
            let metadata_text = metadata_text.replacen(data.prefix(), METADATA_PREFIX, 1) + "}";
            keys.push((sort_key(&text), app));
            metadata.push(ObjectTemplate::json(metadata_text.into_bytes())?);
            json.push(ObjectTemplate::json(text.into_bytes())?);
        }
        keys.sort_unstable();
        let mut sort_positions = vec![0; keys.len()];
        for (rank, (_, app)) in keys.into_iter().enumerate() {
            sort_positions[app] = rank;
        }
        Ok(Self {
            json,
            metadata,
            protobuf: Vec::new(),
            sort_positions,
            data,
        })
    }

    /// Sorts Pods by namespace and name, as an API server lists them. Replicas of one application are sorted by their ordinals.
    pub fn sort(&self, pods: &mut [PodVersion]) {
        pods.sort_unstable_by_key(|pod| {
            let ordinal = pod.ordinal as usize;
            (self.sort_positions[ordinal % self.sort_positions.len()], ordinal)
        });
    }

    /// Returns the data set.
    pub fn data(&self) -> DataSet {
        self.data
    }

    /// Returns the JSON templates.
    pub fn templates(&self) -> impl Iterator<Item = &[u8]> {
        self.json.iter().map(ObjectTemplate::template)
    }

    /// Adds the same templates as protobuf, in the same order.
    pub fn with_protobuf(
        mut self,
        templates: impl Iterator<Item = Vec<u8>>,
    ) -> Result<Self, BlankCountError> {
        let templates = templates
            .zip(&self.json)
            .map(|(bytes, json)| ObjectTemplate::protobuf(bytes, json));
        self.protobuf = templates.collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Returns whether [`with_protobuf`](Self::with_protobuf) has added protobuf templates.
    pub fn has_protobuf(&self) -> bool {
        self.protobuf.len() == self.json.len()
    }

    /// Appends the Pod as JSON. A list item of a built-in kind has no kind and apiVersion.
    pub fn write_json(&self, pod: PodVersion, is_item: bool, to: &mut Vec<u8>) {
        let skipped = if is_item {
            self.data.prefix().len() - self.data.item_prefix().len()
        } else {
            0
        };
        write(&self.json, pod, skipped, to);
    }

    /// Appends the Pod's metadata as JSON.
    pub fn write_metadata(&self, pod: PodVersion, to: &mut Vec<u8>) {
        write(&self.metadata, pod, 0, to);
    }

    /// Appends the Pod as protobuf, without an envelope.
    pub fn write_protobuf(&self, pod: PodVersion, to: &mut Vec<u8>) {
        write(&self.protobuf, pod, 0, to);
    }

    /// Returns the number of bytes that [`write_protobuf`](Self::write_protobuf) appends.
    pub fn protobuf_size(&self, pod: PodVersion) -> usize {
        self.protobuf[pod.ordinal as usize % self.protobuf.len()]
            .template()
            .len()
    }

    /// Returns the mean sizes of a Pod's JSON and of its managedFields, in bytes.
    pub fn mean_sizes(&self) -> (usize, usize) {
        let (mut whole, mut managed_fields) = (0, 0);
        for template in self.templates() {
            let pod: serde_json::Value = serde_json::from_slice(template).unwrap_or_default();
            whole += template.len();
            managed_fields += pod["metadata"]["managedFields"].to_string().len();
        }
        let count = self.json.len().max(1);
        (whole / count, managed_fields / count)
    }
}

fn write(templates: &[ObjectTemplate], pod: PodVersion, skipped: usize, to: &mut Vec<u8>) {
    let (app, replica) = (
        pod.ordinal as usize % templates.len(),
        pod.ordinal as usize / templates.len(),
    );
    let start = to.len();
    templates[app].write(pod, replica, to);
    if skipped > 0 {
        // Remove the rest of the prefix, after the opening brace.
        to.copy_within(start + skipped + 1.., start + 1);
        to.truncate(to.len() - skipped);
    }
}

/// Returns namespace and name of a template's Pods, the API server's sort key.
fn sort_key(template: &str) -> [String; 2] {
    let pod: serde_json::Value = serde_json::from_str(template).unwrap_or_default();
    ["namespace", "name"].map(|field| pod["metadata"][field].as_str().unwrap_or_default().to_owned())
}

/// Formats a resource version.
pub fn resource_version(version: u32) -> String {
    (template::FIRST_VERSION + u64::from(version)).to_string()
}

/// Parses a resource version that [`resource_version`] formatted.
pub fn parse_resource_version(text: &str) -> Option<u32> {
    let version: u64 = text.parse().ok()?;
    u32::try_from(version.checked_sub(template::FIRST_VERSION)?).ok()
}

/// Returns the JSON of a small Pod that comes last in each list and each series of events: a worker that has processed it has processed all
/// objects before it. `head` is the JSON before its metadata.
pub fn end_marker(version: u32, head: &str) -> String {
    let version = resource_version(version);
    let rest = if head == METADATA_PREFIX {
        ""
    } else {
        r#","spec":{"containers":[{"name":"none"}]},"status":{}"#
    };
    format!(
        r#"{head}"metadata":{{"name":"marker","namespace":"{END_MARKER_NAMESPACE}","uid":"00000000-0000-4000-8000-000000000000","resourceVersion":"{version}"}}{rest}}}"#
    )
}
