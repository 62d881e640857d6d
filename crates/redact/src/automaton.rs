//! All spellings as one automaton (Aho and Corasick): how much of any of them ends at a byte.
//!
//! Each byte costs a constant number of steps on average, whatever the text and however alike the
//! spellings are. Unlike the automatons of libraries it tells how long the unfinished beginning is,
//! which is what a stream has to hold back.

use crate::spelling::Spelling;
use std::collections::VecDeque;
use zeroize::Zeroizing;

/// A state is the beginning of a spelling; the first is the empty one.
pub(crate) type State = u32;

pub(crate) const ROOT: State = 0;

#[derive(Default)]
pub(crate) struct Automaton {
    /// Where the steps from a state are in the two that follow; one more than there are states.
    steps: Vec<u32>,
    bytes: Zeroizing<Vec<u8>>,
    targets: Vec<State>,
    /// The steps from the first state.
    from_root: Vec<State>,
    /// The longest end of a state that is a state itself.
    borders: Vec<State>,
    depths: Vec<u16>,
    /// How long the longest spelling is that ends in a state; 0: none does.
    matched: Vec<u16>,
    /// Whether that is a piece.
    is_piece: Vec<bool>,
    /// How long the longest end of a state is that may go on.
    unfinished: Vec<u16>,
}

/// A state while the automaton is built.
#[derive(Default)]
struct Growing {
    steps: Vec<(u8, State)>,
    matched: u16,
    is_piece: bool,
}

impl Automaton {
    pub(crate) fn of<'a>(spellings: impl IntoIterator<Item = &'a Spelling>) -> Self {
        let mut states = vec![Growing::default()];
        let mut depths = vec![0];
        for spelling in spellings {
            let mut state = ROOT;
            for byte in spelling.bytes.iter() {
                let next = states[state as usize].next(*byte);
                state = next.unwrap_or_else(|| {
                    let made = State::try_from(states.len()).expect("values are bounded");
                    depths.push(depths[state as usize] + 1);
                    states[state as usize].steps.push((*byte, made));
                    states.push(Growing::default());
                    made
                });
            }
            let end = &mut states[state as usize];
            // What is whole as one spelling may be a piece of another.
            end.is_piece = spelling.is_piece && (end.matched == 0 || end.is_piece);
            end.matched = depths[state as usize];
        }
        let mut built = Self { depths, ..Self::default() };
        built.lay_out(&mut states);
        built.link(&states);
        built
    }

    fn lay_out(&mut self, states: &mut [Growing]) {
        self.from_root = vec![ROOT; 256];
        for state in states.iter_mut() {
            state.steps.sort_unstable();
            self.steps.push(u32::try_from(self.targets.len()).expect("values are bounded"));
            for (byte, target) in &state.steps {
                self.bytes.push(*byte);
                self.targets.push(*target);
            }
        }
        self.steps.push(u32::try_from(self.targets.len()).expect("values are bounded"));
        for (byte, target) in &states[ROOT as usize].steps {
            self.from_root[usize::from(*byte)] = *target;
        }
    }

    /// Finds the borders, shorter states first.
    fn link(&mut self, states: &[Growing]) {
        self.borders = vec![ROOT; states.len()];
        self.matched = states.iter().map(|state| state.matched).collect();
        self.is_piece = states.iter().map(|state| state.is_piece).collect();
        self.unfinished = vec![0; states.len()];
        let mut waiting: VecDeque<State> = VecDeque::from([ROOT]);
        while let Some(state) = waiting.pop_front() {
            let border = self.borders[state as usize];
            let at = state as usize;
            if self.matched[at] == 0 {
                self.matched[at] = self.matched[border as usize];
                self.is_piece[at] = self.is_piece[border as usize];
            }
            self.unfinished[at] = match states[at].steps.is_empty() {
                true => self.unfinished[border as usize],
                false => self.depths[at],
            };
            for (byte, target) in &states[at].steps {
                if state != ROOT {
                    self.borders[*target as usize] = self.next(border, *byte);
                }
                waiting.push_back(*target);
            }
        }
    }

    /// The longest state that the text ends with after one more byte.
    pub(crate) fn next(&self, mut state: State, byte: u8) -> State {
        while state != ROOT {
            let at = state as usize;
            let steps = self.steps[at] as usize..self.steps[at + 1] as usize;
            // Nearly all states have one step.
            if let Some(found) = self.bytes[steps.clone()].iter().position(|it| *it == byte) {
                return self.targets[steps.start + found];
            }
            state = self.borders[at];
        }
        self.from_root[usize::from(byte)]
    }

    pub(crate) fn depth(&self, state: State) -> usize {
        self.depths[state as usize].into()
    }

    /// How long the longest spelling is that ends here, and whether it is a piece.
    pub(crate) fn matched(&self, state: State) -> Option<(usize, bool)> {
        let length = self.matched[state as usize];
        (length > 0).then(|| (length.into(), self.is_piece[state as usize]))
    }

    /// How long the longest beginning is that ends here and may go on.
    pub(crate) fn unfinished(&self, state: State) -> usize {
        self.unfinished[state as usize].into()
    }
}

impl Growing {
    fn next(&self, byte: u8) -> Option<State> {
        self.steps.iter().find(|(known, _)| *known == byte).map(|(_, target)| *target)
    }
}
