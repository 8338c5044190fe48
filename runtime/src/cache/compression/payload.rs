//! The JSON of one object, raw or encoded.

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

/// The JSON of an object. It may be re-encoded in place at any time; readers do not notice.
#[derive(Debug)]
pub(in crate::cache) struct Payload {
    form: RwLock<Form>,
    length: usize,
}

#[derive(Debug)]
enum Form {
    /// Raw, in memory of its own.
    Raw(Bytes),
    /// Raw, in a block that it shares with other recent payloads: encoded or dropped soon.
    RawInBlock(Bytes),
    Compressed {
        bytes: Box<[u8]>,
        /// None: compressed without a dictionary.
        dictionary: Option<Arc<Dictionary>>,
    },
    /// The difference to the base of the object's delta group.
    Difference { bytes: Box<[u8]>, base: Base },
}

/// Encoded bytes that do not decode to what was encoded: the memory or the library is broken.
#[derive(Debug, thiserror::Error)]
#[error("the cached bytes do not decompress")]
pub(in crate::cache) struct Damaged;

impl Default for Payload {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Payload {
    /// Raw, in memory of its own.
    pub(in crate::cache) fn new(json: &[u8]) -> Self {
        Self {
            form: RwLock::new(Form::Raw(Bytes::copy_from_slice(json))),
            length: json.len(),
        }
    }

    /// Raw, in a block that is shared with other payloads.
    pub(super) fn raw_in_block(json: Bytes) -> Self {
        Self {
            length: json.len(),
            form: RwLock::new(Form::RawInBlock(json)),
        }
    }

    /// The difference to `base`; `length` is that of the JSON.
    pub(super) fn different(length: usize, bytes: Box<[u8]>, base: Base) -> Self {
        Self {
            length,
            form: RwLock::new(Form::Difference { bytes, base }),
        }
    }

    /// Prefetches the beginning of the bytes: the allocator's data beside it is needed to free them.
    pub(in crate::cache) fn prefetch(&self) {
        match &*self.form.read() {
            Form::Raw(bytes) | Form::RawInBlock(bytes) => prefetch::first(bytes),
            Form::Compressed { bytes, .. } | Form::Difference { bytes, .. } => prefetch::first(bytes),
        }
    }

    /// The length of the JSON in bytes.
    pub(in crate::cache) fn length(&self) -> usize {
        self.length
    }

    /// The bytes of memory that the JSON takes as it is encoded.
    pub(in crate::cache) fn kept(&self) -> usize {
        match &*self.form.read() {
            Form::Raw(json) | Form::RawInBlock(json) => json.len(),
            Form::Compressed { bytes, .. } | Form::Difference { bytes, .. } => bytes.len(),
        }
    }

    /// The JSON. Copied unless it is raw in memory of its own.
    pub(in crate::cache) fn json(&self) -> Result<Bytes, Damaged> {
        if let Form::Raw(json) = &*self.form.read() {
            return Ok(json.clone());
        }
        self.decompressed(Vec::new()).map(Bytes::from)
    }

    /// Calls `read` with the JSON, without a lock. The thread reuses the memory that it is decoded into.
    pub(in crate::cache) fn with_json<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Result<R, Damaged> {
        thread_local! {
            static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        if let Some(json) = self.raw() {
            return Ok(read(&json));
        }
        // Taken out: `read` may call this function again.
        let scratch = SCRATCH.take();
        let json = self.decompressed(scratch)?;
        let result = read(&json);
        if json.capacity() <= 1 << 20 {
            SCRATCH.set(json);
        }
        Ok(result)
    }

    /// Compresses the JSON unless it is compressed with this dictionary or a difference. Returns how many bytes it takes now.
    pub(super) fn compress(
        &self,
        compressor: &mut DictionaryCompressor,
        dictionary: Option<&Arc<Dictionary>>,
    ) -> usize {
        let done = match &*self.form.read() {
            Form::Raw(_) | Form::RawInBlock(_) => false,
            Form::Compressed { dictionary: used, .. } => is_same_dictionary(used.as_ref(), dictionary),
            Form::Difference { .. } => true,
        };
        if done {
            return self.kept();
        }
        let bytes = self.with_json(|json| compressor.compress(json, dictionary));
        let Ok(Some(bytes)) = bytes else {
            // It does not shrink and stays raw.
            let mut form = self.form.write();
            if let Form::RawInBlock(json) = &*form {
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

    /// Decodes the payload in place: raw, in memory of its own.
    pub(in crate::cache) fn make_raw(&self) {
        if matches!(&*self.form.read(), Form::Raw(_)) {
            return;
        }
        // Damage is reported when it is read.
        if let Ok(json) = self.decompressed(Vec::new()) {
            *self.form.write() = Form::Raw(json.into());
        }
    }

    /// The dictionary that is needed to decode it.
    pub(super) fn dictionary(&self) -> Option<Arc<Dictionary>> {
        match &*self.form.read() {
            Form::Raw(_) | Form::RawInBlock(_) | Form::Difference { .. } => None,
            Form::Compressed { dictionary, .. } => dictionary.clone(),
        }
    }

    /// Replaces the payload by `bytes`, which must be the difference of its own JSON to `base`.
    pub(super) fn keep_difference(&self, bytes: Box<[u8]>, base: Base) {
        *self.form.write() = Form::Difference { bytes, base };
    }

    #[cfg(test)]
    pub(super) fn is_raw(&self) -> bool {
        matches!(&*self.form.read(), Form::Raw(_) | Form::RawInBlock(_))
    }

    /// The JSON, if the payload is raw.
    pub(in crate::cache) fn raw(&self) -> Option<Bytes> {
        match &*self.form.read() {
            Form::Raw(json) | Form::RawInBlock(json) => Some(json.clone()),
            Form::Compressed { .. } | Form::Difference { .. } => None,
        }
    }

    fn decompressed(&self, mut to: Vec<u8>) -> Result<Vec<u8>, Damaged> {
        thread_local! {
            static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
        }
        to.clear();
        to.reserve(self.length);
        match &*self.form.read() {
            Form::Raw(json) | Form::RawInBlock(json) => to.extend_from_slice(json),
            Form::Difference { bytes, base } => restore(base, bytes, &mut to).ok_or(Damaged)?,
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

fn is_same_dictionary(one: Option<&Arc<Dictionary>>, other: Option<&Arc<Dictionary>>) -> bool {
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
    fn payload_decodes_to_its_json_in_every_form() {
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
                assert!(is_same_dictionary(payload.dictionary().as_ref(), dictionary));
                read(&payload);
            }
        }
    }

    #[test]
    fn payload_that_does_not_shrink_stays_raw_and_a_repetitive_one_shrinks_without_a_dictionary() {
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
    fn reader_may_read_another_payload() {
        let payloads = [Payload::new(&[b'a'; 500]), Payload::new(&[b'b'; 600])];
        for payload in &payloads {
            payload.compress(&mut DictionaryCompressor::default(), None);
        }
        let both =
            payloads[0].with_json(|one| payloads[1].with_json(|other| (one.len(), other.len())).unwrap());
        assert_eq!(both.unwrap(), (500, 600));
    }
}
