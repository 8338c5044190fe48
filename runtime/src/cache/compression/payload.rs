//! The bytes of one object.

use std::{cell::RefCell, sync::Arc};

use bytes::Bytes;
use parking_lot::RwLock;
use zstd_safe::DCtx;

use super::{
    delta_encoding::restore,
    delta_group::Base,
    dictionary::{Dictionary, DictionaryCompressor},
};
use crate::cache::prefetch;

/// The JSON of an object: raw at first, later perhaps compressed, in place and unseen by readers.
#[derive(Debug)]
pub(in crate::cache) struct Payload {
    form: RwLock<Form>,
    length: usize,
}

#[derive(Debug)]
enum Form {
    Raw(Bytes),
    /// Raw, in a block that it shares with others: not for long.
    Encoder(Bytes),
    Compressed {
        bytes: Box<[u8]>,
        /// None: compressed by itself.
        dictionary: Option<Arc<Dictionary>>,
    },
    /// The difference to another object.
    Different {
        bytes: Box<[u8]>,
        from: Base,
    },
}

/// Compressed bytes that do not give back what they were made of: memory or the library is broken.
#[derive(Debug, thiserror::Error)]
#[error("the cached bytes do not decompress")]
pub(in crate::cache) struct Damaged;

impl Payload {
    pub(in crate::cache) fn new(json: &[u8]) -> Self {
        Self {
            form: RwLock::new(Form::Raw(Bytes::copy_from_slice(json))),
            length: json.len(),
        }
    }

    /// To be compressed before long.
    pub(super) fn fresh(json: Bytes) -> Self {
        Self {
            length: json.len(),
            form: RwLock::new(Form::Encoder(json)),
        }
    }

    /// Kept as the difference of the JSON, which is so long, to another object.
    pub(super) fn different(length: usize, bytes: Box<[u8]>, from: Base) -> Self {
        Self {
            length,
            form: RwLock::new(Form::Different { bytes, from }),
        }
    }

    /// Has the processor read the beginning of what is kept: beside it stands what is looked at when it is freed.
    pub(in crate::cache) fn prefetch(&self) {
        match &*self.form.read() {
            Form::Raw(bytes) | Form::Encoder(bytes) => prefetch::first(bytes),
            Form::Compressed { bytes, .. } | Form::Different { bytes, .. } => prefetch::first(bytes),
        }
    }

    /// Bytes of the JSON.
    pub(in crate::cache) fn length(&self) -> usize {
        self.length
    }

    /// Bytes that are kept of it.
    pub(in crate::cache) fn kept(&self) -> usize {
        match &*self.form.read() {
            Form::Raw(json) | Form::Encoder(json) => json.len(),
            Form::Compressed { bytes, .. } | Form::Different { bytes, .. } => bytes.len(),
        }
    }

    /// The JSON, in memory of its own where it is not kept raw for good.
    pub(in crate::cache) fn json(&self) -> Result<Bytes, Damaged> {
        if let Form::Raw(json) = &*self.form.read() {
            return Ok(json.clone());
        }
        self.decompressed(Vec::new()).map(Bytes::from)
    }

    /// Hands the JSON to `read`, without a lock. Memory for it is kept from one read of the thread to the next.
    pub(in crate::cache) fn with_json<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Result<R, Damaged> {
        thread_local! {
            static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        if let Some(json) = self.raw() {
            return Ok(read(&json));
        }
        // Taken out: `read` may come here again.
        let scratch = SCRATCH.take();
        let json = self.decompressed(scratch)?;
        let result = read(&json);
        if json.capacity() <= 1 << 20 {
            SCRATCH.set(json);
        }
        Ok(result)
    }

    /// Compresses the JSON, unless that was done with this dictionary. Says how many bytes it takes now.
    pub(super) fn compress(
        &self,
        compressor: &mut DictionaryCompressor,
        dictionary: Option<&Arc<Dictionary>>,
    ) -> usize {
        let done = match &*self.form.read() {
            Form::Raw(_) | Form::Encoder(_) => false,
            Form::Compressed { dictionary: used, .. } => same(used.as_ref(), dictionary),
            Form::Different { .. } => true,
        };
        if done {
            return self.kept();
        }
        let bytes = self.with_json(|json| compressor.compress(json, dictionary));
        let Ok(Some(bytes)) = bytes else {
            // What does not shrink stays raw.
            let mut form = self.form.write();
            if let Form::Encoder(json) = &*form {
                *form = Form::Raw(Bytes::copy_from_slice(json));
            }
            return self.length;
        };
        let kept = bytes.len();
        *self.form.write() = Form::Compressed {
            bytes,
            dictionary: dictionary.cloned(),
        };
        kept
    }

    /// From now on it is kept as it is, in memory of its own.
    pub(in crate::cache) fn make_raw(&self) {
        if matches!(&*self.form.read(), Form::Raw(_)) {
            return;
        }
        // What is damaged is said to be so when it is read.
        if let Ok(json) = self.decompressed(Vec::new()) {
            *self.form.write() = Form::Raw(json.into());
        }
    }

    /// The dictionary that is needed to read it.
    pub(super) fn dictionary(&self) -> Option<Arc<Dictionary>> {
        match &*self.form.read() {
            Form::Raw(_) | Form::Encoder(_) | Form::Different { .. } => None,
            Form::Compressed { dictionary, .. } => dictionary.clone(),
        }
    }

    /// From now on it is kept as this, which must be the difference of its own JSON.
    pub(super) fn keep_difference(&self, bytes: Box<[u8]>, from: Base) {
        *self.form.write() = Form::Different { bytes, from };
    }

    pub(super) fn is_raw(&self) -> bool {
        matches!(&*self.form.read(), Form::Raw(_) | Form::Encoder(_))
    }

    pub(in crate::cache) fn raw(&self) -> Option<Bytes> {
        match &*self.form.read() {
            Form::Raw(json) | Form::Encoder(json) => Some(json.clone()),
            Form::Compressed { .. } | Form::Different { .. } => None,
        }
    }

    fn decompressed(&self, mut to: Vec<u8>) -> Result<Vec<u8>, Damaged> {
        thread_local! {
            static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
        }
        to.clear();
        to.reserve(self.length);
        match &*self.form.read() {
            Form::Raw(json) | Form::Encoder(json) => to.extend_from_slice(json),
            Form::Different { bytes, from } => restore(from, bytes, &mut to).ok_or(Damaged)?,
            Form::Compressed { bytes, dictionary } => {
                let length = CONTEXT.with_borrow_mut(|context| match dictionary {
                    Some(dictionary) => dictionary.decompress(context, bytes, &mut to),
                    None => context.decompress(&mut to, bytes).ok(),
                });
                length.ok_or(Damaged)?;
            }
        }
        if to.len() == self.length {
            Ok(to)
        } else {
            Err(Damaged)
        }
    }
}

fn same(one: Option<&Arc<Dictionary>>, other: Option<&Arc<Dictionary>>) -> bool {
    one.map(Arc::as_ptr) == other.map(Arc::as_ptr)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: usize) -> Vec<u8> {
        format!(
            r#"{{"metadata":{{"name":"pod-{number}","namespace":"shop"}},"spec":{{"nodeName":"node-{}"}}}}"#,
            number * 7919 % 101
        )
        .into_bytes()
    }

    #[test]
    fn what_is_read_is_what_was_put_in_however_it_is_kept() {
        let texts: Vec<Vec<u8>> = (0..300).map(text).collect();
        let dictionary = Dictionary::train(&texts).map(Arc::new).unwrap();
        let other = Dictionary::train(&texts[100..]).map(Arc::new).unwrap();
        let mut compressor = DictionaryCompressor::default();
        for text in &texts {
            let payload = Payload::new(text);
            let read = |payload: &Payload| {
                assert_eq!(payload.json().unwrap(), *text);
                payload.with_json(|json| assert_eq!(json, text)).unwrap();
            };
            read(&payload);
            assert_eq!((payload.length(), payload.kept()), (text.len(), text.len()));
            for dictionary in [Some(&dictionary), Some(&other)] {
                let kept = payload.compress(&mut compressor, dictionary);
                assert_eq!(kept, payload.kept());
                assert!(kept < text.len() / 2, "{kept} of {}", text.len());
                assert!(same(payload.dictionary().as_ref(), dictionary));
                read(&payload);
            }
        }
    }

    #[test]
    fn what_does_not_shrink_stays_raw_and_what_is_alike_shrinks_by_itself() {
        let mut compressor = DictionaryCompressor::default();
        let short = Payload::new(b"{\"a\":1}");
        assert_eq!(short.compress(&mut compressor, None), 7);
        assert_eq!(short.json().unwrap(), "{\"a\":1}");
        let long = Payload::new(&[b'a'; 5000]);
        assert!(long.compress(&mut compressor, None) < 100);
        assert_eq!(long.json().unwrap(), vec![b'a'; 5000]);
        long.make_raw();
        assert_eq!(
            (long.kept(), long.json().unwrap()),
            (5000, vec![b'a'; 5000].into())
        );
    }

    #[test]
    fn a_reader_may_read_another() {
        let payloads = [Payload::new(&[b'a'; 500]), Payload::new(&[b'b'; 600])];
        for payload in &payloads {
            payload.compress(&mut DictionaryCompressor::default(), None);
        }
        let both =
            payloads[0].with_json(|one| payloads[1].with_json(|other| (one.len(), other.len())).unwrap());
        assert_eq!(both.unwrap(), (500, 600));
    }
}
