//! What lists and explanations say is what the registry and the documentation have.

mod support;

use std::path::Path;
use support::{errors, wirespeed};
use wirespeed_scenario::{congestion_control, congestion_controls};

fn said(arguments: &[&str]) -> String {
    let output = wirespeed(Path::new("."), arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_control_is_listed_with_where_it_is_and_its_reference() {
    let list = said(&["list", "cc"]);
    assert_eq!(list.lines().count(), congestion_controls().len());
    for control in congestion_controls() {
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(control.name));
        let line = line.unwrap_or_else(|| panic!("{} is not listed", control.name));
        assert!(line.contains(control.about) && line.contains(control.reference), "{line}");
        assert_eq!(line.contains("model, kernel"), control.linux.is_some(), "{line}");
        let bpf = line.contains("model, kernel, bpf ") || line.contains("model, bpf ");
        assert_eq!(bpf, wirespeed_bpf::control(control.name).is_some(), "{line}");
    }
}

#[test]
fn every_control_is_explained_with_its_parameters_and_its_page() {
    for control in congestion_controls() {
        let text = said(&["explain", control.name]);
        for parameter in control.parameters {
            assert!(text.contains(parameter.name) && text.contains(parameter.about), "{text}");
        }
        let page = format!("docs/models/congestion/{}.md", control.name);
        assert!(text.contains(&page) && text.contains(control.reference), "{text}");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        assert!(root.join(&page).is_file(), "{page} is not there");
    }
}

#[test]
fn an_explanation_tells_what_can_be_set_where() {
    let cubic = said(&["explain", "cubic"]);
    for words in [
        "kernel      yes, as cubic: module tcp_cubic",
        "default 717, 1 to 1023; model and kernel\n",
        "default 41, 1 to 1024; model and kernel (there at boot: one value in a run)",
        "congestion = { name = \"cubic\", fast_convergence = 1 }",
    ] {
        assert!(cubic.contains(words), "`{words}` is missing in:\n{cubic}");
    }
    assert!(said(&["explain", "bic"]).contains("model and kernel, also called smax"));
    let model_only = congestion_controls().iter().find(|control| control.linux.is_none()).unwrap();
    assert!(said(&["explain", model_only.name]).contains("kernel      no: Linux does not have it"));
    assert!(
        said(&["explain", "lola"])
            .contains("bpf         yes: `wirespeed cc load lola`; default parameters\n")
    );
    for needy in wirespeed_bpf::controls().iter().filter(|control| !control.needs.is_empty()) {
        assert!(said(&["explain", needy.name]).contains(needy.needs));
    }
    assert!(said(&["explain", "cubic"]).contains("bpf         no"));
    let reno = congestion_control("reno").unwrap();
    assert_eq!(said(&["explain", reno.name]).contains("It has no parameters."), reno.parameters.is_empty());
}

#[test]
fn every_table_is_listed_and_explained_with_its_columns() {
    let list = said(&["list", "tables"]);
    let tables = wirespeed_record::tables();
    assert_eq!(list.lines().count(), tables.len());
    for (table, _, columns) in tables {
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(table));
        let line = line.unwrap_or_else(|| panic!("{table} is not listed"));
        assert!(line.contains(&format!(" {} columns ", columns.len())), "{line}");
        let text = said(&["explain", table]);
        for column in columns {
            assert!(text.contains(&format!("  {} ", column.name)), "{table}: {}", column.name);
        }
    }
}
