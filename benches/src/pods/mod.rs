//! The Pods of the benchmarks: made here from a seed, not recorded anywhere.
//!
//! `app` invents applications, each a template of its Pods, with the managedFields of `managed`. Where Pods of one application differ
//! (names, uids, addresses, ids of containers, times) a template has `blanks`, which `random` values fill.

mod app;
mod blanks;
mod custom;
mod managed;

use rand::{SeedableRng as _, rngs::StdRng};

pub use blanks::{Form, FormError};
pub use custom::CUSTOM_PREFIX;

/// How the JSON of a Pod begins; within a list the API server leaves out what stands behind the brace.
pub const PREFIX: &str = r#"{"kind":"Pod","apiVersion":"v1","#;
/// How it begins when only metadata is asked for, within a list, too.
pub const METADATA_PREFIX: &str = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","#;
/// The namespace of the [`marker`].
pub const MARKER_NAMESPACE: &str = "zz-marker";
/// How many applications there are, unless somebody wants fewer.
pub const APPS: usize = 400;

/// One version of one Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodVersion {
    /// Which Pod: others have other names and uids.
    pub ordinal: u32,
    /// Its resource version, counted from the first.
    pub version: u32,
}

/// The templates of all Pods, as JSON and, where it was read, as protobuf.
#[derive(Debug)]
pub struct Pods {
    json: Vec<Form>,
    metadata: Vec<Form>,
    protobuf: Vec<Form>,
    /// The place of each template's Pods among all, by their namespaces and names.
    ranks: Vec<usize>,
    data: DataSet,
}

/// What the load server serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DataSet {
    /// Pods of applications: those of one application are replicas of each other
    #[default]
    Pods,
    /// Custom resources of 1 to 4 KB, each different
    Custom,
}

impl DataSet {
    /// How the JSON of an object begins in a watch event.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Pods => PREFIX,
            Self::Custom => CUSTOM_PREFIX,
        }
    }

    /// How the JSON of an object begins in a list: the API server leaves kind and version out for built-in kinds only.
    pub fn item_prefix(self) -> &'static str {
        match self {
            Self::Pods => "{",
            Self::Custom => CUSTOM_PREFIX,
        }
    }

    /// How the JSON of a list begins.
    pub fn list_prefix(self) -> &'static str {
        match self {
            Self::Pods => r#"{"kind":"PodList","apiVersion":"v1""#,
            Self::Custom => r#"{"apiVersion":"bench.dev/v1","kind":"MixedList""#,
        }
    }
}

impl Pods {
    /// The same for the same seed. `apps` is the number of templates: of applications, or of custom resources.
    pub fn new(apps: usize, seed: u64, data: DataSet) -> Result<Self, FormError> {
        let mut random = StdRng::seed_from_u64(seed);
        let (mut json, mut metadata, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for app in 0..apps {
            let text = match data {
                DataSet::Pods => app::template(app, &mut random),
                DataSet::Custom => custom::template(app, &mut random),
            };
            let of_metadata = text.split(r#","spec":"#).next().unwrap_or_default();
            let of_metadata = of_metadata.replacen(data.prefix(), METADATA_PREFIX, 1) + "}";
            keys.push((key(&text), app));
            metadata.push(Form::json(of_metadata.into_bytes())?);
            json.push(Form::json(text.into_bytes())?);
        }
        keys.sort_unstable();
        let mut ranks = vec![0; keys.len()];
        for (rank, (_, app)) in keys.into_iter().enumerate() {
            ranks[app] = rank;
        }
        Ok(Self {
            json,
            metadata,
            protobuf: Vec::new(),
            ranks,
            data,
        })
    }

    /// Sorts Pods as an API server lists them, by namespace and name; replicas of one application by their ordinals.
    pub fn sort(&self, pods: &mut [PodVersion]) {
        pods.sort_unstable_by_key(|pod| {
            let ordinal = pod.ordinal as usize;
            (self.ranks[ordinal % self.ranks.len()], ordinal)
        });
    }

    /// Which data set it is.
    pub fn data(&self) -> DataSet {
        self.data
    }

    /// The templates as JSON.
    pub fn templates(&self) -> impl Iterator<Item = &[u8]> {
        self.json.iter().map(Form::template)
    }

    /// Adds the same templates as protobuf, in the same order.
    pub fn with_protobuf(mut self, templates: impl Iterator<Item = Vec<u8>>) -> Result<Self, FormError> {
        let forms = templates
            .zip(&self.json)
            .map(|(bytes, json)| Form::protobuf(bytes, json));
        self.protobuf = forms.collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Whether Pods can be written as protobuf.
    pub fn has_protobuf(&self) -> bool {
        self.protobuf.len() == self.json.len()
    }

    /// Appends the Pod as JSON; without kind and version of the API when it is an item of a list.
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

    /// The bytes that [`write_protobuf`](Self::write_protobuf) appends.
    pub fn protobuf_size(&self, pod: PodVersion) -> usize {
        self.protobuf[pod.ordinal as usize % self.protobuf.len()]
            .template()
            .len()
    }

    /// Mean bytes of a Pod's JSON, and of its managedFields.
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

fn write(forms: &[Form], pod: PodVersion, skipped: usize, to: &mut Vec<u8>) {
    let (app, replica) = (
        pod.ordinal as usize % forms.len(),
        pod.ordinal as usize / forms.len(),
    );
    let start = to.len();
    forms[app].write(pod, replica, to);
    if skipped > 0 {
        // An item begins with a brace as well.
        to.copy_within(start + skipped + 1.., start + 1);
        to.truncate(to.len() - skipped);
    }
}

/// By what an API server sorts a template's Pods.
fn key(template: &str) -> [String; 2] {
    let pod: serde_json::Value = serde_json::from_str(template).unwrap_or_default();
    ["namespace", "name"].map(|field| pod["metadata"][field].as_str().unwrap_or_default().to_owned())
}

/// The text of a resource version.
pub fn resource_version(version: u32) -> String {
    (blanks::FIRST_VERSION + u64::from(version)).to_string()
}

/// Reads what [`resource_version`] wrote.
pub fn parse_resource_version(text: &str) -> Option<u32> {
    let version: u64 = text.parse().ok()?;
    u32::try_from(version.checked_sub(blanks::FIRST_VERSION)?).ok()
}

/// A small Pod that stands last in each list and each series of events: who has worked it has worked all before. `head` is what stands
/// before its metadata.
pub fn marker(version: u32, head: &str) -> String {
    let version = resource_version(version);
    let rest = if head == METADATA_PREFIX {
        ""
    } else {
        r#","spec":{"containers":[{"name":"none"}]},"status":{}"#
    };
    format!(
        r#"{head}"metadata":{{"name":"marker","namespace":"{MARKER_NAMESPACE}","uid":"00000000-0000-4000-8000-000000000000","resourceVersion":"{version}"}}{rest}}}"#
    )
}
