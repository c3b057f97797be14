//! Where a request comes from when a proxy has passed it on.

use std::{net::IpAddr, str::FromStr};

use axum::http::HeaderMap;

/// Some addresses: one, or all that begin alike, as in `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Whether an address is one of these.
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = u32::from(self.bits);
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                (ours.to_bits() ^ other.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                (ours.to_bits() ^ other.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || format!("\"{text}\" is no address and no network such as 10.0.0.0/8");
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(bits_max), str::parse).map_err(|_| wrong())?;
        if bits > bits_max {
            return Err(wrong());
        }
        Ok(Network { address, bits })
    }
}

/// The headers in which proxies say for whom they speak, each with whether it holds addresses.
const FORWARDING: [(&str, bool); 7] = [
    ("x-forwarded-for", true),
    ("forwarded", true),
    ("x-real-ip", true),
    ("cf-connecting-ip", true),
    ("true-client-ip", true),
    ("x-client-ip", true),
    ("via", false),
];

/// Whether something on this machine has passed the request on for another machine. A proxy before a port that trusts this
/// machine would otherwise open it to everybody.
pub(super) fn is_relayed(headers: &HeaderMap) -> bool {
    FORWARDING.into_iter().any(|(name, has_addresses)| {
        let addresses = addresses(headers, name);
        let is_here = |address: &Option<IpAddr>| {
            address.is_some_and(|address| address.to_canonical().is_loopback())
        };
        headers.contains_key(name) && !(has_addresses && addresses.iter().all(is_here))
    })
}

/// The address that a request comes from: that of the peer, or, if `trusted` proxies have passed it on, the last one for
/// which none of them vouches.
pub(super) fn address(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = peer.to_canonical();
    if !is_trusted(client) {
        return client;
    }
    let lists = ["x-forwarded-for", "forwarded", "x-real-ip"].map(|name| addresses(headers, name));
    let list = lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default();
    for address in list.into_iter().rev() {
        let Some(address) = address else { break };
        client = address.to_canonical();
        if !is_trusted(client) {
            break;
        }
    }
    client
}

/// The addresses in a header, the first client first. `None` stands for what is no address.
fn addresses(headers: &HeaderMap, name: &str) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(name).into_iter().map(|line| line.to_str().unwrap_or("?"));
    let entries = lines.flat_map(|line| line.split(','));
    entries
        .filter_map(|entry| match name {
            "forwarded" => entry.split(';').find_map(forwarded_for),
            _ => Some(entry),
        })
        .map(parse)
        .collect()
}

/// What `Forwarded` says in `for=`.
fn forwarded_for(pair: &str) -> Option<&str> {
    let (key, value) = pair.split_once('=')?;
    key.trim().eq_ignore_ascii_case("for").then_some(value)
}

/// An address as proxies write it: bare, quoted, in brackets, with a port.
fn parse(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare = text.strip_prefix('[').and_then(|rest| rest.split(']').next());
    let bare = bare.unwrap_or(text);
    bare.parse().ok().or_else(|| bare.split_once(':')?.0.parse().ok())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn every_header_of_a_proxy_marks_a_relayed_request() {
        assert!(!is_relayed(&headers(&[])));
        for name in ["x-forwarded-for", "x-real-ip", "cf-connecting-ip", "true-client-ip"] {
            assert!(is_relayed(&headers(&[(name, "192.0.2.7")])), "{name}");
            assert!(is_relayed(&headers(&[(name, "nonsense")])), "{name}");
            assert!(!is_relayed(&headers(&[(name, "127.0.0.1")])), "{name}");
            assert!(!is_relayed(&headers(&[(name, "::ffff:127.0.0.1")])), "{name}");
        }
        assert!(is_relayed(&headers(&[("via", "1.1 proxy")])));
        assert!(is_relayed(&headers(&[(
            "forwarded",
            "for=192.0.2.60;proto=http;by=203.0.113.43"
        )])));
        assert!(is_relayed(&headers(&[("forwarded", "for=\"[2001:db8::17]:4711\"")])));
        assert!(!is_relayed(&headers(&[("forwarded", "for=\"[::1]:4711\"")])));
        assert!(is_relayed(&headers(&[("x-forwarded-for", "127.0.0.1, 192.0.2.7")])));
        assert!(is_relayed(&headers(&[
            ("x-forwarded-for", "127.0.0.1"),
            ("x-real-ip", "192.0.2.7")
        ])));
    }

    #[track_caller]
    fn check(peer: &str, forwarded: &[(&'static str, &'static str)], client: &str) {
        let trusted = ["10.0.0.0/8", "::1"].map(|text| text.parse().expect("a network"));
        let peer = peer.parse().expect("an address");
        let found = address(peer, &headers(forwarded), &trusted);
        assert_eq!(found.to_string(), client, "{forwarded:?}");
    }

    #[test]
    fn only_trusted_proxies_say_where_a_request_comes_from() {
        check("10.1.2.3", &[("x-forwarded-for", "192.0.2.7")], "192.0.2.7");
        check("192.0.2.9", &[("x-forwarded-for", "192.0.2.7")], "192.0.2.9");
        // What the client wrote itself stands to the left of what the proxies added.
        check("10.1.2.3", &[("x-forwarded-for", "1.1.1.1, 192.0.2.7, 10.9.9.9")], "192.0.2.7");
        check(
            "::1",
            &[("forwarded", "for=1.1.1.1, for=\"[2001:db8::7]:80\";proto=http")],
            "2001:db8::7",
        );
        check("::1", &[("x-real-ip", "192.0.2.7:4000")], "192.0.2.7");
        check("10.1.2.3", &[("x-forwarded-for", "unknown, 10.0.0.1")], "10.0.0.1");
        check("10.1.2.3", &[], "10.1.2.3");
        check("::ffff:10.1.2.3", &[("x-forwarded-for", "192.0.2.7")], "192.0.2.7");
    }

    #[test]
    fn networks_are_addresses_with_the_number_of_bits_that_count() {
        let contains = |network: &str, address: &str| {
            let network: Network = network.parse().expect("a network");
            network.contains(address.parse().expect("an address"))
        };
        assert!(contains("0.0.0.0/0", "203.0.113.9"));
        assert!(contains("192.0.2.7", "192.0.2.7") && !contains("192.0.2.7", "192.0.2.8"));
        assert!(
            contains("2001:db8::/32", "2001:db8:1::1") && !contains("2001:db8::/32", "2001:db9::")
        );
        assert!(!contains("0.0.0.0/0", "2001:db8::1"));
        for wrong in ["", "x", "10.0.0.0/33", "10.0.0.0/x", "10.0.0.0/"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }
}
