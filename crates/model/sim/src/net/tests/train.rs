//! Cutting trains and putting them together again.

use super::reference::data;
use crate::net::{Ack, Body, Ecn, Train};
use proptest::prelude::*;
use wirespeed_units::{SimTime, Span};

fn acks(packets: u32) -> Train {
    let ack = Ack {
        next: 100,
        stride: 2,
        window: 1,
        stamp: 2,
        echo: 3,
        ece: false,
        asks: false,
        marks: None,
        sack: None,
    };
    let (at, gap) = (SimTime::ps(7), Span::ps(1000));
    Train { at, gap, packets, frame: 66, flow: 3, ecn: Ecn::NotCapable, body: Body::Ack(ack) }
}

proptest! {
    #[test]
    fn parts_continue_each_other_and_make_the_whole(n in 2..100_u32, cut in 0.0..1.0_f64, of_acks: bool) {
        let whole = if of_acks {
            acks(n)
        } else {
            let mut train = data(1, 50, n, 1514, 7, 1000);
            if let Body::Data(data) = &mut train.body {
                (data.last, data.cwr) = (true, true);
            }
            train
        };
        let cut = 1 + (f64::from(n - 1) * cut) as u32;
        let (front, back) = (whole.part(0, cut), whole.part(cut, n - cut));
        prop_assert!(front.is_continued_by(&back));
        prop_assert!(!back.is_continued_by(&front));
        prop_assert_eq!(front.last_at() + whole.gap, back.at);
        prop_assert_eq!(front.bytes() + back.bytes(), whole.bytes());
        if let (Body::Data(front), Body::Data(back)) = (&front.body, &back.body) {
            prop_assert!(front.cwr && !front.last && back.last && !back.cwr);
        }
        let (mut rest, mut joined) = (whole.clone(), front.clone());
        prop_assert_eq!(&rest.split(cut), &front);
        prop_assert_eq!(&rest, &back);
        joined.append(&back);
        prop_assert_eq!(&joined, &whole);
        let (mut left, mut packet) = (whole.clone(), whole.part(0, 1));
        prop_assert_eq!(&left.split(1), &packet);
        for index in 1..n - 1 {
            left.split_into(&mut packet);
            prop_assert_eq!(&packet, &whole.part(index, 1));
        }
        prop_assert_eq!(left, whole.part(n - 1, 1));
    }
}
