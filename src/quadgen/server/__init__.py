"""Servers that run: what they are asked, and those that are started here."""
