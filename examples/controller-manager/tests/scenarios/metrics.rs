//! A reader of the program's metrics, whom the API server authenticates and authorizes.

use std::net::TcpListener;

use http::Request;
use kubewright::kube::{Client, Config};

/// A port that nothing uses now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("0.0.0.0:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// Gets the metrics with a bearer token. The certificate is the program's own.
#[tokio::main]
pub(crate) async fn get(port: u16, token: &str) {
    let mut config = Config::new(format!("https://127.0.0.1:{port}").parse().unwrap());
    config.accept_invalid_certs = true;
    let request = Request::get("/metrics").header("Authorization", format!("Bearer {token}"));
    let request = request.body(Vec::new()).unwrap();
    let metrics = Client::try_from(config)
        .unwrap()
        .request_text(request)
        .await
        .unwrap();
    assert!(metrics.contains("workqueue_depth"), "{metrics}");
}
