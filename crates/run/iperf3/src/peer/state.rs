//! The states that the two sides name to each other, a byte each.

use std::fmt;

macro_rules! states {
    ($($(#[doc = $doc:literal])* $name:ident = $byte:literal, $words:literal;)+) => {
        /// What one side asks the other to do next.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum State { $($(#[doc = $doc])* $name,)+ }

        impl State {
            /// The state of a byte, if it is one.
            pub fn of(byte: u8) -> Option<State> {
                match byte as i8 { $($byte => Some(State::$name),)+ _ => None }
            }

            /// Its byte.
            pub fn byte(self) -> u8 {
                match self { $(State::$name => $byte as i8 as u8,)+ }
            }
        }

        impl fmt::Display for State {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(State::$name => $words,)+ })
            }
        }
    };
}

states! {
    /// Prepare.
    TestStart = 1, "begin the test";
    /// Data flows.
    TestRunning = 2, "run the test";
    /// The client has had enough.
    TestEnd = 4, "end the test";
    /// The client sends its parameters.
    ParamExchange = 9, "ask for the parameters";
    /// The client connects the streams.
    CreateStreams = 10, "ask for the streams";
    /// The server stops the test.
    ServerTerminate = 11, "stop the test";
    /// The client stops the test.
    ClientTerminate = 12, "acknowledge that the client stopped";
    /// Both send what they have measured.
    ExchangeResults = 13, "exchange results";
    /// Both are through.
    DisplayResults = 14, "show results";
    /// Not used on the wire.
    IperfStart = 15, "start";
    /// The client is through.
    IperfDone = 16, "end";
    /// The server has another client.
    AccessDenied = -1, "refuse";
    /// The server could not; two numbers follow.
    ServerError = -2, "report an error";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_one_state_or_none() {
        let known: Vec<State> = (0..=255).filter_map(State::of).collect();
        assert_eq!(known.len(), 13);
        assert!(known.iter().all(|state| State::of(state.byte()) == Some(*state)));
        assert_eq!(State::of(0xff), Some(State::AccessDenied));
        assert_eq!(State::of(b'S'), None);
    }
}
