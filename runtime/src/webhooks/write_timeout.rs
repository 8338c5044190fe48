//! Write timeout: writes fail when the peer reads nothing for some time.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Duration, Instant, Sleep, sleep_until},
};

/// A stream with a timeout for each wait of a write.
pub(super) struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// Ends the current wait.
    sleep: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl<S: AsyncWrite + Unpin> WriteTimeout<S> {
    pub(super) fn new(stream: S, timeout: Duration) -> Self {
        Self {
            stream,
            timeout,
            sleep: Box::pin(sleep_until(Instant::now())),
            is_waiting: false,
        }
    }

    fn timed<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), context);
        if written.is_ready() {
            self.is_waiting = false;
            return written;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.sleep.as_mut().reset(Instant::now() + self.timeout);
        }
        ready!(self.sleep.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.timed(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.timed(context, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.timed(context, AsyncWrite::poll_shutdown)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.timed(context, |stream, context| {
            stream.poll_write_vectored(context, slices)
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn write_fails_when_the_peer_reads_nothing_and_not_when_it_is_slow() {
        let (near, mut far) = tokio::io::duplex(4);
        let mut stream = WriteTimeout::new(near, Duration::from_secs(10));
        let slow_reader = async {
            let mut buffer = [0; 4];
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                far.read_exact(&mut buffer).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(stream.write_all(b"0123456789ab"), slow_reader);
        written.unwrap();

        let started = Instant::now();
        let error = stream.write_all(b"0123456789ab").await.unwrap_err();
        assert_eq!(
            (error.kind(), started.elapsed()),
            (io::ErrorKind::TimedOut, Duration::from_secs(10))
        );
    }
}
