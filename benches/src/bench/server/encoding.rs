//! Encodes lists and events as JSON or protobuf.

use std::ops::Range;

use kubewright_benches::pods::{self, DataSet, Pods};

use super::{
    protobuf,
    state::{Snapshot, WatchEvent},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    /// JSON, metadata only.
    Metadata,
    Protobuf,
}

const EXPIRED_MESSAGE: &str = "The resourceVersion for the provided watch is too old.";

impl Encoding {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::Metadata => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// Returns the start of an object's JSON in a watch event.
    fn object_head(self, data: DataSet) -> &'static str {
        match self {
            Self::Metadata => pods::METADATA_PREFIX,
            _ => data.prefix(),
        }
    }

    /// Returns the start of an object's JSON in a list.
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

    /// Returns the bytes before the items of a list. In protobuf they include the total length of the items.
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
                    None => protobuf::end_marker(all.marker).len(),
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

    /// Appends the list item at position `number`: a Pod, or after the last one the end marker.
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
                            pods::end_marker(all.marker, self.item_head(pods.data())).as_bytes(),
                        );
                    }
                }
            }
            Self::Protobuf => match all.pods.get(number) {
                Some(pod) => {
                    protobuf::field_head(2, pods.protobuf_size(*pod), to);
                    pods.write_protobuf(*pod, to);
                }
                None => protobuf::field(2, &protobuf::end_marker(all.marker), to),
            },
        }
    }

    /// Appends the event at position `number` of a streaming list: all Pods, the end marker, then the bookmark that ends the initial events.
    pub(crate) fn initial_event(self, pods: &Pods, all: &Snapshot, number: usize, to: &mut Vec<u8>) {
        match all.pods.get(number) {
            Some(pod) => self.event(pods, WatchEvent::Added(*pod), to),
            None if all.is_marker(number) => self.end_marker(pods.data(), "ADDED", all.marker, to),
            None => self.bookmark(pods.data(), all.version, true, to),
        }
    }

    pub(crate) fn event(self, pods: &Pods, event: WatchEvent, to: &mut Vec<u8>) {
        let (kind, pod) = match event {
            WatchEvent::Added(pod) => ("ADDED", pod),
            WatchEvent::Modified(pod) => ("MODIFIED", pod),
            WatchEvent::Deleted(pod) => ("DELETED", pod),
            WatchEvent::Marker(version) => return self.end_marker(pods.data(), "MODIFIED", version, to),
            WatchEvent::Bookmark(version) => return self.bookmark(pods.data(), version, false, to),
            WatchEvent::Expired => return self.expired(to),
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

    fn end_marker(self, data: DataSet, kind: &str, version: u32, to: &mut Vec<u8>) {
        match self {
            Self::Json | Self::Metadata => {
                json_event(kind, &pods::end_marker(version, self.object_head(data)), to);
            }
            Self::Protobuf => protobuf::event(kind, "Pod", &protobuf::end_marker(version), to),
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
                let head = self.object_head(data);
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
                    r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{EXPIRED_MESSAGE}","reason":"Expired","code":410}}"#
                );
                json_event("ERROR", &status, to);
            }
            Self::Protobuf => protobuf::event("ERROR", "Status", &protobuf::expired(EXPIRED_MESSAGE), to),
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
