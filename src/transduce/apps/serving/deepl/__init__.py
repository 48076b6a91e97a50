"""DeepL's API, by its public documentation, so that its clients work unchanged."""
