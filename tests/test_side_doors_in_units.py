"""The keys of units and what starts the server: none of them reaches speculation or undoes what was decided."""

import json

import pytest

from doors import DOOR, UNSAFE, codes
from fleets import CPU, one, unit, values

KEYS = [
    ("Container", 'Exec: "--spec-type ngram-mod"', "unexpected-value"),
    ("Container", 'Environment: "LLAMA_ARG_SPEC_TYPE=ngram-mod"', "unexpected-value"),
    ("Container", 'EnvironmentFile: "/etc/llama.env"', "unexpected-value"),
    ("Container", "EnvironmentHost: true", "unexpected-value"),
    ("Container", "Entrypoint: /bin/sh", "unexpected-value"),
    ("Container", "Rootfs: /srv/x", "unexpected-value"),
    ("Container", 'Mount: "type=bind,src=/x,dst=/etc/llama.cpp"', "unexpected-value"),
    ("Container", "Tmpfs: /app", "unexpected-value"),
    ("Container", 'Volume: "/x:/etc/llama.cpp"', "unexpected-value"),
    ("Container", 'Secret: "s,type=env,target=LLAMA_ARG_SPEC_TYPE"', "unexpected-value"),
    ("Container", "ContainersConfModule: /x", "unexpected-value"),
    ("Container", "Pod: x.pod", "unexpected-value"),
    ("Container", "Image: null", "unexpected-value"),
    ("Container", "Exec: null", "unexpected-value"),
    ("Container", "Mask: null", "unexpected-value"),
    ("Container", "AddDevice: null", "unexpected-value"),
    ("Container", "Unmask: ALL", DOOR),
    ("Container", "Unmask: all", DOOR),
    ("Container", "Unmask: /etc/llama.cpp", DOOR),
    ("Container", "Unmask: '/proc/x:/etc'", DOOR),
    ("Container", "Unmask: '/e*'", DOOR),
    ("Container", "exec: x", "unsupported-key"),
    ("Container", '"A=1\\nExec": x', "unsupported-key"),
    ("Container", 'Annotation: "a=--spec-type"', DOOR),
    ("Service", "ExecStart: /bin/x", "unexpected-value"),
    ("Service", 'Environment: "LLAMA_ARG_SPEC_TYPE=x"', "unexpected-value"),
    ("Service", "EnvironmentFile: /x", "unexpected-value"),
    ("Service", "PassEnvironment: LLAMA_ARG_SPEC_TYPE", "unexpected-value"),
    ("Service", "PAMName: login", "unexpected-value"),
    ("Service", "BindPaths: '/srv/x:/etc/containers'", UNSAFE),
    ("Service", '"X-A=1\\nExecStart": /bin/x', "unsupported-key"),
    ("Service", '"X-A=1\\n[Container]\\nExec": x', "unsupported-key"),
    ("Service", '"X-ExecStart=/bin/sh": x', "unsupported-key"),
    ("Service", 'ExecStartPre: "/bin/podman run x --spec-type ngram-mod"', DOOR),
    ("Service", "ExecCondition: \"/bin/sh -c 'LLAMA_ARG_SPEC_TYPE=x true'\"", DOOR),
    ("Unit", '"X-A=1\\n[Container]\\nExec": x', "unsupported-key"),
    ('"Container]\\n[Service"', "A: b", "unsupported-key"),
]


@pytest.mark.parametrize(("section", "line", "code"), KEYS)
def test_keys_of_a_container_s_unit_do_not_undo_what_was_decided(section: str, line: str, code: str) -> None:
    assert codes(one(f"{CPU}, unit: {{{section}: {{{line}}}}}}}")) == {code}


NATIVE = [
    ("ExecStart: /bin/x", "unexpected-value"),
    ("Environment: 'LLAMA_ARG_SPEC_TYPE=x'", "unexpected-value"),
    ("RootDirectory: /srv/x", "unexpected-value"),
    ("RootImage: /srv/x.raw", "unexpected-value"),
    ("MountImages: '/srv/x.raw:/etc/llama.cpp'", "unexpected-value"),
    ("ExtensionImages: /srv/x.raw", "unexpected-value"),
    ("ExtensionDirectories: /srv/x", "unexpected-value"),
    ("SetCredential: 'llama-key:hunter2'", "unexpected-value"),
    ("InaccessiblePaths: null", "unexpected-value"),
    ("BindPaths: '/srv/x:/etc/llama.cpp'", DOOR),
    ("BindReadOnlyPaths: '/srv/x:/etc:rbind'", DOOR),
    ("BindReadOnlyPaths: '-/srv/x:/nonexistent'", DOOR),
    ("BindReadOnlyPaths: '/srv/x:/nonexistent/llama.cpp /srv/y'", DOOR),
    ("BindReadOnlyPaths: ['/srv/y', '/srv/x:/etc/llama.cpp/config.ini']", DOOR),
    ("BindReadOnlyPaths: '\"/srv/x:/etc/llama.cpp\"'", UNSAFE),
    ("BindReadOnlyPaths: '/srv/x:\"/etc/llama.cpp\"'", UNSAFE),
    ("BindReadOnlyPaths: '/srv/x\\:y:/etc/llama.cpp'", UNSAFE),
    ("BindReadOnlyPaths: '/srv/wrapper:/opt/llama.cpp/llama-server'", UNSAFE),
    ("BindReadOnlyPaths: '/srv/x:/opt'", UNSAFE),
    ("BindReadOnlyPaths: '/srv/x:/opt//llama.cpp/'", UNSAFE),
    ('ExecStartPost: "/opt/llama-server --spec-default"', DOOR),
]


@pytest.mark.parametrize(("line", "code"), NATIVE)
def test_keys_of_a_native_unit_do_not_undo_what_was_decided(line: str, code: str) -> None:
    assert codes(one(f"{CPU}, runtime: systemd, unit: {{Service: {{{line}}}}}}}")) == {code}


PODMAN_ARGS = [
    "-e LLAMA_ARG_SPEC_TYPE=x",
    "-eA=b",
    "-te A=b",
    "-iv /x:/nonexistent/llama.cpp",
    "-v/x:/y",
    "--env=A=b",
    "--env A=b",
    "--env-file=/x",
    "--env-merge=A=b",
    "--unsetenv=XDG_CONFIG_HOME",
    "--entrypoint=/bin/sh",
    "--volume=/x:/y",
    "--mount=type=bind,src=/x,dst=/y",
    "--tmpfs=/app",
    "--image-volume=tmpfs",
    "--init-path=/srv/wrapper",
    "--rootfs",
    "--privileged",
    "--pri\\x76ileged",
    '"--priv"ileged',
    "--secret=s,type=env,target=LLAMA_ARG_SPEC_TYPE",
    "--pod=x",
    "--network=host",
    "-p 0.0.0.0:80:8080",
    "-P",
    "--publish-all",
    "--name=other",
    "--memory=1g",
    "--security-opt=unmask=ALL",
    "--security-opt unmask=/etc/llama.cpp",
    # a word that is no option is the image, and all after it are the server's arguments
    "other.io/image:latest",
    "other.io/image:latest --spec-type ngram-mod",
    "--init other.io/image:latest",
    "--hostname=x other.io/image:latest -md y",
    "-- other.io/image:latest",
    "--hostname",
    "--option-of-a-later-podman=x",
    ";",
    "--hostname ;",
]


@pytest.mark.parametrize("words", PODMAN_ARGS)
def test_arguments_of_podman_do_not_undo_what_was_decided(words: str) -> None:
    line = json.dumps(words)
    assert codes(one(f"{CPU}, unit: {{Container: {{PodmanArgs: {line}}}}}}}")) <= {DOOR, UNSAFE}


@pytest.mark.parametrize(
    "words",
    ["--module=/x", "--config=/x", "--hooks-dir=/x", "--remote", "run --privileged", "run x", "-c x", "--log-level"],
)
def test_arguments_in_front_of_podman_run_do_not_undo_it_either(words: str) -> None:
    assert codes(one(f"{CPU}, unit: {{Container: {{GlobalArgs: {json.dumps(words)}}}}}}}")) == {UNSAFE}


def test_arguments_of_podman_that_decide_nothing_are_free() -> None:
    lines = '["--cap-add=SYS_NICE", "--ulimit core=0", "--init", "--security-opt=seccomp=unconfined"]'
    text = unit(one(f"{CPU}, unit: {{Container: {{PodmanArgs: {lines}, GlobalArgs: --log-level=debug}}}}}}"))
    assert values(text, "Container", "PodmanArgs") == json.loads(lines)
    assert values(text, "Container", "GlobalArgs") == ["--log-level=debug"]


@pytest.mark.parametrize(
    ("entrypoint", "code"),
    [
        ("[/app/llama-server, --spec-type, ngram-mod]", DOOR),
        ("[/app/llama-server, -md, /models/d.gguf]", DOOR),
        ('["sh", "-c", "exec /app/llama-server --spec-type ngram-mod"]', DOOR),
        ('["sh", "-c", "exec /app/llama-server -md /models/d.gguf"]', DOOR),
        ('["/usr/bin/env", "LLAMA_ARG_SPEC_TYPE=ngram-mod", "/app/llama-server"]', DOOR),
        ('["/usr/bin/env", "XDG_CONFIG_HOME=/models", "/app/llama-server"]', DOOR),
        ("/app/llama-server --spec-type ngram-mod", DOOR),
        ("[/app/llama-server, --hf-repo, org/repo]", "duplicate-flag"),
        ("[/app/llama-server, --port, '1']", "duplicate-flag"),
        ("'[\"/app/llama-server\"]'", UNSAFE),
        ("/app/llama-server -v", UNSAFE),
    ],
)
def test_an_entry_point_starts_the_server_and_says_nothing_to_it(entrypoint: str, code: str) -> None:
    engine = "image: x.io/y:b10715, entrypoint"
    fleet = one("{model: plain, backend: cpu, engine: mine, context: 4096}").replace(
        "\nmodels:", f"\n  mine: {{kind: llama.cpp, build: b10715, backends: [cpu], {engine}: {entrypoint}}}\nmodels:"
    )
    found = codes(fleet)
    assert code in found
    assert found <= {DOOR, UNSAFE, "duplicate-flag"}
