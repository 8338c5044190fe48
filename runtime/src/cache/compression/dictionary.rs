//! A compression dictionary: what the objects of a kind have in common.
//!
//! Without compression, mixed custom resources take 70 % more memory, Pods 3 to 13 %. It is paid with CPU: 5 to 7 µs for each object that is
//! like no other. See "Mechanisms" in benches/README.md.

use std::fmt;

use zstd_safe::{CCtx, CDict, DCtx, DDict};

/// Higher levels cost more time than the memory is worth: see benches/README.md.
const COMPRESSION_LEVEL: i32 = 1;
/// Twice as much saved another 1 % of Pods.
const DICTIONARY_BYTES: usize = 16 * 1024;
/// Longer samples are truncated: a large one would dominate the dictionary.
const MAX_SAMPLE_BYTES: usize = 16 * 1024;

/// A dictionary trained on objects of one kind. It lives as long as a payload needs it.
pub(super) struct Dictionary {
    compress: CDict<'static>,
    decompress: DDict<'static>,
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionary").finish_non_exhaustive()
    }
}

impl Dictionary {
    /// Trains a dictionary. None if the samples are too few or too short.
    pub(super) fn train<S: AsRef<[u8]>>(samples: &[S]) -> Option<Self> {
        let samples = samples.iter().map(|sample| {
            let sample = sample.as_ref();
            &sample[..sample.len().min(MAX_SAMPLE_BYTES)]
        });
        let lengths: Vec<usize> = samples.clone().map(<[u8]>::len).collect();
        let mut trained = Vec::with_capacity(DICTIONARY_BYTES);
        zstd_safe::train_from_buffer(&mut trained, &samples.collect::<Vec<_>>().concat(), &lengths).ok()?;
        Some(Self {
            compress: CDict::try_create(&trained, COMPRESSION_LEVEL)?,
            decompress: DDict::try_create(&trained)?,
        })
    }

    /// Appends the decompressed bytes to `to`, within its capacity.
    pub(super) fn decompress(&self, context: &mut DCtx<'_>, bytes: &[u8], to: &mut Vec<u8>) -> Option<usize> {
        context.decompress_using_ddict(to, bytes, &self.decompress).ok()
    }
}

/// Compresses payloads. Reuses its memory.
#[derive(Default)]
pub(super) struct DictionaryCompressor {
    context: Option<CCtx<'static>>,
    buffer: Vec<u8>,
}

impl fmt::Debug for DictionaryCompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DictionaryCompressor").finish_non_exhaustive()
    }
}

impl DictionaryCompressor {
    /// Compresses the JSON. None if that saves less than an eighth.
    pub(super) fn compress(
        &mut self,
        json: &[u8],
        dictionary: Option<&std::sync::Arc<Dictionary>>,
    ) -> Option<Box<[u8]>> {
        let context = self.context.get_or_insert_with(CCtx::create);
        self.buffer.clear();
        self.buffer.reserve(zstd_safe::compress_bound(json.len()));
        let length = match dictionary {
            Some(dictionary) => context.compress_using_cdict(&mut self.buffer, json, &dictionary.compress),
            None => context.compress(&mut self.buffer, json, COMPRESSION_LEVEL),
        };
        let compressed = &self.buffer[..length.ok()?];
        let pays = compressed.len() < json.len() - json.len() / 8;
        let compressed = pays.then(|| compressed.into());
        // The buffer of an object of many megabytes is not kept.
        self.buffer.truncate(0);
        self.buffer.shrink_to(1 << 20);
        compressed
    }
}
