use super::stack::Stack;
pub(super) fn push_library(stack: &mut Stack<'_>) {
    stack.push_table(0, 0);
}
