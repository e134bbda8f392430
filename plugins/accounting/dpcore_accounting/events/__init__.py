"""Events of mechanisms that a package has and the core does not."""
