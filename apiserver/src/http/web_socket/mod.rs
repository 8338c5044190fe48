//! WebSockets (RFC 6455): fabric8's client for Java watches over them, and kubectl runs commands in pods.
//!
//! A WebSocket library would bring a dozen crates into every build that embeds this server, and nearly all of them for clients: this server
//! only sends messages, answers pings, and notices that the client closes. The handshake is that of golang.org/x/net/websocket.
//!
//! Reading order: `handshake` (how a connection becomes a WebSocket), `frames` (what is sent and received then), `watch` and `remote_command`
//! (for what).

mod frames;
mod handshake;
pub(super) mod remote_command;
pub(super) mod watch;

pub(crate) use handshake::UpgradedSession;
pub(super) use handshake::is_requested;
