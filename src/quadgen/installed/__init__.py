"""What a host has and runs, against what was rendered for it: values in, problems out.

`quadgen.onhost` looks at the machine. Each problem has the file on the host as its place; an error is a difference, a
warning is something that nobody could look at, and a note is the distribution's own.
"""
