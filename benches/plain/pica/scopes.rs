//! Where procedures, branches and loops end.

/// The open procedures, branches and loops.
#[derive(Default)]
pub struct Scopes {
    pub calls: Ring<CallScope, 4>,
    pub ifs: Ring<IfScope, 8>,
    pub loops: Ring<LoopScope, 4>,
}

#[derive(Clone, Copy, Default)]
pub struct CallScope {
    pub end: usize,
    pub back: usize,
}

#[derive(Clone, Copy, Default)]
pub struct IfScope {
    pub otherwise: usize,
    pub end: usize,
}

#[derive(Clone, Copy, Default)]
pub struct LoopScope {
    pub start: usize,
    pub end: usize,
    /// Iterations left.
    pub count: u8,
    pub step: i32,
    /// aL before the loop.
    pub outer: i32,
}

impl Scopes {
    /// What comes after a word: `following` is the word behind it, `next` where its instruction goes by itself. A loop
    /// that ends here overrules a branch, and a branch a procedure.
    pub fn close(&mut self, following: usize, mut next: usize, breaks: bool, loop_register: &mut i32) -> usize {
        let mut behind = following;
        for pops in 0..4 {
            let Some(call) = self.calls.top().filter(|call| call.end == behind).copied() else { break };
            self.calls.pop();
            if pops < 3 {
                behind = call.back;
                next = behind;
            }
        }
        if let Some(branch) = self.ifs.top().filter(|branch| branch.otherwise == following).copied() {
            self.ifs.pop();
            next = branch.end;
        }
        let is_nested = self.loops.len > 1;
        if let Some(scope) = self.loops.top().filter(|scope| breaks || scope.end == following) {
            *loop_register += scope.step;
            if !breaks && scope.count > 0 {
                scope.count -= 1;
                next = scope.start;
            } else {
                next = scope.end;
                if is_nested {
                    *loop_register = scope.outer;
                }
                self.loops.pop();
            }
        }
        next
    }
}

/// A stack that forgets its oldest entry when it is full.
pub struct Ring<T, const N: usize> {
    entries: [T; N],
    len: usize,
}

impl<T: Copy + Default, const N: usize> Default for Ring<T, N> {
    fn default() -> Ring<T, N> {
        Ring { entries: [T::default(); N], len: 0 }
    }
}

impl<T, const N: usize> Ring<T, N> {
    pub fn push(&mut self, entry: T) {
        if self.len == N {
            self.entries.rotate_left(1);
            self.len -= 1;
        }
        self.entries[self.len] = entry;
        self.len += 1;
    }

    fn top(&mut self) -> Option<&mut T> {
        self.entries[..self.len].last_mut()
    }

    fn pop(&mut self) {
        self.len -= 1;
    }
}
