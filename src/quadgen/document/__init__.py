"""bytes -> data with places; the only user of PyYAML.

YAML here is the 1.2 core schema in one UTF-8 document, with merge keys and without numbers that begin with a
zero. Keys are text, and a number remembers how it was written.
"""

from quadgen.document.growing import Form, grown
from quadgen.document.locate import Document
from quadgen.document.reader import load
from quadgen.document.scalars import Real, Whole, text_of

__all__ = ["Document", "Form", "Real", "Whole", "grown", "load", "text_of"]
