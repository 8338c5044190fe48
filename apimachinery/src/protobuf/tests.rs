use super::*;
use proptest::{collection::vec, prelude::*, sample::Index};

fn length_delimited(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
    bytes.extend_from_slice(content);
    bytes
}

fn varint(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn envelope(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [
        length_delimited(1, version.as_bytes()),
        length_delimited(2, kind.as_bytes()),
    ]
    .concat();
    [MAGIC, &length_delimited(1, &meta), &length_delimited(2, raw)].concat()
}

fn pod() -> Vec<u8> {
    let metadata = length_delimited(1, b"p");
    // A probe's handler is inlined in JSON: httpGet is field 2 of the handler, which is field 1 of the probe; its port is 2.
    let port = [varint(1, 1), length_delimited(3, b"http")].concat();
    let get = length_delimited(2, &port);
    let probe = [length_delimited(1, &length_delimited(2, &get)), varint(2, 5)].concat();
    let request = [
        length_delimited(1, b"cpu"),
        length_delimited(2, &length_delimited(1, b"100m")),
    ]
    .concat();
    let resources = length_delimited(2, &request);
    let container = [
        length_delimited(1, b"c"),
        length_delimited(2, b"i"),
        length_delimited(8, &resources),
        length_delimited(10, &probe),
    ]
    .concat();
    [
        length_delimited(1, &metadata),
        length_delimited(2, &length_delimited(2, &container)),
    ]
    .concat()
}

#[test]
fn pod_decodes_to_its_json() {
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" },
        "spec": { "containers": [{
            "name": "c", "image": "i", "resources": { "requests": { "cpu": "100m" } },
            "livenessProbe": { "httpGet": { "port": "http" }, "initialDelaySeconds": 5 },
        }] },
    });
    assert_eq!(decode(&envelope("v1", "Pod", &pod())).unwrap(), expected);
}

#[test]
fn malformed_messages_are_rejected() {
    let pod = envelope("v1", "Pod", &length_delimited(1, &length_delimited(1, b"p")));
    for end in 0..pod.len() {
        // Some prefixes end between fields: they decode to fewer fields.
        let _ = decode(&pod[..end]);
    }
    assert!(decode(b"{}").is_err());
    assert!(decode(&envelope("demo.dev/v1", "Foo", b"")).is_err());
    assert!(decode(&envelope("v1", "Pod", &[0x0a, 0xff])).is_err());
    assert!(decode(&envelope("v1", "Pod", &[0x0f])).is_err());
}

proptest! {
    #[test]
    fn decoding_never_panics(changes in vec((any::<Index>(), any::<Option<u8>>(), any::<bool>()), 1..6)) {
        let mut bytes = pod();
        for (at, byte, more) in changes {
            let at = at.index(bytes.len());
            match byte {
                Some(byte) if more => bytes.insert(at, byte),
                Some(byte) => bytes[at] = byte,
                None => drop(bytes.remove(at)),
            }
        }
        if let Ok(object) = decode(&envelope("v1", "Pod", &bytes)) {
            prop_assert_eq!(&object["kind"], "Pod");
        }
    }
}
