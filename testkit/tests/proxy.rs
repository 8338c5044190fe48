//! A proxy before a server that sends back what it gets. No control plane needed.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use kubewright_testkit::{Proxy, eventually};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(20);
const A_MOMENT: Duration = Duration::from_millis(200);

/// Echoes, on a port of its own, until the test ends.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
        }
    });
    address
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Whether a word comes back; None when the connection has ended.
fn says(mut stream: &TcpStream, word: &str) -> Option<String> {
    stream.write_all(word.as_bytes()).ok()?;
    let mut answer = vec![0; word.len()];
    stream.read_exact(&mut answer).ok()?;
    Some(String::from_utf8(answer).unwrap())
}

#[test]
fn bytes_pass_both_ways_in_full() {
    let proxy = Proxy::start(echo()).unwrap();
    let stream = connect(&proxy);
    let sent: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    let received = std::thread::scope(|scope| {
        scope.spawn(|| (&stream).write_all(&sent).unwrap());
        let mut received = vec![0; sent.len()];
        (&stream).read_exact(&mut received).unwrap();
        received
    });
    assert!(received == sent);
    assert_eq!((proxy.connections(), proxy.accepted()), (1, 1));
    drop(stream);
    eventually("the connection is forgotten", LONG, || proxy.connections() == 0);
}

#[test]
fn chosen_connections_are_cut_and_the_others_go_on() {
    let proxy = Proxy::start(echo()).unwrap();
    let streams = [connect(&proxy), connect(&proxy), connect(&proxy)];
    for stream in &streams {
        assert_eq!(says(stream, "hello").as_deref(), Some("hello"));
    }
    assert_eq!(proxy.cut(|number| number == 2), 1);
    assert_eq!(says(&streams[1], "hello"), None);
    for survivor in [&streams[0], &streams[2]] {
        assert_eq!(says(survivor, "still").as_deref(), Some("still"));
    }
    assert_eq!(proxy.cut_all(), 2);
    assert_eq!(says(&streams[0], "hello"), None);
    assert_eq!(says(&connect(&proxy), "again").as_deref(), Some("again"));
}

#[test]
fn what_is_held_back_comes_later_and_whole() {
    let proxy = Proxy::start(echo()).unwrap();
    let mut stream = connect(&proxy);
    assert_eq!(says(&stream, "before").as_deref(), Some("before"));
    proxy.hold();
    stream.write_all(b"held").unwrap();
    stream.set_read_timeout(Some(A_MOMENT)).unwrap();
    let nothing = stream.read(&mut [0; 4]).unwrap_err().kind();
    assert!(
        [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&nothing),
        "{nothing}"
    );
    proxy.release();
    stream.set_read_timeout(Some(LONG)).unwrap();
    assert_eq!(says(&stream, " and more").as_deref(), Some("held and "));
    // A held connection can be cut all the same.
    proxy.hold();
    stream.write_all(b"lost").unwrap();
    std::thread::sleep(A_MOMENT);
    assert_eq!(proxy.cut_all(), 1);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert_eq!(rest, b"more");
}

#[test]
fn refuses_and_accepts_again_on_the_same_port() {
    let proxy = Proxy::start(echo()).unwrap();
    let open = connect(&proxy);
    assert_eq!(says(&open, "open").as_deref(), Some("open"));
    for _ in 0..3 {
        proxy.refuse();
        let error = TcpStream::connect(proxy.address()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(says(&open, "open").as_deref(), Some("open"));
        proxy.accept();
        assert_eq!(says(&connect(&proxy), "new").as_deref(), Some("new"));
    }
}

#[test]
fn cuts_what_has_no_target_and_everything_when_it_is_dropped() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = Proxy::start(nobody).unwrap();
    assert_eq!(says(&connect(&proxy), "hello"), None);
    let proxy = Proxy::start(echo()).unwrap();
    let (address, stream) = (proxy.address(), connect(&proxy));
    assert_eq!(says(&stream, "hello").as_deref(), Some("hello"));
    drop(proxy);
    assert_eq!(says(&stream, "hello"), None);
    assert!(TcpStream::connect(address).is_err());
}
