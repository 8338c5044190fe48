//! The frames of WebSockets.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// The status of a close frame.
const NORMAL_CLOSURE: u16 = 1000;
/// The longest payload of a ping.
const MAX_CONTROL_BYTES: u64 = 125;
/// Frames from the client that are larger end the connection: clients have little to send.
const MAX_RECEIVED_BYTES: u64 = 1 << 20;

/// The types of frames.
#[derive(Clone, Copy)]
pub(super) enum Opcode {
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// Returns a frame with a whole message, unmasked as servers send it.
pub(super) fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80 | opcode as u8];
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length), _) if length < 126 => frame.push(length),
        (_, Ok(length)) => {
            frame.push(126);
            frame.extend(length.to_be_bytes());
        }
        _ => {
            frame.push(127);
            frame.extend((payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

/// Sends a close frame, and ends the connection.
pub(super) async fn close(writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let closure = frame(Opcode::Close, &NORMAL_CLOSURE.to_be_bytes());
    writer.write_all(&closure).await?;
    writer.shutdown().await
}

/// Reads what the client sends, until it closes. Passes on the payload of pings.
pub(super) async fn read_until_close(
    mut reader: impl AsyncRead + Unpin,
    pings: mpsc::Sender<Vec<u8>>,
) -> io::Result<()> {
    loop {
        let (first, second) = (reader.read_u8().await?, reader.read_u8().await?);
        let (opcode, is_masked) = (first & 0x0f, second & 0x80 != 0);
        let length = match second & 0x7f {
            126 => u64::from(reader.read_u16().await?),
            127 => reader.read_u64().await?,
            length => u64::from(length),
        };
        if opcode == Opcode::Close as u8 || !is_masked || length > MAX_RECEIVED_BYTES {
            return Ok(());
        }
        let mut mask = [0; 4];
        reader.read_exact(&mut mask).await?;
        let mut payload = vec![];
        (&mut reader).take(length).read_to_end(&mut payload).await?;
        if opcode == Opcode::Ping as u8 && length <= MAX_CONTROL_BYTES {
            let masked = payload.iter_mut().zip(mask.iter().cycle());
            masked.for_each(|(byte, mask)| *byte ^= mask);
            // If one ping is not answered yet, this one need not be.
            let _ = pings.try_send(payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_frames_take_one_three_or_nine_bytes() {
        for (length, header) in [
            (0, vec![0x81, 0]),
            (125, vec![0x81, 125]),
            (126, vec![0x81, 126, 0, 126]),
            (65535, vec![0x81, 126, 255, 255]),
            (65536, vec![0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let frame = frame(Opcode::Text, &vec![b'a'; length]);
            assert_eq!(frame.len(), header.len() + length);
            assert_eq!(frame[..header.len()], header);
        }
    }
}
