"""Projects: what translators confirm, with its memory, its terms, and what a model learns from it."""
