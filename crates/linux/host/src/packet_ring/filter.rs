//! Filters: programs of classic BPF, from an expression.
//!
//! tcpdump compiles an expression, if it is installed. Otherwise the terms of [`simple`] are compiled here.

mod simple;

use super::LinkLayer;
use std::io::ErrorKind;
use std::process::{Command, Stdio};

/// An instruction of classic BPF, as `tcpdump -ddd FILTER` prints them: code, jumps if true and false, operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterInstruction {
    /// Code.
    pub code: u16,
    /// Instructions to skip if a comparison is true.
    pub jump_true: u8,
    /// Instructions to skip if it is false.
    pub jump_false: u8,
    /// Operand.
    pub operand: u32,
}

/// An expression that is not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Text that is not the output of `tcpdump -ddd`.
    #[error("line {line} of the filter is not four numbers, as `tcpdump -ddd FILTER` prints them")]
    NotTcpdump {
        /// Number of the line, from 1.
        line: usize,
    },
    /// tcpdump does not accept the expression.
    #[error("tcpdump does not accept `{expression}`: {reason}")]
    Rejected {
        /// The expression.
        expression: String,
        /// The message of tcpdump.
        reason: String,
    },
    /// Without tcpdump, a part of the expression is not understood.
    #[error("`{term}` is not understood without tcpdump: {reason}")]
    Unknown {
        /// The part.
        term: String,
        /// The reason, with the terms that are.
        reason: String,
    },
}

/// A program that accepts or rejects packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The expression, for the file.
    pub expression: String,
    /// The program. The kernel checks it.
    pub program: Vec<FilterInstruction>,
}

impl Filter {
    /// Compiles an expression such as `tcp port 5001 and host 10.0.0.2` (pcap-filter(7)) for packets of a link layer.
    ///
    /// # Errors
    /// The reason of tcpdump, or the first term that is not understood without it.
    pub fn compile(expression: &str, link: LinkLayer) -> Result<Filter, FilterError> {
        let name = match link {
            LinkLayer::Ethernet => "EN10MB",
            LinkLayer::Ip => "RAW",
        };
        let output = Command::new("tcpdump")
            .args(["-ddd", "-y", name, "--"])
            .arg(expression)
            .stdin(Stdio::null())
            .output();
        match output {
            Ok(output) if output.status.success() => {
                Filter::from_tcpdump(expression, &String::from_utf8_lossy(&output.stdout))
            }
            Ok(output) => Err(FilterError::Rejected {
                expression: expression.into(),
                reason: reason(&String::from_utf8_lossy(&output.stderr)),
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Filter::compile_simple(expression, link),
            Err(error) => {
                Err(FilterError::Rejected { expression: expression.into(), reason: error.to_string() })
            }
        }
    }

    /// Compiles an expression without tcpdump: terms joined by `and`. They are `ip`, `ip6`, `tcp`, `udp`, `host ADDRESS`,
    /// `net ADDRESS/BITS` and `port NUMBER`, with `src` or `dst` before the last three.
    ///
    /// # Errors
    /// The first term that is not understood.
    pub fn compile_simple(expression: &str, link: LinkLayer) -> Result<Filter, FilterError> {
        let program = simple::compile(expression, link)?;
        Ok(Filter { expression: expression.into(), program })
    }

    /// Reads the output of `tcpdump -ddd EXPRESSION`: the number of instructions, and each on a line.
    ///
    /// # Errors
    /// The first line that is not an instruction.
    pub fn from_tcpdump(expression: &str, output: &str) -> Result<Filter, FilterError> {
        let instruction = |(at, line): (usize, &str)| {
            let mut words = line.split_ascii_whitespace();
            let mut read = || {
                let code = words.next()?.parse().ok()?;
                let jump_true = words.next()?.parse().ok()?;
                let jump_false = words.next()?.parse().ok()?;
                let operand = words.next()?.parse().ok()?;
                words.next().is_none().then_some(FilterInstruction { code, jump_true, jump_false, operand })
            };
            read().ok_or(FilterError::NotTcpdump { line: at + 1 })
        };
        let lines = output.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty());
        let program = lines.map(instruction).collect::<Result<Vec<_>, _>>()?;
        if program.is_empty() {
            return Err(FilterError::NotTcpdump { line: 1 });
        }
        Ok(Filter { expression: expression.into(), program })
    }
}

/// The last line of a message, without the name of the program.
fn reason(message: &str) -> String {
    let last = message.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it gives no reason");
    last.trim_start_matches("tcpdump: ").to_owned()
}

#[cfg(test)]
mod tests;
