//! Names of swept factors, as other keys and options write them: the whole key, or its last part if no other factor has it.

use crate::error::Complaint;
use crate::suggest;
use crate::tree::Place;

/// The full name of the factor that is called `name`.
pub(crate) fn factor_called(
    name: &str,
    factors: &[&str],
    key: &str,
    at: &Place,
) -> Result<String, Complaint> {
    if let Some(same) = factors.iter().find(|factor| **factor == name) {
        return Ok((*same).to_owned());
    }
    let lasts: Vec<&str> = factors.iter().map(|factor| factor.rsplit('.').next().unwrap_or(factor)).collect();
    let both = factors.iter().zip(&lasts);
    let ending: Vec<&str> = both.filter(|(_, last)| **last == name).map(|(factor, _)| *factor).collect();
    match ending.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(Complaint::at(at, format!("{key}: `{name}` is not swept"))
            .label("not a factor of these runs")
            .help(suggest::choices_with_aliases(name, "factors", factors, &lasts))),
        several => Err(Complaint::at(at, format!("{key}: {} factors are called `{name}`", several.len()))
            .label("not clear which")
            .help(format!("write the whole name: {}", several.join(", ")))),
    }
}
