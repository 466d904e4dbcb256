//! The algorithms, a file and a row each.

mod bbr;
mod bbr3;
mod bic;
mod cdg;
mod compound;
mod cubic;
mod dctcp;
mod fast;
mod highspeed;
mod htcp;
mod hybla;
mod illinois;
mod lola;
mod lp;
mod nv;
mod prague;
mod reno;
mod scalable;
mod vegas;
mod veno;
mod westwood;
mod yeah;

use crate::registry::Algorithm;

/// Every algorithm the model has, in the order in which lists show them.
pub fn algorithms() -> &'static [Algorithm] {
    &[
        reno::ROW,
        cubic::ROW,
        bic::ROW,
        htcp::ROW,
        highspeed::ROW,
        scalable::ROW,
        vegas::ROW,
        veno::ROW,
        westwood::ROW,
        illinois::ROW,
        yeah::ROW,
        hybla::ROW,
        lp::ROW,
        dctcp::ROW,
        prague::ROW,
        cdg::ROW,
        nv::ROW,
        fast::ROW,
        compound::ROW,
        bbr::ROW,
        bbr::ROW_4_15,
        bbr3::ROW,
        lola::ROW,
        lola::ROW_NOLOSS,
    ]
}
