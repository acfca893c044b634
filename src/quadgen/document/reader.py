"""One YAML file -> a `Document`, or everything that is wrong with it."""

from yaml.error import MarkedYAMLError

from quadgen.document.anchors import Stop
from quadgen.document.build import Builder, Data
from quadgen.document.characters import decode
from quadgen.document.locate import Document
from quadgen.document.mistakes import explain, explain_tag
from quadgen.document.notes import Notes
from quadgen.problems import Collector, Problem, Rejected


def load(name: str, data: bytes) -> Document:
    """Read one YAML document from the bytes of a file that the user calls `name`.

    Data are mappings with text as keys, lists, text, `int`, `float` (as `Real`), `bool` and None; an empty
    file is None. What several aliases stand for is one object, so data must not be changed.

    Raises `Rejected` with every `yaml-syntax` and `duplicate-key` problem that was found, in the order of the
    file. Reading ends at the first one that libyaml cannot pass.
    """
    text = decode(name, data)
    collector = Collector()
    value: Data = None
    try:
        value = Builder(text, Notes(name, text, collector)).document()
    except MarkedYAMLError as error:
        collector.add(explain(error, name, text))
    except UnicodeDecodeError:
        collector.add(explain_tag(name, text))
    except Stop:
        pass
    if collector.refused:
        raise Rejected(sorted(collector.problems, key=_position))
    return Document(name=name, text=text, data=value)


def _position(problem: Problem) -> tuple[int, int]:
    return (problem.place.line, problem.place.column) if problem.place else (0, 0)
