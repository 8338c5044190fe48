//! Requests that differ only in numbers: digits are replaced in place, without allocations.

use memchr::memchr2_iter;

/// The bytes of a request with placeholders: each run of `#` is replaced with the last digits of the number, each run of `@` with those of
/// the generation.
#[derive(Clone, Debug)]
pub(crate) struct RequestTemplate {
    bytes: Vec<u8>,
    numbers: Vec<DigitRun>,
    generations: Vec<DigitRun>,
}

/// Offsets of the first and the last digit of a run.
type DigitRun = (usize, usize);

impl RequestTemplate {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let (mut numbers, mut generations): (Vec<DigitRun>, Vec<DigitRun>) = (vec![], vec![]);
        for at in memchr2_iter(b'#', b'@', &bytes) {
            let runs = if bytes[at] == b'#' {
                &mut numbers
            } else {
                &mut generations
            };
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == at => *last = at,
                _ => runs.push((at, at)),
            }
        }
        Self {
            bytes,
            numbers,
            generations,
        }
    }

    /// Returns the request with these numbers.
    pub(crate) fn fill(&mut self, number: usize, generation: usize) -> &[u8] {
        write_digits(&mut self.bytes, &self.numbers, number);
        write_digits(&mut self.bytes, &self.generations, generation);
        &self.bytes
    }
}

fn write_digits(bytes: &mut [u8], runs: &[DigitRun], number: usize) {
    for (first, last) in runs {
        let mut rest = number;
        for digit in bytes[*first..=*last].iter_mut().rev() {
            *digit = b"0123456789"[rest % 10];
            rest /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_replaced_in_place() {
        let mut template = RequestTemplate::new(b"a-#### @@ ##".to_vec());
        assert_eq!(template.fill(1234, 7), b"a-1234 07 34");
        assert_eq!(template.fill(5, 123), b"a-0005 23 05");
    }
}
