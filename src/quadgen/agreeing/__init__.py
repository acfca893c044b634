"""How often two models go on alike, counted as a speculating server would count it.

Nothing here asks anybody: what a server says comes in by a callable or as text.
"""
