//! A few terms of filters, compiled without tcpdump.

use super::{FilterError, FilterInstruction};
use crate::packet_ring::LinkLayer;
use std::net::{IpAddr, Ipv6Addr};

/// Most terms: all jumps fit into the eight bits that they have.
const MOST_TERMS: usize = 6;
const UNDERSTOOD: &str = "write terms joined by `and`, such as `tcp and src host 10.0.0.1 and port 5001` \
    (ip, ip6, tcp, udp, host, net and port), or install tcpdump";

/// Addresses or ports that a term compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
    Either,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Term {
    Ipv4,
    Ipv6,
    Protocol(u8),
    /// Addresses that begin with so many bits of this one.
    Net(Side, IpAddr, u32),
    Port(Side, u16),
}

const TCP: u8 = 6;
const UDP: u8 = 17;

fn unknown(term: &str, reason: &str) -> FilterError {
    FilterError::Unknown { term: term.into(), reason: reason.into() }
}

/// Reads the terms of an expression.
fn parse(expression: &str) -> Result<Vec<Term>, FilterError> {
    let mut words = expression.split_ascii_whitespace().peekable();
    let mut terms = Vec::new();
    while let Some(word) = words.next() {
        if matches!(word, "and" | "&&") && !terms.is_empty() && words.peek().is_some() {
            continue;
        }
        let simple = match word {
            "ip" => Some(Term::Ipv4),
            "ip6" => Some(Term::Ipv6),
            "tcp" => Some(Term::Protocol(TCP)),
            "udp" => Some(Term::Protocol(UDP)),
            _ => None,
        };
        if let Some(term) = simple {
            terms.push(term);
            continue;
        }
        let side = match word {
            "src" => Side::Source,
            "dst" => Side::Destination,
            _ => Side::Either,
        };
        let kind = if side == Side::Either { word } else { words.next().unwrap_or_default() };
        let value = words.next().unwrap_or_default();
        let wrong = || unknown(&format!("{kind} {value}"), UNDERSTOOD);
        terms.push(match kind {
            "host" => {
                let address: IpAddr = value.parse().map_err(|_| wrong())?;
                Term::Net(side, address, if address.is_ipv4() { 32 } else { 128 })
            }
            "net" => net(side, value).ok_or_else(wrong)?,
            "port" => Term::Port(side, value.parse().map_err(|_| wrong())?),
            _ => return Err(unknown(word, UNDERSTOOD)),
        });
    }
    match terms.len() {
        0 => Err(unknown(expression, UNDERSTOOD)),
        1..=MOST_TERMS => Ok(terms),
        _ => Err(unknown(expression, &format!("it has more than {MOST_TERMS} terms; install tcpdump"))),
    }
}

fn net(side: Side, value: &str) -> Option<Term> {
    let (address, bits) = value.split_once('/')?;
    let (address, bits): (IpAddr, u32) = (address.parse().ok()?, bits.parse().ok()?);
    let most = if address.is_ipv4() { 32 } else { 128 };
    (bits <= most).then_some(Term::Net(side, address, bits))
}

// Codes of instructions (include/uapi/linux/bpf_common.h).
const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
/// At an offset from the index.
const LOAD_HALF_INDEXED: u16 = 0x48;
/// The index becomes four times the lower half of a byte: the length of an IPv4 header.
const INDEX_OF_HEADER: u16 = 0xb1;
const AND: u16 = 0x54;
const SHIFT_RIGHT: u16 = 0x74;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Next instruction after a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Next,
    /// The end of the block, which rejects.
    Reject,
    Label(usize),
}

/// Instructions for packets of one version of IP.
#[derive(Debug, Default)]
struct Block {
    instructions: Vec<(u16, u32, Target, Target)>,
    /// Place of each label.
    labels: Vec<usize>,
}

impl Block {
    fn load(&mut self, code: u16, operand: usize) {
        self.instructions.push((code, operand as u32, Target::Next, Target::Next));
    }

    fn if_equal(&mut self, value: u32, is_true: Target, is_false: Target) {
        self.instructions.push((IF_EQUAL, value, is_true, is_false));
    }

    fn label(&mut self) -> usize {
        self.labels.push(usize::MAX);
        self.labels.len() - 1
    }

    fn place(&mut self, label: usize) {
        self.labels[label] = self.instructions.len();
    }

    /// Compares the words of an address, and leads to `otherwise` if one differs.
    fn address(&mut self, at: usize, address: IpAddr, bits: u32, otherwise: Target) {
        let words: Vec<u32> = match address {
            IpAddr::V4(address) => vec![address.to_bits()],
            IpAddr::V6(address) => words(address),
        };
        for (number, word) in words.into_iter().enumerate() {
            let here = bits.saturating_sub(32 * number as u32).min(32);
            let Some(mask) = u32::MAX.checked_shl(32 - here).filter(|_| here > 0) else { continue };
            self.load(LOAD_WORD, at + 4 * number);
            if here < 32 {
                self.load(AND, mask as usize);
            }
            self.if_equal(word & mask, Target::Next, otherwise);
        }
    }

    /// One of two comparisons, or either of both.
    fn side(&mut self, side: Side, compare: impl Fn(&mut Block, bool, Target)) {
        match side {
            Side::Source => compare(self, true, Target::Reject),
            Side::Destination => compare(self, false, Target::Reject),
            Side::Either => {
                let (other, done) = (self.label(), self.label());
                compare(self, true, Target::Label(other));
                self.instructions.push((JUMP, 0, Target::Label(done), Target::Label(done)));
                self.place(other);
                compare(self, false, Target::Reject);
                self.place(done);
            }
        }
    }

    /// The program: jumps have numbers, and both results follow.
    fn finish(mut self) -> Result<Vec<FilterInstruction>, FilterError> {
        let accept = self.instructions.len();
        self.load(RETURN, u32::MAX as usize);
        self.load(RETURN, 0);
        let place = |target: Target, at: usize| match target {
            Target::Next => at + 1,
            Target::Reject => accept + 1,
            Target::Label(label) => self.labels[label],
        };
        let far = |_| unknown("the expression", "it is too long; install tcpdump");
        let resolve = |(at, &(code, operand, is_true, is_false)): (usize, &(u16, u32, Target, Target))| {
            let jump = |target| u8::try_from(place(target, at) - at - 1).map_err(far);
            let (jump_true, jump_false) = (jump(is_true)?, jump(is_false)?);
            // An unconditional jump has its distance in the operand.
            if code == JUMP {
                let operand = u32::from(jump_true);
                return Ok(FilterInstruction { code, jump_true: 0, jump_false: 0, operand });
            }
            Ok(FilterInstruction { code, jump_true, jump_false, operand })
        };
        self.instructions.iter().enumerate().map(resolve).collect()
    }
}

fn words(address: Ipv6Addr) -> Vec<u32> {
    address
        .octets()
        .chunks_exact(4)
        .map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
        .collect()
}

/// Whether a port is compared in packets of both protocols.
fn has_protocol(terms: &[Term]) -> bool {
    terms.iter().any(|term| matches!(term, Term::Protocol(_)))
}

/// The instructions for one version of IP, whose header begins at `ip`.
fn block(terms: &[Term], is_v4: bool, ip: usize) -> Result<Vec<FilterInstruction>, FilterError> {
    let mut block = Block::default();
    let protocol_at = ip + if is_v4 { 9 } else { 6 };
    let addresses_at = if is_v4 { [ip + 12, ip + 16] } else { [ip + 8, ip + 24] };
    let reject_all = |block: &mut Block| block.if_equal(0, Target::Reject, Target::Reject);
    for term in terms {
        match *term {
            Term::Ipv4 if is_v4 => {}
            Term::Ipv6 if !is_v4 => {}
            Term::Ipv4 | Term::Ipv6 => reject_all(&mut block),
            Term::Protocol(number) => {
                block.load(LOAD_BYTE, protocol_at);
                block.if_equal(number.into(), Target::Next, Target::Reject);
            }
            Term::Net(_, address, _) if address.is_ipv4() != is_v4 => reject_all(&mut block),
            Term::Net(side, address, bits) => block.side(side, |block, is_source, otherwise| {
                block.address(addresses_at[usize::from(!is_source)], address, bits, otherwise);
            }),
            Term::Port(side, port) => {
                if !has_protocol(terms) {
                    let has_ports = block.label();
                    block.load(LOAD_BYTE, protocol_at);
                    block.if_equal(TCP.into(), Target::Label(has_ports), Target::Next);
                    block.if_equal(UDP.into(), Target::Next, Target::Reject);
                    block.place(has_ports);
                }
                if is_v4 {
                    // Fragments after the first have no ports.
                    block.load(LOAD_HALF, ip + 6);
                    block.instructions.push((IF_BITS, 0x1fff, Target::Reject, Target::Next));
                    block.load(INDEX_OF_HEADER, ip);
                }
                block.side(side, |block, is_source, otherwise| {
                    let at = ip + if is_source { 0 } else { 2 };
                    match is_v4 {
                        true => block.load(LOAD_HALF_INDEXED, at),
                        false => block.load(LOAD_HALF, at + 40),
                    }
                    block.if_equal(port.into(), Target::Next, otherwise);
                });
            }
        }
    }
    block.finish()
}

/// Compiles an expression for packets of a link layer.
pub(super) fn compile(expression: &str, link: LinkLayer) -> Result<Vec<FilterInstruction>, FilterError> {
    let terms = parse(expression)?;
    let plain = |code, operand| FilterInstruction { code, jump_true: 0, jump_false: 0, operand };
    // The version of IP decides which block follows.
    let (mut program, values, ip) = match link {
        LinkLayer::Ethernet => (vec![plain(LOAD_HALF, 12)], [0x0800, 0x86dd], 14),
        LinkLayer::Ip => (vec![plain(LOAD_BYTE, 0), plain(SHIFT_RIGHT, 4)], [4, 6], 0),
    };
    for (is_v4, value) in [(true, values[0]), (false, values[1])] {
        let block = block(&terms, is_v4, ip)?;
        let over = u8::try_from(block.len())
            .map_err(|_| unknown("the expression", "it is too long; install tcpdump"))?;
        program.push(FilterInstruction { code: IF_EQUAL, jump_true: 0, jump_false: over, operand: value });
        program.extend(block);
    }
    program.push(plain(RETURN, 0));
    Ok(program)
}
