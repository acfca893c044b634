"""One fleet with every field of a service that can reach a container's unit, on each backend, for any Podman."""

from fleets import ENGINES

BACKENDS = ("cpu", "cuda", "rocm", "vulkan", "sycl")
GPUS = {
    "cuda": "[{name: NVIDIA GeForce RTX 3090, id: nvidia.com/gpu=0}, {id: GPU-5a, vram: 24GiB}]",
    "rocm": "[{id: renderD128, vram: unified}]",
    "vulkan": "[{id: renderD129}]",
    "sycl": "[{}]",
}
SERVICE = """\
  models_dir: /srv/my models
  alias: "100% $HOME \\\\ \\"x\\""
  context: 4096
  slots: 2
  cache_type: {{k: q8_0, v: f16}}
  mmproj: mm.gguf
  chat_template_file: /srv/templates/chat.jinja
  lora: [a.gguf]
  flags: {{cache-reuse: 256, chat-template-kwargs: {{a: "b c"}}}}
  extra_args: [--no-webui]
  env: {{A: "x y", B: "100% $HOME"}}
  secrets: {{HF_TOKEN: hf, /etc/extra.pem: pem}}
  api_key: {{secret: key}}
  volumes: ["/srv/data:/data:ro,z", "x.volume:/more"]
  pull: newer
  auto_update: registry
  after: [mnt-nas.mount]
  conflicts: [other.service]
  start_timeout: 20m
  stop_timeout: 45s
  restart: {{policy: on-failure, delay: 5s, tries: 3, within: 4h}}
  limits: {{memory: 8GiB, cpus: 4, pids: 512, shm: 1GiB, memlock: unlimited, nofile: 4096}}
  labels: {{a: "x y", b: "50%"}}
"""
UNIT = """\
  unit:
    Container:
      AddHost: ["a:10.0.0.1", "b:10.0.0.2"]
      AppArmor: my-profile
      CgroupsMode: split
      DNS: [10.0.0.1, 10.0.0.2]
      DNSOption: ndots:1
      DNSSearch: example.org
      HostName: chat
      HttpProxy: false
      LogDriver: journald
      LogOpt: "tag=x"
      Mask: "/opt/a:/opt/b"
      NetworkAlias: [one, two]
      ReadOnlyTmpfs: true
      SecurityLabelLevel: "s0:c1,c2"
      SecurityLabelFileType: usr_t
      StopSignal: SIGTERM
      Sysctl: "net.core.somaxconn=4096 net.ipv4.tcp_fastopen=3"
      Timezone: UTC
      Ulimit: core=0
      WorkingDir: "/da ta"
"""
RETRIES = """\
      Retry: 3
      RetryDelay: 5s
"""
"""Which podman-run(1) has an argument for since 5.0.0."""


def host(backend: str, podman: str, *, rootless: bool, probe: bool, retries: bool) -> str:
    """One host of the fleet, indented for `hosts:`."""
    lines = [f"{backend}{'-user' if rootless else ''}:", f'  podman: "{podman}"', f"  backend: {backend}"]
    lines += [f"  engine: {backend}", "  model: plain", "  network: [own.network, shared]"]
    lines += ["  rootless: ada"] if rootless else []
    lines += [f"  gpus: {GPUS[backend]}"] if backend in GPUS else []
    lines += [f"  health: {'{interval: 20s, timeout: 5s, retries: 4, start_period: 5m}' if probe else 'false'}"]
    return (
        "\n".join(f"  {line}" for line in lines)
        + "\n"
        + "".join(f"  {line}\n" for line in (SERVICE.format() + UNIT + (RETRIES if retries else "")).splitlines())
    )


def everything(podman: str, *, probe: bool = True, retries: bool = True) -> str:
    """The fleet, for hosts with this Podman. `probe` needs 4.7.0, `retries` 5.0.0."""
    hosts = "".join(
        host(backend, podman, rootless=rootless, probe=probe, retries=retries)
        for backend in BACKENDS
        for rootless in (False, True)
    )
    return f"{ENGINES}hosts:\n{hosts}"
