"""Tables and other inputs that the checks make. Nothing in them is private."""
