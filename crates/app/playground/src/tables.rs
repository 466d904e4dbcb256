//! Everything that the model recorded, as text.

use crate::answer::study;
use std::fmt::Write;
use wirespeed_scenario::run::Run;
use wirespeed_sim::simulate;
use wirespeed_units::Span;

/// Every field of the outcome of every run of a scenario, run by run, or the reason that there is none. Runs that are longer than
/// `longest` end then.
pub fn tables(text: &str, longest: Span) -> String {
    let study = match study(text) {
        Ok(study) => study,
        Err(message) => return message,
    };
    let mut all = String::new();
    for mut run in study.runs {
        shorten(&mut run, longest);
        let outcome = simulate(&run, &mut |_| true);
        writeln!(all, "{} {outcome:?}", run.id).expect("a string takes any text");
    }
    all
}

fn shorten(run: &mut Run, longest: Span) {
    if run.duration <= longest {
        return;
    }
    run.duration = longest;
    run.omit = Span::ZERO;
    run.sample = run.sample.min(longest);
    // Flows that begin later begin with the others.
    for flow in run.flows.iter_mut().filter(|flow| flow.start >= longest) {
        flow.start = Span::ZERO;
    }
    for flow in &mut run.flows {
        flow.stop = flow.stop.min(longest);
    }
}
