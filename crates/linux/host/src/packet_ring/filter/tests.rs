use super::*;
use std::net::IpAddr;

/// Runs a program on a packet, as the kernel does. Returns the bytes to keep.
fn run(program: &[FilterInstruction], packet: &[u8]) -> u32 {
    let (mut at, mut a, mut x) = (0, 0u32, 0u32);
    let bytes = |from: usize, count: usize| {
        packet
            .get(from..from + count)
            .map(|bytes| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
    };
    loop {
        let FilterInstruction { code, jump_true, jump_false, operand } = program[at];
        at += 1;
        let load = |from: u32, count| bytes(from as usize, count);
        let jump = |is_true: bool| usize::from(if is_true { jump_true } else { jump_false });
        let loaded = match code {
            0x20 => load(operand, 4),
            0x28 => load(operand, 2),
            0x30 => load(operand, 1),
            0x40 => load(x + operand, 4),
            0x48 => load(x + operand, 2),
            0x50 => load(x + operand, 1),
            _ => Some(a),
        };
        // A load beyond the packet rejects it.
        let Some(loaded) = loaded else { return 0 };
        a = loaded;
        match code {
            0xb1 => x = load(operand, 1).map_or(0, |byte| (byte & 15) * 4),
            0x54 => a &= operand,
            0x74 => a >>= operand,
            0x05 => at += operand as usize,
            0x15 => at += jump(a == operand),
            0x25 => at += jump(a > operand),
            0x35 => at += jump(a >= operand),
            0x45 => at += jump(a & operand != 0),
            0x06 => return operand,
            0x20 | 0x28 | 0x30 | 0x40 | 0x48 | 0x50 => {}
            other => panic!("instruction {other:#x}"),
        }
    }
}

/// A packet of TCP (6) or UDP (17) with the headers that filters look at.
fn packet(link: LinkLayer, protocol: u8, source: (&str, u16), destination: (&str, u16)) -> Vec<u8> {
    let addresses: [IpAddr; 2] = [source.0.parse().unwrap(), destination.0.parse().unwrap()];
    let mut bytes = Vec::new();
    if link == LinkLayer::Ethernet {
        bytes.extend([0; 12]);
        bytes.extend(if addresses[0].is_ipv4() { [8, 0] } else { [0x86, 0xdd] });
    }
    if addresses[0].is_ipv4() {
        // With an option, so that the header has 24 bytes.
        bytes.extend([0x46, 0, 0, 44, 0, 1, 0x40, 0, 64, protocol, 0, 0]);
    } else {
        bytes.extend([0x60, 0, 0, 0, 0, 20, protocol, 64]);
    }
    for address in addresses {
        match address {
            IpAddr::V4(address) => bytes.extend(address.octets()),
            IpAddr::V6(address) => bytes.extend(address.octets()),
        }
    }
    if addresses[0].is_ipv4() {
        bytes.extend([1, 1, 1, 1]);
    }
    bytes.extend(source.1.to_be_bytes());
    bytes.extend(destination.1.to_be_bytes());
    bytes.extend([0; 16]);
    bytes
}

const EXPRESSIONS: [&str; 14] = [
    "tcp",
    "udp",
    "ip",
    "ip6",
    "port 5001",
    "tcp port 5001",
    "tcp and port 5001",
    "udp and src port 5001",
    "host 10.0.0.1",
    "src host 10.0.0.1 and dst port 99",
    "net 10.0.0.0/24 and udp",
    "dst net 10.1.0.0/16",
    "host fd00::1",
    "tcp and net fd00::/40 and src port 99",
];

fn packets(link: LinkLayer) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for protocol in [6, 17, 1] {
        for (from, to) in [
            (("10.0.0.1", 5001), ("10.1.0.2", 99)),
            (("10.1.0.2", 99), ("10.0.0.1", 5001)),
            (("192.0.2.1", 5001), ("10.0.0.200", 5002)),
            (("fd00::1", 99), ("fd00:0:1::1", 5001)),
            (("fd00:0:1::1", 5001), ("fd01::1", 99)),
        ] {
            all.push(packet(link, protocol, from, to));
        }
    }
    all.push(vec![0; 20]);
    all
}

#[test]
fn terms_accept_their_packets_only() {
    let accepted = |expression: &str| {
        let link = LinkLayer::Ethernet;
        let filter = Filter::compile_simple(expression, link).unwrap();
        packets(link).iter().filter(|packet| run(&filter.program, packet) > 0).count()
    };
    assert_eq!(EXPRESSIONS.map(accepted), [5, 5, 9, 6, 10, 5, 5, 3, 6, 2, 3, 3, 3, 1]);
}

#[test]
fn terms_accept_the_packets_that_tcpdump_accepts() {
    if Command::new("tcpdump").arg("--version").output().is_err() {
        wirespeed_testbed::skip("terms_accept_the_packets_that_tcpdump_accepts", "no tcpdump here");
        return;
    }
    for link in [LinkLayer::Ethernet, LinkLayer::Ip] {
        for expression in EXPRESSIONS {
            let ours = Filter::compile_simple(expression, link).unwrap();
            let theirs = Filter::compile(expression, link).unwrap();
            for packet in packets(link) {
                let [ours, theirs] = [&ours, &theirs].map(|filter| run(&filter.program, &packet) > 0);
                assert_eq!(ours, theirs, "{expression} of {link:?}: {packet:?}");
            }
        }
    }
    let error = Filter::compile("tcp prt 5001", LinkLayer::Ethernet).unwrap_err();
    assert!(error.to_string().contains("syntax error"), "{error}");
}

#[test]
fn term_that_is_not_understood_is_named_with_what_is() {
    for (expression, term) in [
        ("tcp or udp", "or"),
        ("not tcp", "not"),
        ("host example.com", "host example.com"),
        ("port 70000", "port 70000"),
        ("net 10.0.0.0/33", "net 10.0.0.0/33"),
        ("tcp port", "port "),
        ("and", "and"),
        ("", ""),
    ] {
        let error = Filter::compile_simple(expression, LinkLayer::Ethernet).unwrap_err();
        assert!(matches!(&error, FilterError::Unknown { term: named, .. } if named == term), "{error:?}");
        assert!(error.to_string().contains("install tcpdump"), "{error}");
    }
    let long = ["net fd00::/127"; 7].join(" and ");
    assert!(Filter::compile_simple(&long, LinkLayer::Ip).is_err());
    let longest = ["net fd00::/127"; 6].join(" and ");
    assert!(Filter::compile_simple(&longest, LinkLayer::Ethernet).is_ok());
}

#[test]
fn filter_is_the_output_of_tcpdump() {
    // `tcpdump -ddd ip` on an Ethernet interface.
    let filter = Filter::from_tcpdump("ip", "4\n40 0 0 12\n21 0 1 2048\n6 0 0 262144\n6 0 0 0\n").unwrap();
    assert_eq!(filter.program.len(), 4);
    let second = FilterInstruction { code: 21, jump_true: 0, jump_false: 1, operand: 2048 };
    assert_eq!(filter.program[1], second);
    let third = Filter::from_tcpdump("ip", "2\n40 0 0 12\n21 0 x 2048\n");
    assert_eq!(third, Err(FilterError::NotTcpdump { line: 3 }));
    assert_eq!(Filter::from_tcpdump("ip", ""), Err(FilterError::NotTcpdump { line: 1 }));
}
