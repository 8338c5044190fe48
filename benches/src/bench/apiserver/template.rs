//! Requests that differ in numbers only: nothing is made anew for each, digits are put in place.

use memchr::memchr2_iter;

/// The bytes of a request, where each `#` stands for a digit of a number, each `@` for one of a generation: the last ones, as many as
/// there are places in a row.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    numbers: Vec<Place>,
    generations: Vec<Place>,
}

/// Where the first and the last digit of a row are.
type Place = (usize, usize);

impl Template {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let (mut numbers, mut generations): (Vec<Place>, Vec<Place>) = (vec![], vec![]);
        for at in memchr2_iter(b'#', b'@', &bytes) {
            let rows = if bytes[at] == b'#' {
                &mut numbers
            } else {
                &mut generations
            };
            match rows.last_mut() {
                Some((_, last)) if *last + 1 == at => *last = at,
                _ => rows.push((at, at)),
            }
        }
        Self {
            bytes,
            numbers,
            generations,
        }
    }

    /// The request with these numbers.
    pub(crate) fn fill(&mut self, number: usize, generation: usize) -> &[u8] {
        put(&mut self.bytes, &self.numbers, number);
        put(&mut self.bytes, &self.generations, generation);
        &self.bytes
    }
}

fn put(bytes: &mut [u8], places: &[Place], number: usize) {
    for (first, last) in places {
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
    fn digits_are_put_in_place() {
        let mut template = Template::new(b"a-#### @@ ##".to_vec());
        assert_eq!(template.fill(1234, 7), b"a-1234 07 34");
        assert_eq!(template.fill(5, 123), b"a-0005 23 05");
    }
}
