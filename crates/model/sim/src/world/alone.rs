//! Which flows have their whole path for themselves: what they meet there is only their own packets, which longer trains
//! do not reorder.

use super::{Way, World};

impl World {
    /// A flow begins, and from now on shares its pipes with those that began before. A flow that has not begun counts for
    /// nothing: what comes later changes nothing before.
    pub(super) fn enter_path(&mut self, index: usize) {
        let mut shared = false;
        for place in 0..2 {
            for position in 0..self.flows[index].path.routes[place].len() {
                let pipe = self.flows[index].path.routes[place][position];
                let users = &mut self.pipes[pipe as usize].users;
                *users += 1;
                shared |= *users > 1;
                if *users == 2 {
                    self.shorten_trains_through(pipe);
                }
            }
        }
        let (flow, pipes) = (&self.flows[index], &mut self.pipes);
        // A host that shows its inside looks at each train.
        let has_inside = [Way::Forward, Way::Back].iter().any(|way| self.hosts[flow.origin(*way)].is_some());
        for pipe in flow.path.routes.iter().flatten() {
            let pipe = &mut pipes[*pipe as usize];
            // A host's own queue tells the socket what it holds, train by train, unless it has told that before.
            pipe.set_alone(!shared && !has_inside && (!pipe.is_host || pipe.tells_departures));
        }
    }

    /// All that use a pipe are alone no longer, anywhere.
    fn shorten_trains_through(&mut self, shared: u32) {
        for flow in &self.flows {
            if flow.started.is_some() && flow.path.routes.iter().flatten().any(|pipe| *pipe == shared) {
                for pipe in flow.path.routes.iter().flatten() {
                    self.pipes[*pipe as usize].set_alone(false);
                }
            }
        }
    }
}
