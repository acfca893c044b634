"""A plan of measurements as a script for a POSIX shell, which runs on the hosts themselves."""

import shlex
from collections.abc import Iterator, Sequence

from quadgen.measuring.plan import Plan, Run

_HEAD = """\
#!/bin/sh
# What a fleet needs measured, by `quadgen measure --plan`:
#
#     sh SCRIPT {host} [DIRECTORY]
#
# HOST is a name in the fleet. Nothing checks that this machine is that host, since it may call itself otherwise.
# DIRECTORY is where the fleet file is found by its name below; without it, where the script is started.
# A run that fails keeps no other from being tried; the script then ends with 1.
set -eu

fleet={fleet}
failed=0

run() {{
    printf 'quadgen: measuring on %s\\n' "$host: $*" >&2
    status=0
    "$@" </dev/null || status=$?
    case $status in
    129 | 130 | 143) exit "$status" ;; # stopped by SIGHUP, SIGINT or SIGTERM
    esac
    if [ "$status" -ne 0 ]; then
        failed=$((failed + 1))
    fi
}}

{choose}
cd -- "${{2:-.}}"
if [ ! -f "$fleet" ]; then
    printf 'quadgen: there is no %s here: say the directory after the host\\n' "$fleet" >&2
    exit 4
fi

case $host in
"""
_FOOT = """\
*)
    printf 'quadgen: there is no host %s in this plan\\n' "$host" >&2
    exit 2
    ;;
esac

if [ "$failed" -ne 0 ]; then
    printf 'quadgen: runs that failed: %s\\n' "$failed" >&2
    exit 1
fi
"""
_CHOOSE = """\
if [ "$#" -lt 1 ]; then
    printf 'usage: sh %s HOST [DIRECTORY]\\n' "$0" >&2
    exit 2
fi
host=$1"""
"""Where the plan is of several hosts; that of one needs no argument."""


def as_shell(plan: Plan) -> str:
    """The script: for each host its runs, one after the other. What it prints goes to standard error."""
    alone = len(plan.every) == 1
    head = _HEAD.format(
        fleet=shlex.quote(plan.fleet), host="[HOST]" if alone else "HOST",
        choose=f"host=${{1:-{plan.every[0]}}}" if alone else _CHOOSE,
    )  # fmt: skip
    return head + "".join(_host(host, runs) for host, runs in plan.hosts.items()) + _others(plan) + _FOOT


def _host(host: str, runs: Sequence[Run]) -> str:
    return "".join(f"{line}\n" for line in (f"{_pattern(host)})", *_lines(runs), "    ;;"))


def _pattern(host: str) -> str:
    """A host before its `)`: always in quotes, since `esac` is a word of the shell there."""
    quoted = shlex.quote(host)
    return quoted if quoted != host else f"'{host}'"


def _others(plan: Plan) -> str:
    """The hosts that have nothing to do, which is no failure."""
    names = [_pattern(host) for host in plan.every if host not in plan.hosts]
    if not names:
        return ""
    said = """    printf 'quadgen: nothing is to be measured on %s\\n' "$host" >&2"""
    return f"{' | '.join(names)})\n{said}\n    ;;\n"


def _lines(runs: Sequence[Run]) -> Iterator[str]:
    """The commands of a host, after what they all need, so that a missing file is said before hours have passed."""
    for name in dict.fromkeys(name for run in runs for name in run.files):
        yield f'    : "${{{_variable(name)}:?name a file with texts of the workload {name}}}"'
    for run in runs:
        yield f"    run {' '.join(_words(run))}"


def _words(run: Run) -> Iterator[str]:
    """The command, with a variable for each FILE and for the fleet file."""
    files = {f"{name}=FILE": f'{name}="${_variable(name)}"' for name in run.files}
    before = ""
    for word in run.words:
        if before == "--workload" and word in files:
            yield files[word]
        else:
            yield '"$fleet"' if before == "--fleet" else shlex.quote(word)
        before = word


def _variable(workload: str) -> str:
    """The variable that names the texts of a workload: WORKLOAD_MY_OWN. Names of workloads are lower case."""
    return f"WORKLOAD_{workload.upper().replace('-', '_')}"
