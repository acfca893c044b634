"""One host decided: what two services cannot share, the cards that a service gets, the files that it sees."""

import pytest

from fleets import CPU, ENGINES, accepted, marked, one, problems, refusal, refusals, unit, values


def pair(first: str, second: str, host: str = "") -> str:
    return one(f"{CPU}, {host} services: {{a: {{{first}}}, b: {{{second}}}}}}}")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("", "cuda, rocm, vulkan, sycl or cpu"),
        (", engine: both", "cuda or vulkan"),
        (", engine: three", "cuda, vulkan or cpu"),
    ],
)
def test_a_host_without_a_backend_is_told_of_those_that_its_engine_has(fields: str, said: str) -> None:
    above = "".join(
        f"  {name}: {{kind: llama.cpp, build: b10715, backends: {backends}, image: 'reg.lan/x:b10715'}}\n"
        for name, backends in (("both", "[vulkan, cuda]"), ("three", "[cpu, vulkan, cuda]"))
    )
    host = f"hosts:\n  claw: {{model: plain, context: 4096{fields}}}\n"
    problem = refusal(ENGINES.replace("models:\n", f"{above}models:\n", 1) + host)
    assert (problem.code, problem.hint) == ("missing-key", f"add `backend:` to the host: {said}")


CLASHES = [
    ("", "", True),
    ("bind: localhost", "bind: 127.0.0.1", True),
    ("bind: '::1'", "bind: '0:0:0:0:0:0:0:1'", True),
    ("bind: 127.0.0.1", "bind: 127.0.0.2", False),
    ("bind: '::1'", "bind: 127.0.0.1", False),
    ("bind: 0.0.0.0, api_key: false", "bind: 127.0.0.1", True),
    ("bind: 0.0.0.0, api_key: false", "bind: '::1'", False),
    ("bind: '::', api_key: false", "bind: 127.0.0.1", True),
    ("bind: '::', api_key: false", "bind: '::1'", True),
    ("bind: '::', api_key: false", "bind: 0.0.0.0, api_key: false", True),
    ("publish: false", "", False),
    ("publish: false", "publish: false", False),
    ("network: host", "", True),
    ("network: host, publish: false", "", True),
    ("network: a", "network: b", True),
    ("port: 8081", "", False),
]


@pytest.mark.parametrize("turn", [False, True], ids=["", "turned"])
@pytest.mark.parametrize(("first", "second", "clash"), CLASHES)
def test_two_services_that_take_one_port_clash(first: str, second: str, clash: bool, turn: bool) -> None:  # noqa: FBT001 - parametrised
    text = pair(second, first) if turn else pair(first, second)
    if not clash:
        accepted(text)
        return
    found = refusal(text)
    assert (found.code, found.host, found.service) == ("port-clash", "claw", "b")


@pytest.mark.parametrize(
    ("first", "second"), [("conflicts: [b]", ""), ("", "conflicts: a"), ("conflicts: b.service", "")]
)
def test_services_that_never_run_together_may_share_a_port(first: str, second: str) -> None:
    accepted(pair(first, second))


def test_two_of_three_may_still_run_together() -> None:
    found = refusal(one(f"{CPU}, services: {{a: {{conflicts: [b, c]}}, b: , c: }}}}"))
    assert (found.code, found.service) == ("port-clash", "c")
    assert "b and c" in found.message


def test_a_port_that_is_wrong_clashes_with_nothing() -> None:
    assert [(each.code, marked(each)) for each in refusals(pair("port: x", "port: 08080"))] == [
        ("unexpected-value", "x"),
        ("unexpected-value", "08080"),
    ]


def test_names_that_differ_in_letter_case_alone_clash() -> None:
    found = refusal(one(f"{CPU}, services: {{chat: , Chat: {{port: 1}}}}}}"))
    assert (found.code, marked(found), found.host) == ("name-clash", "Chat", "claw")


@pytest.mark.parametrize(
    ("bind", "published"),
    [
        ("localhost", "127.0.0.1:8080:8080"),
        ("::1", "[::1]:8080:8080"),
        ("0:0:0:0:0:0:0:1", "[::1]:8080:8080"),
        ("127.0.0.53", "127.0.0.53:8080:8080"),
    ],
)
def test_an_address_of_this_machine_alone_is_not_exposed_however_it_is_written(bind: str, published: str) -> None:
    text = one(f"{CPU}, bind: '{bind}'}}")
    assert values(unit(text), "Container", "PublishPort") == [published]
    assert problems(text) == []


@pytest.mark.parametrize(
    "bind",
    ["0.0.0.0", "::", "192.168.0.1", "fe80::1", "::ffff:192.168.0.1"],  # noqa: S104 - what the test is about
)
@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_any_other_address_needs_a_key_or_a_word(bind: str, runtime: str) -> None:
    assert refusal(one(f"{CPU}, runtime: {runtime}, bind: '{bind}'}}")).code == "exposed"
    accepted(one(f"{CPU}, runtime: {runtime}, bind: '{bind}', api_key: false}}"))


def test_a_key_by_its_variable_closes_a_server_as_one_in_a_file_does() -> None:
    text = unit(one(f"{CPU}, bind: 0.0.0.0, secrets: {{LLAMA_API_KEY: key}}}}"))
    assert values(text, "Container", "Secret") == ["key,type=env,target=LLAMA_API_KEY"]
    assert "--no-slots" not in values(text, "Container", "Exec")[0]
    for secrets in ("LLAMA_API_KEY: null", "OTHER: key"):
        assert refusal(one(f"{CPU}, bind: 0.0.0.0, secrets: {{{secrets}}}}}")).code == "exposed"


@pytest.mark.parametrize("network", ["none", "container", "x.container", "x.pod", "container:x", "ns:/x", "--x", "a b"])
def test_a_network_that_takes_no_ports_is_none(network: str) -> None:
    assert refusal(one(f"{CPU}, network: '{network}'}}")).code == "unsafe-value"


def test_a_network_that_is_named_twice_is_joined_once() -> None:
    assert values(unit(one(f"{CPU}, network: [a, b.network, a]}}")), "Container", "Network") == ["a", "b.network"]


GPU = "{model: plain, backend: vulkan, context: 1"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("devices: [0, 0]", "names a device twice"),
        ("devices: [Vulkan0, Vulkan0]", "names a device twice"),
        ("devices: []", "is empty"),
        ("devices: [1]", "no card 1"),
        ("devices: [0, Vulkan0]", "mixes"),
        ("gpus: []", "`gpus` is empty"),
        ("gpus: [{id: renderD128}, {id: renderD128}]", "one `id`"),
        ("gpus: [{}, {}], devices: [2]", "no card 2"),
    ],
)
@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_cards_that_the_engine_would_not_find_are_refused_once(fields: str, message: str, runtime: str) -> None:
    found = refusal(one(f"{GPU}, runtime: {runtime}, {fields}}}"))
    assert (found.code, message in found.message) == ("unknown-device", True)


@pytest.mark.parametrize(
    "card",
    ["a;b", ";", "../../etc", "x:y:z", "'a b'", "-x", "/dev/../etc", "/dev/dri/by-path/pci-0000:01:00.0-render", "a%h"],
)
def test_a_card_s_id_is_a_device_or_a_node(card: str) -> None:
    found = refusal(one(f"{GPU}, gpus: [{{id: {card}}}]}}"))
    assert (found.code, found.message[:22]) == ("unexpected-value", "`id` takes a CDI devic")


@pytest.mark.parametrize(
    ("card", "passed"),
    [
        ("renderD129", "/dev/dri/renderD129"),
        ("/dev/dri/renderD129", "/dev/dri/renderD129"),
        ("nvidia.com/gpu=1", "nvidia.com/gpu=1"),
        ("GPU-8a3f", "nvidia.com/gpu=GPU-8a3f"),
        ("amd.com/gpu=0", "amd.com/gpu=0"),
    ],
)
def test_a_card_is_passed_by_its_id(card: str, passed: str) -> None:
    assert values(unit(one(f"{GPU}, gpus: [{{id: {card}}}]}}")), "Container", "AddDevice") == [passed]


@pytest.mark.parametrize(
    ("file", "seen"),
    [
        ("plain.gguf", "/models/plain.gguf"),
        ("./plain.gguf", "/models/plain.gguf"),
        ("a//plain.gguf", "/models/a/plain.gguf"),
        ("/srv/models/plain.gguf", "/models/plain.gguf"),
        ("/srv/models//plain.gguf", "/models/plain.gguf"),
        ("/srv//models/a/plain.gguf", "/models/a/plain.gguf"),
        ("/srv/modelsx/plain.gguf", "/srv/modelsx/plain.gguf"),
        ("~/m/plain.gguf", "/home/ada/m/plain.gguf"),
        ("~/plain.gguf", "/home/ada/plain.gguf"),
        ("-md", "/models/-md"),
    ],
)
def test_the_server_sees_the_file_that_is_asserted_on_the_host(file: str, seen: str) -> None:
    text = unit(one(f"{CPU}, rootless: ada}}").replace("file: plain.gguf", f"file: {file}"))
    (asserted,) = values(text, "Unit", "AssertPathExists")
    (exec_,) = values(text, "Container", "Exec")
    mounts = dict(line.split(":")[1::-1] for line in values(text, "Container", "Volume"))
    assert exec_.split()[1] == seen
    target = max((each for each in mounts if seen.startswith(f"{each}/")), key=len)
    assert seen.replace(target, mounts[target], 1) == asserted


@pytest.mark.parametrize(
    "file",
    [
        "/plain.gguf",
        "/etc/p.gguf",
        "/app/x/p.gguf",
        "/usr/lib/p.gguf",
        "/models/p.gguf",
        "/cache/p.gguf",
        "/run/secrets/p",
    ],
)
def test_a_file_that_no_mount_can_show_is_refused_where_the_model_names_it(file: str) -> None:
    found = refusal(one(f"{CPU}}}").replace("file: plain.gguf", f"file: {file}"))
    assert (found.code, marked(found)) == ("unsafe-value", file)


def test_a_store_of_that_name_is_fine() -> None:
    text = unit(one(f"{CPU}, models_dir: /models}}").replace("file: plain.gguf", "file: /models/plain.gguf"))
    assert values(text, "Container", "Volume")[0] == "/models:/models:ro,z"


@pytest.mark.parametrize("file", ["x-00002-of-00003.gguf", "x-00001-of-00000.gguf", "x-00001-of-99999.gguf"])
def test_a_shard_is_the_first_of_as_many_as_there_can_be(file: str) -> None:
    found = refusal(one(f"{CPU}}}").replace("file: plain.gguf", f"file: {file}"))
    assert (found.code, marked(found)) == ("unexpected-value", file)


@pytest.mark.parametrize(
    "said", ["models_dir: '/a:b'", "models_dir: '/a\"b'", "lora: 'a,b.gguf'", "home: /, rootless: ada"]
)
def test_a_path_that_would_end_early_is_refused(said: str) -> None:
    assert refusal(one(f"{CPU}, {said}}}")).code in ("unsafe-value", "unexpected-value")


@pytest.mark.parametrize("options", ["ro,rw", "z,Z", "dev,nodev", "ro,ro", "private,shared", "bogus", "", "ro,"])
def test_mount_options_that_podman_does_not_take_together_are_refused(options: str) -> None:
    assert refusal(one(f"{CPU}, volumes: ['/srv/x:/data:{options}']}}")).code == "unsafe-value"
