"""Models served over HTTP: the APIs of LibreTranslate and DeepL, one of our own, and a page for people."""
