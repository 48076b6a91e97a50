"""Models served over HTTP: LibreTranslate's API, one of our own, and a page for people."""
