"""A real server with a real drafter whose acceptance is forced, beside what the formula says of it.

    projection = project(Ask(server=…, base=…, spec_type="draft-simple", …), environ=os.environ, notify=print)

It starts one server for each setting and sample, asks it, and leaves none behind. What it finds are the step times
and the cost of verifying that the formula takes, and by how much the formula then misses what was measured.
"""

from quadgen.projecting.asking import NGRAM, PROMPT, Ask, Clock, forbidden, parted
from quadgen.projecting.fitting import Point, Projection
from quadgen.projecting.work import able, project

__all__ = ["NGRAM", "PROMPT", "Ask", "Clock", "Point", "Projection", "able", "forbidden", "parted", "project"]
