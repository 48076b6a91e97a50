"""Phrase-based translation (Koehn, Och and Marcu 2003): learned in seconds from few pairs, without a neural network."""
