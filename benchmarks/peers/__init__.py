"""Transduce and other toolkits side by side: their environments, what runs in them, and what is told of it."""
