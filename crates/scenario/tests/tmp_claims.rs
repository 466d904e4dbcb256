#[test]
fn plan() {
    let text = std::fs::read_to_string("/tmp/hostlang_plan.json").unwrap();
    let all: Vec<(String, String, Vec<(String, String)>)> = serde_json::from_str(&text).unwrap();
    for (id, file, sets) in all {
        match wirespeed_scenario::load(file.as_ref(), &sets, None) {
            Ok(study) => println!("OK {id} {} runs {:?}", study.runs.len(), study.warnings),
            Err(e) => println!("BAD {id} {e:#}"),
        }
    }
}
