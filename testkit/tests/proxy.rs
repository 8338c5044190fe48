//! A proxy in front of an echo server. Needs no control plane.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use kubewright_testkit::{Proxy, eventually};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_mins(2);
const SHORT_PAUSE: Duration = Duration::from_millis(200);

/// Starts an echo server on its own port; it runs until the test ends.
fn start_echo_server() -> SocketAddr {
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
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

/// Returns the echo of a word; none if the connection has ended.
fn send_and_receive(mut stream: &TcpStream, word: &str) -> Option<String> {
    stream.write_all(word.as_bytes()).ok()?;
    let mut reply = vec![0; word.len()];
    stream.read_exact(&mut reply).ok()?;
    Some(String::from_utf8(reply).unwrap())
}

#[test]
fn bytes_are_forwarded_unchanged_in_both_directions() {
    let proxy = Proxy::start(start_echo_server()).unwrap();
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
    eventually("the connection is closed", TIMEOUT, || proxy.connections() == 0);
}

#[test]
fn selected_connections_break_and_others_continue() {
    let proxy = Proxy::start(start_echo_server()).unwrap();
    let streams = [connect(&proxy), connect(&proxy), connect(&proxy)];
    for stream in &streams {
        assert_eq!(send_and_receive(stream, "hello").as_deref(), Some("hello"));
    }
    assert_eq!(proxy.break_connections(|number| number == 2), 1);
    assert_eq!(send_and_receive(&streams[1], "hello"), None);
    for survivor in [&streams[0], &streams[2]] {
        assert_eq!(send_and_receive(survivor, "still").as_deref(), Some("still"));
    }
    assert_eq!(proxy.break_all(), 2);
    assert_eq!(send_and_receive(&streams[0], "hello"), None);
    assert_eq!(
        send_and_receive(&connect(&proxy), "again").as_deref(),
        Some("again")
    );
}

#[test]
fn paused_bytes_are_delivered_after_resume() {
    let proxy = Proxy::start(start_echo_server()).unwrap();
    let mut stream = connect(&proxy);
    assert_eq!(send_and_receive(&stream, "before").as_deref(), Some("before"));
    proxy.pause();
    stream.write_all(b"held").unwrap();
    stream.set_read_timeout(Some(SHORT_PAUSE)).unwrap();
    let nothing = stream.read(&mut [0; 4]).unwrap_err().kind();
    assert!(
        [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&nothing),
        "{nothing}"
    );
    proxy.resume();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    assert_eq!(
        send_and_receive(&stream, " and more").as_deref(),
        Some("held and ")
    );
    // A connection can also be broken while paused.
    proxy.pause();
    stream.write_all(b"lost").unwrap();
    std::thread::sleep(SHORT_PAUSE);
    assert_eq!(proxy.break_all(), 1);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert_eq!(rest, b"more");
}

#[test]
fn refused_port_accepts_connections_again() {
    let proxy = Proxy::start(start_echo_server()).unwrap();
    let open = connect(&proxy);
    assert_eq!(send_and_receive(&open, "open").as_deref(), Some("open"));
    for _ in 0..3 {
        proxy.refuse();
        let error = TcpStream::connect(proxy.address()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(send_and_receive(&open, "open").as_deref(), Some("open"));
        proxy.accept();
        assert_eq!(send_and_receive(&connect(&proxy), "new").as_deref(), Some("new"));
    }
}

#[test]
fn connections_break_without_target_and_when_the_proxy_is_dropped() {
    let closed_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = Proxy::start(closed_port).unwrap();
    assert_eq!(send_and_receive(&connect(&proxy), "hello"), None);
    let proxy = Proxy::start(start_echo_server()).unwrap();
    let (address, stream) = (proxy.address(), connect(&proxy));
    assert_eq!(send_and_receive(&stream, "hello").as_deref(), Some("hello"));
    drop(proxy);
    assert_eq!(send_and_receive(&stream, "hello"), None);
    assert!(TcpStream::connect(address).is_err());
}
