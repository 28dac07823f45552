"""The Dockerfile of all tiers, with which others build a task folder, held to what the folder's image was made from."""

import re

from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ContainerEngine, ImageRef
from datasmith.docker.recipes import WHOLE

BASE_ARG = "FC_BASE_IMAGE"
UV_ARG = "FC_UV"


def pinned_base(context: DockerContext) -> str:
    """The system that the file Dockerfile of a context starts from, name@sha256:…; empty where it is not held so."""
    found = re.search(
        rf"^ARG {BASE_ARG}=([\w./:-]+@sha256:[0-9a-f]{{64}})$", context.texts.get(WHOLE, ""), re.MULTILINE
    )
    return found[1] if found else ""


def pinned(context: DockerContext, image: ImageRef, engine: ContainerEngine, uv: str) -> DockerContext:
    """The context, whose file Dockerfile starts from the system of `image` by its digest, and installs uv `uv`.

    The system stays as it is named where a build cannot start from it by its digest: the host's own, which bubblewrap
    shows, or an image that no registry holds. So does uv where its version ("0.8.3") is not known.
    """
    base = engine.base_of(image)
    held = engine.runs_dockerfiles and engine.inspect(base) is not None
    text = context.texts.get(WHOLE, "")
    for name, value in ((BASE_ARG, base if held else ""), (UV_ARG, f"uv=={uv}" if uv[:1].isdigit() else "")):
        text = re.sub(rf"^ARG {name}=.*$", f"ARG {name}={value}", text, flags=re.MULTILINE) if value else text
    return DockerContext({**context.texts, WHOLE: text}) if text else context
