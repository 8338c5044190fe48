//! Which connections close when there are too many.

use super::*;

/// Whether the server closes the connection, without a byte.
async fn is_closed(stream: &mut TlsStream<TcpStream>) -> bool {
    sleep(Duration::from_millis(100)).await;
    let read = timeout(Duration::from_millis(100), stream.read_u8()).await;
    matches!(read, Ok(Err(_)))
}

#[tokio::test]
async fn idle_connections_make_room_the_unused_ones_first() {
    let server = TestServer::with_limit(2).await;
    let mut used = server.connect().await;
    for _ in 0..3 {
        let request = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi";
        used.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 15];
        used.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200 OK");
        let mut rest = vec![0; 1024];
        while !rest.windows(2).any(|body| body == b"hi") {
            assert_ne!(used.read(&mut rest).await.unwrap(), 0);
        }
        // It has no time to send its request.
        let mut unused = server.connect().await;
        unused.write_all(b"POST /echo").await.unwrap();
        let answer = timeout(Duration::from_secs(5), server.post("/echo", "there")).await;
        assert_eq!(answer.unwrap(), (200, "there".to_owned()));
        // This also gives the server time to end the connection of the last answer.
        assert!(is_closed(&mut unused).await);
    }
    // Without an unused one, the one that idles longest is closed.
    let mut unused = server.connect().await;
    let (code, _) = server.post("/echo", "a").await;
    assert_eq!(code, 200);
    assert!(is_closed(&mut unused).await);
    let mut others = Vec::new();
    for _ in 0..2 {
        let mut other = server.connect().await;
        other
            .write_all(b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
            .await
            .unwrap();
        assert_eq!(other.read_u8().await.unwrap(), b'H');
        others.push(other);
    }
    assert!(is_closed(&mut used).await);
}

#[tokio::test]
async fn connection_with_a_request_is_not_closed_for_others() {
    let server = TestServer::with_limit(1).await;
    let slow = server.post("/slow?timeout=1s", "");
    let later = async {
        sleep(Duration::from_millis(300)).await;
        server.post("/echo", "hi").await
    };
    let ((code, _), echoed) = timeout(Duration::from_secs(5), async { tokio::join!(slow, later) })
        .await
        .unwrap();
    assert_eq!((code, echoed), (504, (200, "hi".to_owned())));
}

#[tokio::test]
async fn connections_that_only_connect_keep_no_one_out() {
    let server = TestServer::with_limit(4).await;
    let mut silent = Vec::new();
    for _ in 0..40 {
        // Not even a handshake.
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    let answer = timeout(Duration::from_secs(5), server.post("/echo", "hi")).await;
    assert_eq!(answer.unwrap(), (200, "hi".to_owned()));
}
