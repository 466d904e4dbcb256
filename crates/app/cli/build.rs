//! Notes the commit the program is built from, and embeds the scenarios and the page of validation.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    let git = |arguments: &[&str]| {
        // Without the option `status` rewrites the index, and this script would run again at every build.
        let output = Command::new("git").arg("--no-optional-locks").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    println!("cargo::rustc-env=WIRESPEED_GIT={commit}{}", if changed { "-dirty" } else { "" });
    println!("cargo::rerun-if-changed=../../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../../.git/index");
    // A change that nobody has shown to git yet: what is built of it is not the commit.
    println!("cargo::rerun-if-changed=..");
    embed_scenarios();
    embed_studies();
    embed_validation();
    strip_program();
}

/// Links the release program without what only debuggers read, three quarters of its size: it is what people install and what
/// is copied to machines. Tests keep theirs. With `WIRESPEED_SYMBOLS=1` the program does too; nothing but this crate is
/// compiled again for that, as it would be for another profile.
fn strip_program() {
    println!("cargo::rerun-if-env-changed=WIRESPEED_SYMBOLS");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // The linkers of Linux know the option.
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && !is("WIRESPEED_SYMBOLS", "1") {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}

/// `STUDIES`: name, and name and text of every file of each folder in studies/.
fn embed_studies() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../../studies");
    println!("cargo::rerun-if-changed={}", folder.display());
    let listed = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("the repository has studies/");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("studies/ can be listed").path()).collect();
        paths.sort();
        paths
    };
    let mut rows = String::new();
    for study in listed(&folder).iter().filter(|path| path.join("study.toml").is_file()) {
        println!("cargo::rerun-if-changed={}", study.display());
        rows.push_str(&format!("    ({:?}, &[\n", study.file_name().expect("listed").to_string_lossy()));
        for path in listed(study).iter().filter(|path| path.extension().is_some_and(|e| e == "toml")) {
            let name = path.file_name().expect("a listed file has a name").to_string_lossy();
            let path = path.canonicalize().expect("a listed file is there");
            rows.push_str(&format!("        ({name:?}, include_str!({path:?})),\n"));
        }
        rows.push_str("    ]),\n");
    }
    let text = format!(
        "type Files = &'static [(&'static str, &'static str)];\n\
         /// Studies that come with wirespeed: name, and file names and texts.\n\
         const STUDIES: &[(&str, Files)] = &[\n{rows}];\n"
    );
    write_new(&Path::new(&env::var("OUT_DIR").expect("set by cargo")).join("studies.rs"), &text);
}

/// `VALIDATION`: the page that `wirespeed validate` wrote, for `wirespeed explain`; empty as long as there is none.
fn embed_validation() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../..");
    let page = root.join("docs/validation/README.md");
    let value = match page.canonicalize() {
        Ok(path) => {
            println!("cargo::rerun-if-changed={}", path.display());
            format!("include_str!({path:?})")
        }
        // Its coming is noticed at the next change of the index; to watch the folder would be to build at each new
        // line of the data in it.
        Err(_) => "\"\"".into(),
    };
    let text = format!("/// The page of validation, or nothing.\nconst VALIDATION: &str = {value};\n");
    write_new(&Path::new(&env::var("OUT_DIR").expect("set by cargo")).join("validation.rs"), &text);
}

/// Leaves a file that is as it should be alone, so that nothing is compiled for its date.
fn write_new(path: &Path, text: &str) {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text).expect("the output folder can be written");
    }
}

/// `SCENARIOS`: name and text of every file in scenarios/, so that `wirespeed list scenarios` works from anywhere.
fn embed_scenarios() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../../scenarios");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the repository has scenarios/")
        .map(|entry| entry.expect("scenarios/ can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let rows: String = files
        .iter()
        .map(|path| {
            let name = path.file_name().expect("a listed file has a name").to_string_lossy();
            let path = path.canonicalize().expect("a listed file is there");
            format!("    ({name:?}, include_str!({path:?})),\n")
        })
        .collect();
    let text = format!(
        "/// Scenarios that come with wirespeed: file name and text.\nconst SCENARIOS: &[(&str, &str)] = &[\n{rows}];\n"
    );
    let out = Path::new(&env::var("OUT_DIR").expect("set by cargo")).join("scenarios.rs");
    write_new(&out, &text);
}
