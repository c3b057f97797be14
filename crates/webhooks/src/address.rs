//! Which addresses may be called: those of the public internet, and what the operator allows
//! besides.
//!
//! Whoever may create webhooks must not thereby reach what only this machine reaches: other
//! services of its network, or the metadata of its cloud. So an address is looked at after the name
//! was resolved, and that very address is connected to.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Private addresses and hosts that may be called all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedPrivate {
    networks: Vec<(IpAddr, u8)>,
    hosts: Vec<String>,
}

impl AllowedPrivate {
    /// Reads a list of addresses, networks and hosts, separated by commas:
    /// `127.0.0.1,10.1.0.0/16,hooks.internal`.
    ///
    /// # Errors
    /// Which entry is wrong, and what is allowed.
    pub fn parse(list: &str) -> Result<AllowedPrivate, String> {
        let mut allowed = AllowedPrivate::default();
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (address, bits) =
                entry.split_once('/').map_or((entry, None), |(a, b)| (a, Some(b)));
            match (address.parse::<IpAddr>(), bits) {
                (Ok(ip), None) => allowed.networks.push((ip, bits_of(ip))),
                (Ok(ip), Some(bits)) => {
                    let bits = bits.parse::<u8>().ok().filter(|bits| *bits <= bits_of(ip));
                    let bits = bits.ok_or_else(|| {
                        format!("\"{entry}\" is no network; write one as 10.0.0.0/8 or fd00::/8")
                    })?;
                    allowed.networks.push((ip, bits));
                }
                (Err(_), None) if is_host(entry) => allowed.hosts.push(entry.to_ascii_lowercase()),
                _ => {
                    return Err(format!(
                        "\"{entry}\" is no address, network or host; write them as 127.0.0.1, 10.0.0.0/8 or hooks.internal"
                    ));
                }
            }
        }
        Ok(allowed)
    }

    fn has_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host.trim_end_matches('.')))
    }

    fn has(&self, ip: IpAddr) -> bool {
        self.networks.iter().any(|(network, bits)| is_in(ip, *network, *bits))
    }

    /// Why an address of a host is not called, if so.
    pub(crate) fn objection(&self, host: &str, ip: IpAddr) -> Option<String> {
        if is_public(ip) || self.has_host(host) || self.has(ip) {
            return None;
        }
        Some(format!("the address {ip} is private; \"webhooks-allow-private\" can allow it"))
    }
}

fn bits_of(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

fn is_host(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

fn is_in(ip: IpAddr, network: IpAddr, bits: u8) -> bool {
    match (ip, network) {
        (IpAddr::V4(ip), IpAddr::V4(network)) => {
            let shift = 32 - u32::from(bits);
            (u64::from(ip.to_bits()) >> shift) == (u64::from(network.to_bits()) >> shift)
        }
        (IpAddr::V6(ip), IpAddr::V6(network)) => {
            let shift = 128 - u32::from(bits);
            ip.to_bits().checked_shr(shift) == network.to_bits().checked_shr(shift)
        }
        _ => false,
    }
}

/// Whether an address is one of the public internet. What carries an IPv4 address in an IPv6 one is
/// not.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let special: [([u8; 4], u8); 15] = [
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        // Multicast, and what is reserved, up to the broadcast address.
        ([224, 0, 0, 0], 4),
        ([240, 0, 0, 0], 4),
    ];
    !special.iter().any(|(network, bits)| is_in(ip.into(), Ipv4Addr::from(*network).into(), *bits))
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [first, second, ..] = ip.segments();
    // All public ones are in 2000::/3. Of these, 2001::/23 holds tunnels and tests, 2001:db8::/32
    // and 3fff::/20 are for documents, and 2002::/16 carries IPv4 addresses.
    let is_special = (first == 0x2001 && (second < 0x0200 || second == 0x0db8))
        || first == 0x2002
        || (first == 0x3fff && second < 0x1000);
    (0x2000..0x4000).contains(&first) && !is_special
}

/// Resolves names as the system does, and refuses addresses that may not be called. What it returns
/// is what is connected to, so a name that has another address a moment later does not help.
#[derive(Debug, Clone)]
pub(crate) struct PublicResolver(pub(crate) Arc<AllowedPrivate>);

/// An address that is not called.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.0.clone();
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            if let Some(objection) = found.iter().find_map(|at| allowed.objection(&host, at.ip())) {
                return Err(Refused(objection).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(allowed: &str, host: &str, ip: &str) -> bool {
        let allowed = AllowedPrivate::parse(allowed).expect("a list");
        allowed.objection(host, ip.parse().expect("an address")).is_some()
    }

    #[test]
    fn only_public_addresses_are_called() {
        for public in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"] {
            assert!(!objects("", "h", public), "{public}");
        }
        let private = [
            "0.0.0.0",
            "10.1.2.3",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
        ];
        for private in private {
            assert!(objects("", "h", private), "{private}");
        }
    }

    #[test]
    fn what_the_operator_allows_is_called_and_nothing_else() {
        let list = "127.0.0.1, 10.1.0.0/16,hooks.internal,fd00::/8, ::/0";
        assert!(!objects(list, "h", "127.0.0.1"));
        assert!(objects(list, "h", "127.0.0.2"));
        assert!(!objects(list, "h", "10.1.255.255"));
        assert!(objects(list, "h", "10.2.0.0"));
        assert!(!objects(list, "Hooks.internal.", "192.168.0.1"));
        assert!(objects(list, "evil.internal", "192.168.0.1"));
        assert!(!objects(list, "h", "fd12::1"));
        assert!(!objects(list, "h", "::1"));
        assert!(!objects("0.0.0.0/0", "h", "127.0.0.1"));
    }

    #[test]
    fn a_wrong_entry_is_named() {
        for (list, named) in [
            ("10.0.0.0/33", "10.0.0.0/33"),
            ("127.0.0.1,a b", "a b"),
            ("x/8", "x/8"),
            ("::/129", "::/129"),
        ] {
            let error = AllowedPrivate::parse(list).expect_err("a wrong entry");
            assert!(error.starts_with(&format!("\"{named}\" is no")), "{error}");
        }
    }
}
