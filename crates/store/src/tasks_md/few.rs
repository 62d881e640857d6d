//! A list that is nearly always short: its first element needs no memory of its own.
//!
//! A long file has many such lists at once, and what they leave behind in memory when they go is
//! too small for anything else.

/// Elements in the order in which they were added.
#[derive(Debug)]
pub(super) struct Few<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Few<T> {
    pub(super) fn push(&mut self, element: T) {
        match self.first {
            None => self.first = Some(element),
            Some(_) => self.rest.push(element),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }

    /// The element if there is exactly one.
    pub(super) fn only(&self) -> Option<&T> {
        self.first.as_ref().filter(|_| self.rest.is_empty())
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, rest: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_back_in_their_order() {
        let mut few = Few::default();
        assert_eq!((few.iter().count(), few.only()), (0, None));
        few.push(1);
        assert_eq!((few.iter().copied().collect(), few.only()), (vec![1], Some(&1)));
        few.push(2);
        few.push(3);
        assert_eq!((few.iter().copied().collect(), few.only()), (vec![1, 2, 3], None));
    }
}
