"""What a native unit decides, and on what: sandbox, account, devices, network, for either manager."""

import pytest

from fleets import CPU, ENGINES, accepted, one, unit, units, values
from quadgen import systemd_keys

GPUS = ("cuda", "rocm", "vulkan", "sycl")
BACKENDS = ("cpu", *GPUS)
REFUSED = {
    "CapabilityBoundingSet", "DynamicUser", "PrivateDevices", "PrivateUsers", "ProtectClock", "ProtectKernelLogs",
    "ProtectKernelModules", "SupplementaryGroups", "User",
}  # fmt: skip
"""With these a user's manager does not start the service, or not where user namespaces are forbidden (tried on 257 and
262: exit status 216, 217, 218 or 226)."""
USELESS = {"DeviceAllow", "DevicePolicy", "IPAddressAllow", "IPAddressDeny", "ProcSubset", "ProtectProc", "RemoveIPC"}
"""These do nothing in a user's manager (tried on the same)."""
SHARED = {
    "InaccessiblePaths": ["-/etc/llama.cpp"], "KeyringMode": ["private"], "LockPersonality": ["yes"],
    "NoNewPrivileges": ["yes"], "PrivateTmp": ["yes"], "ProtectControlGroups": ["yes"], "ProtectHostname": ["yes"],
    "ProtectKernelTunables": ["yes"], "ProtectSystem": ["strict"], "RestrictNamespaces": ["yes"],
    "RestrictRealtime": ["yes"], "RestrictSUIDSGID": ["yes"], "SystemCallArchitectures": ["native"], "UMask": ["0077"],
}  # fmt: skip


def native(fields: str, backend: str = "cpu") -> str:
    """The unit of a native host."""
    return unit(
        one(f"{{model: plain, backend: {backend}, engine: {backend}, context: 4096, runtime: systemd{fields}}}")
    )


def keys(text: str) -> set[str]:
    """The keys of [Service]."""
    section = text.partition("[Service]\n")[2].partition("\n[")[0]
    return {line.partition("=")[0] for line in section.split("\n") if line}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("owner", ["", ", rootless: ada"], ids=["system", "user"])
def test_either_manager_gets_as_much_of_the_sandbox_as_it_takes(owner: str, backend: str) -> None:
    text = native(owner, backend)
    assert {key: values(text, "Service", key) for key in SHARED} == SHARED
    assert not keys(text) & (REFUSED | USELESS) if owner else keys(text) >= {"ProtectKernelLogs", "ProtectProc"}


@pytest.mark.parametrize("owner", ["", ", rootless: ada"], ids=["system", "user"])
def test_every_key_is_one_that_systemd_knows(owner: str) -> None:
    for backend in BACKENDS:
        assert all(systemd_keys.known("Service", key) for key in keys(native(owner, backend)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_gpu_s_driver_needs_is_taken_away_on_cpu_only(backend: str) -> None:
    found = keys(native("", backend))
    closed = {"MemoryDenyWriteExecute", "PrivateDevices", "PrivateUsers", "ProcSubset"}
    opened = {"DeviceAllow", "DevicePolicy", "SupplementaryGroups"}
    assert (found & closed, found & opened) == ((closed, set()) if backend == "cpu" else (set(), opened))


@pytest.mark.parametrize(
    ("backend", "nodes"),
    [
        ("cuda", ["char-nvidia* rw"]),
        ("rocm", ["char-kfd rw", "char-drm rw"]),
        ("vulkan", ["char-drm rw", "char-nvidia* rw"]),
        ("sycl", ["char-drm rw"]),
    ],
)
def test_a_gpu_s_service_opens_the_device_classes_of_its_backend(backend: str, nodes: list[str]) -> None:
    text = native("", backend)
    assert (values(text, "Service", "DevicePolicy"), values(text, "Service", "DeviceAllow")) == (["closed"], nodes)
    assert values(text, "Service", "SupplementaryGroups") == ["render", "video"]


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ("", "yes"),
        (", user: llm", "yes"),
        (", models_dir: /home/ada/models", "read-only"),
        (", models_dir: /run/user/1/models", "read-only"),
        (", models_dir: /homes/ada", "yes"),
        (", rootless: ada", "tmpfs"),
        (", rootless: ada, home: /var/lib/ada", "tmpfs"),
        (", rootless: ada, models_dir: ~/models", "read-only"),
        (", rootless: ada, chat_template_file: /home/ada/chat.jinja", "read-only"),
    ],
)
def test_homes_are_hidden_unless_a_file_that_it_needs_is_in_one(fields: str, word: str) -> None:
    assert values(native(fields), "Service", "ProtectHome") == [word]


def test_homes_are_readable_where_the_program_is_in_one() -> None:
    text = unit(one(f"{CPU}, runtime: systemd, rootless: ada}}").replace("/opt/llama.cpp", "~/llama.cpp"))
    assert values(text, "Service", "ProtectHome") == ["read-only"]


LONG = "a" * 28


@pytest.mark.parametrize(
    ("fields", "dynamic", "user"),
    [
        ("services: {video: {}}", ["yes"], ["llm-video"]),
        (f"services: {{{LONG[1:]}: {{}}}}", ["yes"], [f"llm-{LONG[1:]}"]),
        (f"services: {{{LONG}: {{}}}}", ["yes"], []),
        ("services: {Chat.2: {}}", ["yes"], []),
        ("user: llm", [], ["llm"]),
        ("rootless: ada", [], []),
    ],
)
def test_no_service_runs_as_an_account_that_is_there_already(fields: str, dynamic: list[str], user: list[str]) -> None:
    text = native(f", {fields}")
    assert (values(text, "Service", "DynamicUser"), values(text, "Service", "User")) == (dynamic, user)


def test_the_names_of_two_accounts_differ_as_their_services_do() -> None:
    services = "services: {chat: {port: 1}, mail: {port: 2}}"
    texts = units(accepted(one(f"{CPU}, runtime: systemd, {services}}}"))).values()
    assert [values(text, "Service", "User") for text in texts] == [["llm-chat"], ["llm-mail"]]


@pytest.mark.parametrize(
    ("fields", "denied"),
    [
        ("", True),
        (", bind: '::1'", True),
        (", bind: 0.0.0.0, api_key: {secret: k}", False),
        (", bind: 10.1.2.3, api_key: false", False),
        (", rootless: ada", False),
    ],
)
def test_the_kernel_holds_a_service_on_loopback_to_it(fields: str, denied: bool) -> None:  # noqa: FBT001 - a column of the table
    text = native(fields)
    assert values(text, "Service", "IPAddressDeny") == ["any"] * denied
    assert values(text, "Service", "IPAddressAllow") == ["localhost"] * denied


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ("", []),
        (", bind: 0.0.0.0, api_key: false", []),
        (", bind: '::', api_key: false", []),
        (", bind: 10.1.2.3, api_key: false", ["network-online.target"]),
        (", bind: 10.1.2.3, api_key: false, rootless: ada", []),
    ],
)
def test_a_service_waits_for_the_network_where_its_address_must_be_there(fields: str, target: list[str]) -> None:
    text = native(fields)
    assert (values(text, "Unit", "Wants"), values(text, "Unit", "After")) == (target, target)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (", api_key: {secret: k}", "k:/etc/credstore/k"),
        (", rootless: ada, api_key: {secret: k}", "k:%h/.config/credstore/k"),
    ],
)
def test_the_key_is_a_credential_of_the_manager_s_own_store(fields: str, line: str) -> None:
    text = native(fields)
    assert values(text, "Service", "LoadCredential") == [line]
    assert "--api-key-file %d/k" in values(text, "Service", "ExecStart")[0]


def test_a_fetched_model_needs_the_network_and_a_place_to_write() -> None:
    fleet = ENGINES.replace("models:\n", 'models:\n  fetched: {hf: "org/repo:Q4_K_M", mtp: false}\n')
    text = unit(
        f"{fleet}hosts:\n  claw: {{model: fetched, backend: cpu, engine: cpu, context: 4096, runtime: systemd}}\n"
    )
    assert values(text, "Service", "ReadWritePaths") == ["/srv/models"]
    assert (values(text, "Service", "IPAddressDeny"), values(text, "Unit", "Wants")) == ([], ["network-online.target"])
