//! Lists and events as bytes, in the two encodings that clients ask for.

use std::ops::Range;

use kubewright_benches::pods::{self, DataSet, Pods};

use super::{
    feed::{Event, Snapshot},
    protobuf,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    /// JSON of metadata only.
    Metadata,
    Protobuf,
}

const EXPIRED: &str = "The resourceVersion for the provided watch is too old.";

impl Encoding {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::Metadata => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// How an object begins in JSON.
    fn head(self, data: DataSet) -> &'static str {
        match self {
            Self::Metadata => pods::METADATA_PREFIX,
            _ => data.prefix(),
        }
    }

    /// How an item of a list does.
    fn item_head(self, data: DataSet) -> &'static str {
        match self {
            Self::Metadata => pods::METADATA_PREFIX,
            _ => data.item_prefix(),
        }
    }

    pub(crate) fn watch_type(self) -> &'static str {
        match self {
            Self::Json | Self::Metadata => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }

    /// What stands before the items; in protobuf it says how long they are.
    pub(crate) fn list_head(self, pods: &Pods, all: &Snapshot, items: Range<usize>, token: &str) -> Vec<u8> {
        let version = pods::resource_version(all.version);
        match self {
            Self::Json | Self::Metadata => {
                let head = match self {
                    Self::Metadata => r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1""#,
                    _ => pods.data().list_prefix(),
                };
                let token = match token {
                    "" => String::new(),
                    token => format!(r#","continue":"{token}""#),
                };
                format!(r#"{head},"metadata":{{"resourceVersion":"{version}"{token}}},"items":["#)
                    .into_bytes()
            }
            Self::Protobuf => {
                let size = |number: usize| match all.pods.get(number) {
                    Some(pod) => pods.protobuf_size(*pod),
                    None => protobuf::marker(all.marker).len(),
                };
                let items = items.map(|number| protobuf::field_size(size(number))).sum();
                protobuf::list_head(&version, token, items)
            }
        }
    }

    pub(crate) fn list_tail(self) -> &'static [u8] {
        match self {
            Self::Json | Self::Metadata => b"]}",
            Self::Protobuf => protobuf::UNKNOWN_TAIL,
        }
    }

    /// The item of that number: a Pod, or behind the last one the marker.
    pub(crate) fn item(self, pods: &Pods, all: &Snapshot, number: usize, comma: bool, to: &mut Vec<u8>) {
        match self {
            Self::Json | Self::Metadata => {
                if comma {
                    to.push(b',');
                }
                match all.pods.get(number) {
                    Some(pod) if self == Self::Json => pods.write_json(*pod, true, to),
                    Some(pod) => pods.write_metadata(*pod, to),
                    None => {
                        to.extend_from_slice(
                            pods::marker(all.marker, self.item_head(pods.data())).as_bytes(),
                        );
                    }
                }
            }
            Self::Protobuf => match all.pods.get(number) {
                Some(pod) => {
                    protobuf::field_head(2, pods.protobuf_size(*pod), to);
                    pods.write_protobuf(*pod, to);
                }
                None => protobuf::field(2, &protobuf::marker(all.marker), to),
            },
        }
    }

    /// Of a streaming list: each Pod, the marker, then the bookmark that says that this was all.
    pub(crate) fn initial_event(self, pods: &Pods, all: &Snapshot, number: usize, to: &mut Vec<u8>) {
        match all.pods.get(number) {
            Some(pod) => self.event(pods, Event::Added(*pod), to),
            None if all.is_marker(number) => self.marker(pods.data(), "ADDED", all.marker, to),
            None => self.bookmark(pods.data(), all.version, true, to),
        }
    }

    pub(crate) fn event(self, pods: &Pods, event: Event, to: &mut Vec<u8>) {
        let (kind, pod) = match event {
            Event::Added(pod) => ("ADDED", pod),
            Event::Modified(pod) => ("MODIFIED", pod),
            Event::Deleted(pod) => ("DELETED", pod),
            Event::Marker(version) => return self.marker(pods.data(), "MODIFIED", version, to),
            Event::Bookmark(version) => return self.bookmark(pods.data(), version, false, to),
            Event::Expired => return self.expired(to),
        };
        match self {
            Self::Json | Self::Metadata => {
                json_head(kind, to);
                if self == Self::Json {
                    pods.write_json(pod, false, to);
                } else {
                    pods.write_metadata(pod, to);
                }
                to.extend_from_slice(b"}\n");
            }
            Self::Protobuf => {
                let size = pods.protobuf_size(pod);
                protobuf::event_head(kind, "Pod", size, to);
                pods.write_protobuf(pod, to);
                to.extend_from_slice(protobuf::UNKNOWN_TAIL);
            }
        }
    }

    fn marker(self, data: DataSet, kind: &str, version: u32, to: &mut Vec<u8>) {
        match self {
            Self::Json | Self::Metadata => json_event(kind, &pods::marker(version, self.head(data)), to),
            Self::Protobuf => protobuf::event(kind, "Pod", &protobuf::marker(version), to),
        }
    }

    fn bookmark(self, data: DataSet, version: u32, ends_initial_events: bool, to: &mut Vec<u8>) {
        let version = pods::resource_version(version);
        match self {
            Self::Json | Self::Metadata => {
                let annotations = if ends_initial_events {
                    r#","annotations":{"k8s.io/initial-events-end":"true"}"#
                } else {
                    ""
                };
                let head = self.head(data);
                let pod = format!(
                    r#"{head}"metadata":{{"resourceVersion":"{version}","creationTimestamp":null{annotations}}}}}"#
                );
                json_event("BOOKMARK", &pod, to);
            }
            Self::Protobuf => {
                let pod = protobuf::bookmark(&version, ends_initial_events);
                protobuf::event("BOOKMARK", "Pod", &pod, to);
            }
        }
    }

    fn expired(self, to: &mut Vec<u8>) {
        match self {
            Self::Json | Self::Metadata => {
                let status = format!(
                    r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{EXPIRED}","reason":"Expired","code":410}}"#
                );
                json_event("ERROR", &status, to);
            }
            Self::Protobuf => protobuf::event("ERROR", "Status", &protobuf::expired(EXPIRED), to),
        }
    }
}

fn json_event(kind: &str, object: &str, to: &mut Vec<u8>) {
    json_head(kind, to);
    to.extend_from_slice(object.as_bytes());
    to.extend_from_slice(b"}\n");
}

fn json_head(kind: &str, to: &mut Vec<u8>) {
    for part in [r#"{"type":""#, kind, r#"","object":"#] {
        to.extend_from_slice(part.as_bytes());
    }
}
