use super::*;
use proptest::{collection::vec, prelude::*, sample::Index};

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
    bytes.extend_from_slice(content);
    bytes
}

fn varint(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn envelope(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [field(1, version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC, &field(1, &meta), &field(2, raw)].concat()
}

fn pod() -> Vec<u8> {
    let metadata = field(1, b"p");
    // A probe's handler lies in line: httpGet is field 2 of the handler, which is field 1 of the probe; its port is 2.
    let port = [varint(1, 1), field(3, b"http")].concat();
    let get = field(2, &port);
    let probe = [field(1, &field(2, &get)), varint(2, 5)].concat();
    let request = [field(1, b"cpu"), field(2, &field(1, b"100m"))].concat();
    let resources = field(2, &request);
    let container = [
        field(1, b"c"),
        field(2, b"i"),
        field(8, &resources),
        field(10, &probe),
    ]
    .concat();
    [field(1, &metadata), field(2, &field(2, &container))].concat()
}

#[test]
fn reads_what_json_would_say() {
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" },
        "spec": { "containers": [{
            "name": "c", "image": "i", "resources": { "requests": { "cpu": "100m" } },
            "livenessProbe": { "httpGet": { "port": "http" }, "initialDelaySeconds": 5 },
        }] },
    });
    assert_eq!(read(&envelope("v1", "Pod", &pod())).unwrap(), expected);
}

#[test]
fn what_is_malformed_is_refused() {
    let pod = envelope("v1", "Pod", &field(1, &field(1, b"p")));
    for end in 0..pod.len() {
        // Some ends lie between fields: then there is less, but no panic.
        let _ = read(&pod[..end]);
    }
    assert!(read(b"{}").is_err());
    assert!(read(&envelope("demo.dev/v1", "Foo", b"")).is_err());
    assert!(read(&envelope("v1", "Pod", &[0x0a, 0xff])).is_err());
    assert!(read(&envelope("v1", "Pod", &[0x0f])).is_err());
}

proptest! {
    #[test]
    fn no_message_panics(changes in vec((any::<Index>(), any::<Option<u8>>(), any::<bool>()), 1..6)) {
        let mut bytes = pod();
        for (at, byte, more) in changes {
            let at = at.index(bytes.len());
            match byte {
                Some(byte) if more => bytes.insert(at, byte),
                Some(byte) => bytes[at] = byte,
                None => drop(bytes.remove(at)),
            }
        }
        if let Ok(read) = read(&envelope("v1", "Pod", &bytes)) {
            prop_assert_eq!(&read["kind"], "Pod");
        }
    }
}
