//! The guest kernel's command line.
//!
//! The kernel mixes it into its entropy at boot, so nothing in it may depend on where things are on the host:
//! the process runs in a folder of its own with links to init and to the writable folder, and they are named
//! through `/proc/self/cwd`. Only `mem` and the arguments differ from run to run.

use crate::error::BootError;
use crate::folder;
use wirespeed_units::Bytes;

/// Tells init that it is in a guest.
pub const GUEST_MARK: &str = "WIRESPEED_GUEST";

/// 2020-01-01 00:00:00 UTC. Any constant would do; this one is a plausible date to whatever looks at it.
const START_NS: u64 = 1_577_836_800_000_000_000;
/// COMMAND_LINE_SIZE of user-mode Linux, less the terminating zero.
const LONGEST: usize = 4095;
/// MAX_INIT_ARGS of the kernel (init/main.c), less argv[0].
const MOST_ARGUMENTS: usize = 31;

/// The arguments of the user-mode Linux process. Each word that the kernel proper does not know must hold a `=`:
/// without one the kernel gives it to init as an argument (`noreboot` is such a word), with one as environment.
///
/// Those of init are one argument: user-mode Linux looks for its own options in each by its beginning, and
/// would take an init argument such as `--help` or `mem=1` for one.
pub fn arguments(memory: Bytes, parameters: &[String], init: &[String]) -> Result<Vec<String>, BootError> {
    let mut line: Vec<String> = [
        "time-travel=inf-cpu",
        &format!("time-travel-start={START_NS}"),
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        &format!("init=/proc/self/cwd/{}", folder::INIT),
        "uml_dir=./",
        &format!("umid={}", folder::UML),
        "console=tty0",
        "con=null",
        "con0=null,fd:1",
        // Addresses in the guest's programs are the same whatever the seed.
        "norandmaps",
        &format!("{GUEST_MARK}=1"),
    ]
    .map(str::to_owned)
    .to_vec();
    line.insert(0, format!("mem={}K", memory.get() / 1024));
    for parameter in parameters {
        if !is_module_parameter(parameter) {
            let reason = "not of the form MODULE.NAME=VALUE";
            return Err(BootError::Argument { argument: parameter.clone(), reason });
        }
        line.push(parameter.clone());
    }
    if init.len() > MOST_ARGUMENTS {
        let reason = "the kernel passes at most 31 arguments to init";
        return Err(BootError::Argument { argument: init[MOST_ARGUMENTS].clone(), reason });
    }
    if !init.is_empty() {
        let quoted = init.iter().map(|a| quote(a)).collect::<Result<Vec<_>, _>>()?;
        line.push(format!("-- {}", quoted.join(" ")));
    }
    if line.iter().map(|a| a.len() + 1).sum::<usize>() > LONGEST {
        let longest = init.iter().max_by_key(|a| a.len()).cloned().unwrap_or_default();
        let reason = "the kernel's command line would be longer than 4095 bytes; pass it in a file instead";
        return Err(BootError::Argument { argument: longest, reason });
    }
    Ok(line)
}

/// Without a point the kernel, or user-mode Linux, may take the word for an option of its own.
fn is_module_parameter(word: &str) -> bool {
    let plain = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    word.split_once('=').is_some_and(|(path, value)| {
        plain(value) && path.split_once('.').is_some_and(|(module, name)| plain(module) && plain(name))
    })
}

/// The argument as the kernel's parser (lib/cmdline.c, next_arg) reads it back. It knows quotation marks around
/// an argument or around what follows its `=`, and no escapes.
fn quote(argument: &str) -> Result<String, BootError> {
    let refuse = |reason| Err(BootError::Argument { argument: argument.to_owned(), reason });
    if argument.is_empty() {
        return refuse("the kernel cannot pass an empty argument to init");
    }
    if argument.contains(['"', '\0', '\n']) {
        return refuse("the kernel's command line cannot hold a quotation mark, a line end or a zero byte");
    }
    if !argument.contains(|c: char| c.is_ascii_whitespace()) {
        return Ok(argument.to_owned());
    }
    match argument.split_once('=') {
        Some((name, value)) if !name.contains(|c: char| c.is_ascii_whitespace()) && !name.is_empty() => {
            Ok(format!("{name}=\"{value}\""))
        }
        Some(_) => refuse("the kernel cannot pass an argument with white space before a `=`"),
        None => Ok(format!("\"{argument}\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init(arguments: &[&str]) -> Result<Vec<String>, BootError> {
        let owned: Vec<String> = arguments.iter().map(|a| a.to_string()).collect();
        super::arguments(Bytes::mib(256), &[], &owned)
    }

    #[test]
    fn memory_comes_first_and_inits_arguments_last_as_one() {
        let line = init(&["agent", "--help", "mem=1"]).unwrap();
        assert_eq!(line[0], "mem=262144K");
        assert_eq!(line.last().unwrap(), "-- agent --help mem=1");
        assert!(!init(&[]).unwrap().iter().any(|a| a.starts_with("--")));
    }

    #[test]
    fn white_space_is_quoted_where_the_kernel_expects_it() {
        assert_eq!(quote("two words").unwrap(), "\"two words\"");
        assert_eq!(quote("--a=two words").unwrap(), "--a=\"two words\"");
        assert_eq!(quote("plain,with=commas").unwrap(), "plain,with=commas");
    }

    #[test]
    fn unsupported_argument_is_refused_by_name() {
        for bad in ["", "a\"b", "a\nb", "a b=c"] {
            let error = init(&["good", bad]).unwrap_err();
            assert!(matches!(&error, BootError::Argument { argument, .. } if argument == bad), "{error}");
        }
        assert!(init(&["x"; 32]).is_err());
        assert!(init(&["x"; 31]).is_ok());
        assert!(init(&[&"x".repeat(4000)]).unwrap_err().to_string().contains("4095"));
    }

    #[test]
    fn only_module_parameters_pass() {
        let line = |parameter: &str| super::arguments(Bytes::mib(256), &[parameter.to_owned()], &[]);
        assert!(line("tcp_cubic.bic_scale=41").unwrap().contains(&"tcp_cubic.bic_scale=41".to_owned()));
        for other in ["mem=1", "root=/dev/sda", "noreboot", "tcp_cubic.=1", "a.b=c d", "a.b="] {
            assert!(line(other).is_err(), "{other}");
        }
    }
}
