"""The only file effects: read what the user names, compare a rendered tree with the disk, write it.

`plan` decides what to do; here it is done, so that a process killed at any moment leaves each file old or
new, and the next run finishes the work. Nothing is synced: git is the durable copy.
"""

from quadgen.disk.reading import errors_text, matching, read_file, template_root, templates
from quadgen.disk.single import write_file
from quadgen.disk.surveying import survey
from quadgen.disk.writing import apply

__all__ = ["apply", "errors_text", "matching", "read_file", "survey", "template_root", "templates", "write_file"]
