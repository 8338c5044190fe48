//! What the objects of a kind have in common, so that each is kept without it.

use std::fmt;

use zstd_safe::{CCtx, CDict, DCtx, DDict};

/// Higher levels cost more time than they save memory: measured, see benches/README.md.
const LEVEL: i32 = 1;
/// Bytes of a dictionary. Twice as much saved another 1 % of Pods.
const SIZE: usize = 16 * 1024;
/// No sample is longer: one that is large would be all there is.
const LONGEST_SAMPLE: usize = 16 * 1024;

/// Trained on objects of one kind. Lives as long as an object that needs it.
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
    /// None when the samples are too few or too short to say anything.
    pub(super) fn train<S: AsRef<[u8]>>(samples: &[S]) -> Option<Self> {
        let samples = samples.iter().map(|sample| {
            let sample = sample.as_ref();
            &sample[..sample.len().min(LONGEST_SAMPLE)]
        });
        let lengths: Vec<usize> = samples.clone().map(<[u8]>::len).collect();
        let mut trained = Vec::with_capacity(SIZE);
        zstd_safe::train_from_buffer(&mut trained, &samples.collect::<Vec<_>>().concat(), &lengths).ok()?;
        Some(Self {
            compress: CDict::try_create(&trained, LEVEL)?,
            decompress: DDict::try_create(&trained)?,
        })
    }

    /// Appends to `to` as much as it has room for.
    pub(super) fn decompress(&self, context: &mut DCtx<'_>, bytes: &[u8], to: &mut Vec<u8>) -> Option<usize> {
        context.decompress_using_ddict(to, bytes, &self.decompress).ok()
    }
}

/// Compresses; keeps its memory from one object to the next.
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
    /// None when it would not save an eighth.
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
            None => context.compress(&mut self.buffer, json, LEVEL),
        };
        let compressed = &self.buffer[..length.ok()?];
        let pays = compressed.len() < json.len() - json.len() / 8;
        let compressed = pays.then(|| compressed.into());
        // An object of many megabytes is not worth keeping its room.
        self.buffer.truncate(0);
        self.buffer.shrink_to(1 << 20);
        compressed
    }
}
