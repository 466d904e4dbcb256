//! The address of each host that carries a test: one version of IP for all of them, and one address of each.

use crate::substrate::SubstrateError;
use std::net::IpAddr;
use wirespeed_agent::message::Interface;
use wirespeed_scenario::run::{Family, Reach};
use wirespeed_transport::TransportError;

/// A host of a run, and the addresses that it has.
pub struct Candidate<'a> {
    pub host: &'a str,
    pub reach: &'a Reach,
    pub found: &'a [Interface],
}

impl Candidate<'_> {
    fn has(&self, family: Family) -> bool {
        self.found.iter().any(|interface| Family::of(interface.address) == family)
    }
}

/// The version of IP that hosts ask for, by their addresses or by themselves; `None` if none asks.
///
/// # Errors
/// If they ask for different ones.
pub fn asked<'a>(
    hosts: impl Iterator<Item = (&'a str, &'a Reach)>,
) -> Result<Option<Family>, SubstrateError> {
    let asking: Vec<(&str, &Reach, Family)> =
        hosts.filter_map(|(host, reach)| Some((host, reach, reach.asked_family()?))).collect();
    let Some((first, rest)) = asking.split_first() else { return Ok(None) };
    let described = |(host, reach, family): &(&str, &Reach, Family)| match reach.address {
        Some(address) => format!("{host} has the address {address} ({family})"),
        None => format!("{host} asks for {family}"),
    };
    match rest.iter().find(|other| other.2 != first.2) {
        None => Ok(Some(first.2)),
        Some(other) => Err(SubstrateError::Unsupported(format!(
            "{}, {}: a test has one version of IP. Give both an address of the same version, for example NAME=10.9.0.1 or \
             NAME=fd00::1; or give none, and choose with -4 or -6",
            described(first),
            described(other)
        ))),
    }
}

/// The version of IP of a test: the one that is asked for, or else IPv4 where all hosts have it, or else IPv6 where they do.
///
/// # Errors
/// If hosts ask for different ones, or have none in common.
pub fn family(hosts: &[Candidate]) -> Result<Family, SubstrateError> {
    if let Some(family) = asked(hosts.iter().map(|host| (host.host, host.reach)))? {
        return Ok(family);
    }
    let all_have = |family: &Family| hosts.iter().all(|host| host.has(*family));
    [Family::Ipv4, Family::Ipv6].into_iter().find(all_have).ok_or_else(|| {
        let each = hosts.iter().map(|host| format!("{} has {}", host.host, listed(host.found)));
        SubstrateError::Environment(format!(
            "the hosts have no version of IP in common: {}. Give each an address of the same version",
            each.collect::<Vec<_>>().join("; ")
        ))
    })
}

/// The interface of each host that carries the test. It is not guessed where there are several: the control connection
/// must not carry test traffic because nobody said otherwise.
///
/// # Errors
/// Of every host that has none or several.
pub fn interfaces(hosts: &[Candidate]) -> Result<Vec<Interface>, SubstrateError> {
    let family = family(hosts)?;
    let (mut chosen, mut failures) = (Vec::new(), Vec::new());
    for host in hosts {
        match choose(host, family) {
            Ok(interface) => chosen.push(interface),
            Err(error) => failures.push(error.into()),
        }
    }
    if failures.is_empty() { Ok(chosen) } else { Err(SubstrateError::Several(failures)) }
}

fn listed(found: &[Interface]) -> String {
    found.iter().map(|i| format!("{} ({})", i.address, i.device)).collect::<Vec<_>>().join(", ")
}

/// An interface of one host.
fn choose(host: &Candidate, family: Family) -> Result<Interface, TransportError> {
    let Candidate { host, reach, found } = *host;
    let fail = |what: String| Err(TransportError::host(host, &what, None));
    if let Some(address) = reach.address {
        return match found.iter().find(|interface| interface.address == address) {
            Some(interface) => Ok(interface.clone()),
            None => fail(format!("it has no address {address}; it has {}", listed(found))),
        };
    }
    let of_family = |interface: &&Interface| Family::of(interface.address) == family;
    let usable: Vec<Interface> = found.iter().filter(of_family).cloned().collect();
    match &usable[..] {
        [] => fail(format!("it has no {family} address; it has {}", listed(found))),
        [only] => Ok(only.clone()),
        several => fail(format!(
            "it has several addresses: {}; say which carries the test, which is not that of your login: NAME=ADDRESS with \
             wirespeed probe, or host.{host}.address=ADDRESS",
            listed(several)
        )),
    }
}

/// The addresses of an iperf3 server, in the place of those that an agent tells.
pub fn of_server(addresses: &[IpAddr]) -> Vec<Interface> {
    let interface = |address: &IpAddr| Interface {
        device: "iperf3".into(),
        address: *address,
        rate_bps: None,
        mtu: None,
    };
    addresses.iter().map(interface).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(addresses: &[&str]) -> Vec<Interface> {
        of_server(&addresses.iter().map(|address| address.parse().unwrap()).collect::<Vec<_>>())
    }

    fn chosen(reaches: [Reach; 2], addresses: [&[&str]; 2]) -> Result<Vec<String>, String> {
        let found = addresses.map(has);
        let hosts: Vec<Candidate> = ["a", "b"]
            .into_iter()
            .zip(&reaches)
            .zip(&found)
            .map(|((host, reach), found)| Candidate { host, reach, found })
            .collect();
        let interfaces = interfaces(&hosts).map_err(|error| error.to_string())?;
        Ok(interfaces.iter().map(|interface| interface.address.to_string()).collect())
    }

    fn any() -> Reach {
        Reach::by_name("x")
    }

    fn at(address: &str) -> Reach {
        Reach { address: Some(address.parse().unwrap()), ..any() }
    }

    fn of(family: Family) -> Reach {
        Reach { family: Some(family), ..any() }
    }

    const BOTH: &[&str] = &["10.0.0.1", "fd00::1"];

    #[test]
    fn ipv4_is_used_unless_ipv6_is_asked_for_or_all_there_is() {
        let told = |reaches, addresses| chosen(reaches, addresses).unwrap();
        assert_eq!(told([any(), any()], [BOTH, BOTH]), ["10.0.0.1", "10.0.0.1"]);
        assert_eq!(told([of(Family::Ipv6), any()], [BOTH, BOTH]), ["fd00::1", "fd00::1"]);
        assert_eq!(told([any(), at("fd00::1")], [BOTH, BOTH]), ["fd00::1", "fd00::1"]);
        assert_eq!(told([any(), any()], [BOTH, &["fd00::2"]]), ["fd00::1", "fd00::2"]);
    }

    #[test]
    fn ends_of_different_versions_are_refused_with_the_remedy() {
        let refused = chosen([at("10.0.0.1"), at("fd00::1")], [BOTH, BOTH]).unwrap_err();
        for words in ["a has the address 10.0.0.1 (IPv4)", "b has the address fd00::1 (IPv6)", "-4 or -6"] {
            assert!(refused.contains(words), "{words}: {refused}");
        }
        let refused = chosen([any(), any()], [&["10.0.0.1"], &["fd00::2"]]).unwrap_err();
        assert!(refused.contains("in common: a has 10.0.0.1 (iperf3); b has fd00::2"), "{refused}");
        let refused = chosen([of(Family::Ipv6), any()], [BOTH, &["10.0.0.2"]]).unwrap_err();
        assert!(refused.contains("host b: it has no IPv6 address; it has 10.0.0.2"), "{refused}");
    }

    #[test]
    fn one_of_several_addresses_is_never_guessed() {
        let several: &[&str] = &["fd00::1", "fd01::1", "10.0.0.1"];
        let refused = chosen([of(Family::Ipv6), any()], [several, several]).unwrap_err();
        assert!(refused.contains("host a: it has several addresses: fd00::1 (iperf3), fd01::1"), "{refused}");
        assert!(refused.contains("host b: "), "{refused}");
        assert!(chosen([any(), any()], [several, several]).is_ok(), "there is one of IPv4");
        let refused = chosen([at("10.0.0.9"), any()], [several, several]).unwrap_err();
        assert!(refused.contains("it has no address 10.0.0.9"), "{refused}");
    }
}
