"""One answer at many levels of Laplace noise, as one mechanism."""
