//! The configuration fragment, and the check that the kernel's configuration kept all of it.

/// The options of the fragment that `config` does not have with the fragment's value, as the fragment has them.
pub fn dropped(fragment: &str, config: &str) -> Vec<String> {
    let set: std::collections::HashSet<&str> = config.lines().map(str::trim).collect();
    options(fragment).filter(|o| !set.contains(o)).map(str::to_owned).collect()
}

fn options(fragment: &str) -> impl Iterator<Item = &str> {
    fragment.lines().map(str::trim).filter(|l| l.starts_with("CONFIG_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAGMENT: &str = "# remark\nCONFIG_NET=y\n\nCONFIG_HZ=1000\nCONFIG_TCP_CONG_BBR=y\n";

    #[test]
    fn a_configuration_with_all_of_it_passes() {
        let config =
            "CONFIG_X=y\nCONFIG_NET=y\nCONFIG_HZ=1000\n# CONFIG_Y is not set\nCONFIG_TCP_CONG_BBR=y\n";
        assert!(dropped(FRAGMENT, config).is_empty());
    }

    #[test]
    fn absent_unset_and_changed_options_are_named() {
        let config = "# CONFIG_NET is not set\nCONFIG_HZ=100\n";
        assert_eq!(dropped(FRAGMENT, config), ["CONFIG_NET=y", "CONFIG_HZ=1000", "CONFIG_TCP_CONG_BBR=y"]);
    }

    #[test]
    fn a_longer_name_does_not_stand_for_a_shorter() {
        assert_eq!(dropped("CONFIG_NET=y", "CONFIG_NET=yes\nCONFIG_NET_X=y"), ["CONFIG_NET=y"]);
    }

    #[test]
    fn ours_names_no_option_twice() {
        let mut names: Vec<_> = options(crate::assets::FRAGMENT).map(|o| o.split('=').next()).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(all > 50);
    }
}
