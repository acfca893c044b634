"""What a fleet may not hold: keys in git, characters that nobody sees, names that leave their place, an open door."""

import json

import pytest

from doors import UNSAFE, codes
from fleets import CPU, ENGINES, accepted, compile_text, one, problems, refusal, refusals, unit
from quadgen.cli import console

KEY = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWx"
SECRETS = [
    KEY,
    "sk-" + "proj-" + "Ab1" * 10,
    "ghp_" + "a1B2" * 9,
    "glpat-" + "x1Y2" * 6,
    "AKIA" + "IOSFODNN7EXAMPLE",
    "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0NTYifQ" + "." + "abcdefghijklmnop",
    "https://user:pa55word@example.org/x",
    "Authorization: Bearer abcdefghijklmnop123456",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
]
FIELDS = {
    "a variable": "env: {{A: {}}}",
    "a label": "labels: {{a: {}}}",
    "an argument": "extra_args: [--log-file, {}]",
    "a flag": "flags: {{log-file: {}}}",
    "the alias": "alias: {}",
    "a key of [Container]": "unit: {{Container: {{HostName: {}}}}}",
    "an annotation": "unit: {{Container: {{Annotation: {}}}}}",
    "an argument of Podman": "unit: {{Container: {{PodmanArgs: {}}}}}",
    "a key of [Service]": "unit: {{Service: {{X-A: {}}}}}",
    "a key of [Unit]": "unit: {{Unit: {{Documentation: {}}}}}",
}


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
@pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
def test_what_looks_like_a_key_is_refused_wherever_it_stands_and_is_not_repeated(secret: str, field: str) -> None:
    found = refusals(one(f"{CPU}, {field.format(json.dumps(secret))}}}"))
    assert "literal-secret" in {problem.code for problem in found}
    for problem in found:
        assert secret not in f"{problem.message} {problem.hint} {problem.notes}"
        if problem.code == "literal-secret":
            assert secret not in console.text(problem)


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "MY_TOKEN", "DB_PASSWORD", "passwd", "CLIENT_SECRET", "AWS_SECRET_ACCESS_KEY", "token"]
)
@pytest.mark.parametrize("field", ["env", "labels"])
def test_a_name_that_says_secret_takes_no_literal(field: str, name: str) -> None:
    assert codes(one(f"{CPU}, {field}: {{{name}: hunter2x}}}}")) == {"literal-secret"}


@pytest.mark.parametrize(
    "pair", ["TOKENIZERS_PARALLELISM: 'false'", "MAX_TOKENS: '4096'", "API_KEY_FILE: /run/secrets/k", "MONKEY: x",
             "SECRET: '0'", "TOKEN: /run/secrets/t", "A: disk-usage", "URL: 'https://example.org:8080/x'",
     "EOS_TOKEN: '<|im_end|>'", "PAD_TOKEN: '[PAD]'", "OPENAI_API_KEY: EMPTY", "API_KEY: sk-no-key-required",
     "PASSWORD: '{{ vault }}'", "SECRET: '${SECRET}'"],
)  # fmt: skip
def test_what_only_sounds_like_a_key_is_none(pair: str) -> None:
    accepted(one(f"{CPU}, env: {{{pair}}}}}"))


@pytest.mark.parametrize(
    "name", ["sk-qwen3-coder-30b-a3b-instruct", "sk-learn-assistant-large", "hf-model-of-a-long-name-x"]
)
def test_the_name_of_a_model_is_no_key(name: str) -> None:
    accepted(one(f"{CPU}, alias: {name}}}"))


@pytest.mark.parametrize("words", ["--creds=user:hunter2", "--creds user:hunter2", "--decryption-key=/k.pem:hunter2"])
def test_a_password_among_podman_s_arguments_is_one_too(words: str) -> None:
    fields = f'podman: "5.8.6", unit: {{Container: {{PodmanArgs: {words}}}}}'
    problem = refusal(one(f"{CPU}, {fields}}}"))
    assert problem.code == "literal-secret"
    assert "hunter2" not in console.text(problem)


@pytest.mark.parametrize("query", ["?token=x", "?api_key=x", f"?x={KEY}", "?X-Amz-Signature=x"])
def test_the_address_of_a_model_holds_no_key(query: str) -> None:
    fleet = one(f"{CPU.replace('plain', 'far')}}}").replace(
        "models:\n", f'models:\n  far: {{url: "https://example.org/x.gguf{query}", mtp: false}}\n', 1
    )
    assert codes(fleet) == {"literal-secret"}


UNSEEN = [
    "\u200b",
    "\u200d",
    "\u200e",
    "\u202e",
    "\u2066",
    "\u2028",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\u061c",
    "\U000e0041",
]
CONTROL = ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9b", "\r"]
TEXTS = [
    "alias: '@'", "env: {A: '@'}", "labels: {a: '@'}", "labels: {'@': a}", "extra_args: [--log-file, '@']",
    "flags: {log-file: '@'}", "models_dir: '/srv/@'", "volumes: ['/srv/@:/x']", "mmproj: '@'", "lora: ['@']",
    "network: 'n@'", "after: 'a@.mount'", "conflicts: 'a@.mount'", "image: 'x.io/y@:b10715'", "selinux: 't@'",
    "chat_template_file: '@'", "secrets: {'A@': a}", "secrets: {A: 'a@'}", "api_key: {secret: 'a@'}",
    "unit: {Container: {HostName: 'a@'}}", "unit: {Service: {X-A: '@'}}", "services: {'a@': {}}",
    "gpus: [{name: '@'}]", "address: 'a@'", "home: '/srv/a@'", "rootless: 'ada@'", "podman: '5.4.2@'",
    "bind: '127.0.0.1@'",
]  # fmt: skip
"""Where a text is taken; `@` is where the character goes."""


def holding(field: str, text: str) -> str:
    """A fleet whose `field` holds a text, written with escapes alone."""
    escaped = "".join(each if " " <= each <= "~" else f"\\U{ord(each):08X}" for each in text)
    return one(f"{CPU}, {field.replace('@', escaped).replace(chr(39), chr(34))}}}")


@pytest.mark.parametrize("field", TEXTS)
def test_no_text_holds_a_character_that_nobody_sees(field: str) -> None:
    good = "" if field.startswith(("bind", "podman")) else "x"
    accepted(holding(field, good))
    for char in (*UNSEEN, *CONTROL):
        assert compile_text(holding(field, f"{good}{char}")).refused, repr(char)


@pytest.mark.parametrize("where", ["models: {{{}: {{file: x, mtp: false}}}}", "groups: {{{}: {{}}}}"])
def test_no_name_of_the_fleet_s_own_does_either(where: str) -> None:
    for char in UNSEEN:
        name = f'"a\\U{ord(char):08X}"'
        text = ENGINES.partition("models:")[0] + where.format(name) + "\nhosts: {}\n"
        assert [problem.code for problem in refusals(text)] == [UNSAFE], repr(char)


@pytest.mark.parametrize(
    "char", ["\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"]
)
def test_no_file_turns_its_own_text_around_not_even_in_a_comment(char: str) -> None:
    """https://www.cve.org/CVERecord?id=CVE-2021-42574"""
    problem = refusal(f"# {char} harmless\n{one(CPU + '}')}")
    assert (problem.code, problem.hint) == ("yaml-syntax", "delete it")


@pytest.mark.parametrize("char", ["é", "日", "🎉", "\N{NO-BREAK SPACE}x", "א"])
def test_letters_of_all_scripts_may_stand_in_texts(char: str) -> None:
    assert char.encode() in unit(one(f"{CPU}, alias: a{char}}}")).encode()


NAMES = ["../x", "x/../../y", "/x", ".x", "-x", "a b", "a%n", "x\\ny", "ünï", "a" * 201, "", "..", "x/y", "a@b"]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leaves_its_directory(name: str) -> None:
    quoted = f'"{name}"'
    for text in (
        f"{ENGINES}hosts:\n  {quoted}: {CPU}}}\n",
        one(f"{CPU}, services: {{{quoted}: {{}}}}}}"),
        one(f"{CPU}, api_key: {{secret: {quoted}}}}}"),
        one(f"{CPU}, secrets: {{A: {quoted}}}}}"),
        one(f"{CPU}, rootless: {quoted}}}"),
    ):
        assert any(problem.severity.name == "ERROR" for problem in problems(text)), text


@pytest.mark.parametrize("field", ["mmproj: {}", "lora: [{}]", "chat_template_file: {}"])
@pytest.mark.parametrize("path", ["../x.gguf", "a/../../x.gguf", "/srv/../etc/x", "..", "x/.."])
def test_no_file_leaves_its_directory(path: str, field: str) -> None:
    assert codes(one(f"{CPU}, {field.format(path)}}}"))


BINDS = ["'0'", "'127.1'", "'0x7f000001'", "'0177.0.0.1'", "'2130706433'", "'[::]'", "'[::1]'", "localhost.",
         "'127.0.0.1:80'", "'*'", "'::1%lo'", "'0.0.0.0/0'", "example.org"]  # fmt: skip


@pytest.mark.parametrize("bind", BINDS)
def test_an_address_has_one_spelling_that_everybody_reads_alike(bind: str) -> None:
    for runtime in ("podman", "systemd"):
        assert codes(one(f"{CPU}, runtime: {runtime}, bind: {bind}}}")) == {"unexpected-value"}


OPEN = ["bind: 0.0.0.0", "bind: '::'", "bind: '::ffff:0.0.0.0'", "bind: '0:0:0:0:0:0:0:0'", "bind: 10.0.0.1",
        "bind: '::ffff:10.0.0.1'", "bind: 0.0.0.0, network: host", "bind: '::', network: host",
        "bind: 128.0.0.1, network: x"]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "runtime"),
    [*((said, "podman") for said in OPEN), *((said, "systemd") for said in OPEN if "network: x" not in said)],
)
def test_no_spelling_of_an_open_address_passes_for_a_closed_one(said: str, runtime: str) -> None:
    assert codes(one(f"{CPU}, runtime: {runtime}, {said}}}")) == {"exposed"}
    accepted(one(f"{CPU}, runtime: {runtime}, {said}, api_key: false}}"))


@pytest.mark.parametrize(
    "network",
    ["'pasta:-T,8080'", "'slirp4netns:port_handler=x'", "none", "'container:x'", "'ns:/proc/1/ns/net'", "x.pod",
     "x.container", "[host, x]", "'host:x'"],
)  # fmt: skip
def test_no_network_is_an_order_to_podman(network: str) -> None:
    assert codes(one(f"{CPU}, network: {network}}}")) <= {UNSAFE, "unexpected-value"}


@pytest.mark.parametrize(
    "path", ["/run/secrets", "/run", "/", "//run/secrets", "/models/../run/secrets", "/proc/self/fd"]
)
@pytest.mark.parametrize("field", ["flags: {{path: {}}}", "extra_args: [--path, {}]"])
def test_no_directory_with_keys_is_served_to_everybody(field: str, path: str) -> None:
    assert UNSAFE in codes(one(f"{CPU}, api_key: {{secret: k}}, {field.format(path)}}}"))
    accepted(one(f"{CPU}, {field.format('/models/www')}}}"))


@pytest.mark.parametrize(
    "field", ["flags: {host: 0.0.0.0}", "extra_args: [--host, 0.0.0.0]", "extra_args: [--host=0.0.0.0]"]
)
@pytest.mark.parametrize("where", ["runtime: systemd", "network: host"])
def test_no_argument_opens_what_bind_closes(where: str, field: str) -> None:
    assert codes(one(f"{CPU}, {where}, {field}}}"))


@pytest.mark.parametrize(
    "name", ["/proc/self/environ", ".git/config", "../../.netrc", "/home/ada/.ssh/id_rsa", "x.yml.bak"]
)
def test_no_file_that_is_no_ledger_is_quoted(name: str) -> None:
    """A check of a merge request shows its refusals to whoever made it."""
    text = f"version: 1\nmeasurements: [{name}]\nhosts: {{}}\n"
    problem = refusal(text, {name: "password: hunter2\n"})
    assert problem.message == f"{name} is no ledger by its name"
    assert "hunter2" not in console.text(problem)


def test_no_file_that_is_no_flag_table_is_quoted() -> None:
    text = f"{ENGINES}hosts: {{}}\n".replace(
        "backends: [cpu],", "backends: [cpu], flags: /home/ada/.docker/config.json,", 1
    )
    for problem in refusals(text, {"/home/ada/.docker/config.json": '{"auths": {"x.io": {"auth": "hunter2"}}}'}):
        assert "hunter2" not in console.text(problem)


def test_exposing_a_port_inside_publishes_nothing() -> None:
    text = unit(one(f"{CPU}, unit: {{Container: {{ExposeHostPort: 9999, PodmanArgs: --expose=9998}}}}}}"))
    assert text.count("PublishPort=") == 1
    assert "PublishPort=127.0.0.1:8080:8080" in text
