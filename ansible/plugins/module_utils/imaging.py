"""The images of a host's services: pulled while the old services still run, removed when nothing needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from . import managers
from .managers import Run, Said, Trouble, podman
from .state import State
from .tree import Manifest

Image = tuple[str, "str | None"]
"""An image, and the user in whose storage it is; None is the system's."""

PULLING = 4 * 3600.0
"""Seconds for one image, in which the slowest line of a home brings one of some GB. Podman prints nothing between the
start of a layer and its end, so that nobody could tell a pull that hangs from one that takes its time."""

_IN_USE: Final = 2
_UNKNOWN: Final = 1
"""The status of `podman image rm` (podman-rmi(1)), and of `podman image exists`."""


@dataclass
class Images:
    """Pulls and removes. `save` keeps a state, and is called before each pull and after each removal."""

    state: State
    save: Callable[[State], None]
    run: Run = managers.run

    def missing(self, manifest: Manifest) -> list[Image]:
        """The images of a tree that are not on the host; raises Trouble for those that its services never pull."""
        policies: dict[Image, set[str]] = {}
        for service in manifest.services:
            if service.image is not None:
                policies.setdefault((service.image, service.user), set()).add(service.pull or "missing")
        absent = [image for image in sorted(policies, key=_key) if not self._exists(image)]
        never = [name for name, user in absent if policies[name, user] == {"never"}]
        if never:
            raise Trouble(f"{', '.join(never)}: not on this host, and its services are told never to pull")
        return absent

    def pull(self, images: Iterable[Image]) -> None:
        """Pull all of them, whatever becomes of the others; raises Trouble for those that did not come in `PULLING`."""
        failed = []
        for name, user in images:
            self._keep({*self.state.images, (name, user)})
            said = podman("pull", "--quiet", name, user=user, run=self.run, timeout=PULLING)
            if not said.done:
                self._keep({*self.state.images} - {(name, user)})
                late = f"it did not come within {PULLING / 3600:g} hours, so that Podman was ended"
                failed.append(f"{name}: {late if said.status is None else said.why}")
        if failed:
            raise Trouble(f"cannot pull {'; '.join(failed)}")

    def unneeded(self, trees: Iterable[Manifest]) -> list[Image]:
        """The images that quadgen pulled and none of these trees needs."""
        needed = {image for manifest in trees for image in manifest.images}
        return sorted(set(self.state.images) - needed, key=_key)

    def remove(self, images: Iterable[Image], needed: Iterable[Image]) -> tuple[list[Image], list[Image]]:
        """Remove what is in nobody's way: gives the images that went, and those that stay for another time.

        One that a container uses stays, and so does one that is, by another name, an image that is needed: removed
        by its digest it would be gone by all its names.
        """
        kept = {(self._id(image), image[1]) for image in needed}
        gone, stayed = [], []
        for name, user in images:
            ours = self._id((name, user))
            if ours is not None and (ours, user) in kept:
                stayed.append((name, user))
                continue
            said = podman("image", "rm", name, user=user, run=self.run, timeout=600)
            if said.done or said.status == _UNKNOWN:
                gone.append((name, user))
                self._keep({*self.state.images} - {(name, user)})
            elif said.status == _IN_USE:
                stayed.append((name, user))
            else:
                raise Trouble(f"cannot remove the image {name}: {said.why}")
        return gone, stayed

    def _exists(self, image: Image) -> bool:
        said = podman("image", "exists", image[0], user=image[1], run=self.run)
        if said.status not in (0, _UNKNOWN):
            raise Trouble(f"podman does not say whether {image[0]} is there: {said.why}")
        return said.done

    def _id(self, image: Image) -> str | None:
        said = self._inspect(image)
        return said.stdout.strip() if said.done else None

    def _inspect(self, image: Image) -> Said:
        return podman("image", "inspect", "--format={{.Id}}", image[0], user=image[1], run=self.run)

    def _keep(self, images: Iterable[Image]) -> None:
        ordered = tuple(sorted(images, key=_key))
        if ordered != self.state.images:
            self.state = replace(self.state, images=ordered)
            self.save(self.state)


def _key(image: Image) -> tuple[str, str]:
    return image[0], image[1] or ""
