"""quadgen: one fleet file in, Podman Quadlet and systemd units out, or a refusal with a number."""

__version__ = "0.1.0"
