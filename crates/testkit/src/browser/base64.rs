//! Base64, as pictures come.

/// The bytes of a text; `None` when it is none.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits) as u8);
            bits &= (1 << n_bits) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn bytes_come_back() {
        assert_eq!(decode("").as_deref(), Some(&b""[..]));
        assert_eq!(decode("a2V5cmFjaw==").as_deref(), Some(&b"keyrack"[..]));
        assert_eq!(decode("/+8A").as_deref(), Some(&[0xff, 0xef, 0x00][..]));
        assert_eq!(decode("a b"), None);
    }
}
