"""Parts that leak, each as an author might write it by accident, and honest twins of some."""
