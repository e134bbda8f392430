"""The curves of a model, and the sentence that says why a number has one."""
