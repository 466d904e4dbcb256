//! What the scenario lets a user write and what the model's library takes are two tables; here they are held
//! together.

use wirespeed_congestion::algorithm;
use wirespeed_scenario::congestion_controls;

#[test]
fn every_control_of_the_kernel_has_its_model_with_the_same_parameters() {
    for control in congestion_controls() {
        let model = algorithm(control.name).unwrap_or_else(|| panic!("the library lacks {}", control.name));
        for parameter in control.parameters {
            let row = model.parameters.iter().find(|p| p.name == parameter.name);
            let row = row.unwrap_or_else(|| panic!("{} lacks {}", control.name, parameter.name));
            assert_eq!(
                (row.default, row.min, row.max),
                (parameter.default, parameter.min, parameter.max),
                "{} {}",
                control.name,
                parameter.name
            );
        }
    }
}
