"""Checks of accounts elsewhere: each asks the service itself; without an account there is a hint, and no failure."""

from datasmith.github.connection import checked_url
from datasmith.preflight.base import Answer, Facts
from datasmith.preflight.web import Reply, ask
from datasmith.publish.places import login_of, read_places

_UNREACHABLE = "check the network and the proxy, and set {name} if the service is elsewhere"


def github_tokens(facts: Facts) -> Answer:
    """How many tokens there are."""
    count = len(facts.settings.github_tokens)
    if count:
        return Answer("OK", f"{count} token(s)")
    todo = "GH_TOKENS=github_pat_...,github_pat_... (make them at https://github.com/settings/tokens)"
    if facts.forge != "github":
        what = "local clones need none" if facts.forge == "git" else f"--forge {facts.forge} needs none"
        return Answer("SKIP", f"not set; {what}", todo)
    return Answer("FAIL", f"not set, and --forge {facts.forge} needs one", todo)


def github_calls(facts: Facts) -> Answer:
    """Every token is accepted, and how many calls all of them together have left."""
    settings = facts.settings
    if not settings.github_tokens:
        return Answer("SKIP", "no token")
    left = 0
    for number, token in enumerate(settings.github_tokens, 1):
        address = f"{checked_url(settings.github_url)}/rate_limit"
        reply = ask(address, settings, token=token)
        remaining = reply.at("resources", "core", "remaining")
        if not reply.ok or not isinstance(remaining, int):
            which = f"token {number} of {len(settings.github_tokens)}"
            return _refused(reply, which, "remove it from GH_TOKENS, or make a new one", "FC_GITHUB_URL")
        left += remaining
    if left:
        return Answer("OK", f"remaining={left}")
    return Answer("FAIL", "remaining=0", "wait for the next full hour, or add a token to GH_TOKENS")


def model(facts: Facts) -> Answer:
    """The model's address answers and accepts the key."""
    settings = facts.settings
    if not settings.dspy_model:
        todo = "DSPY_MODEL=openai/gpt-oss-120b, DSPY_API_BASE=http://localhost:30000/v1, DSPY_API_KEY=..."
        return Answer("SKIP", "not set; the rules classify without a model", todo)
    if not settings.dspy_api_base:
        return Answer("FAIL", "DSPY_MODEL is set, DSPY_API_BASE is not", "DSPY_API_BASE=http://localhost:30000/v1")
    address = f"{settings.dspy_api_base.rstrip('/')}/models"
    # Models are often served in one's own network, by http and for a key that is none.
    reply = ask(address, settings, token=settings.dspy_api_key.get_secret_value(), clear=True)
    if not reply.ok:
        return _refused(reply, settings.dspy_api_base, "set DSPY_API_KEY to a key that it accepts", "DSPY_API_BASE")
    name = settings.dspy_model.partition("/")[2] or settings.dspy_model
    offered = reply.at("data")
    names = {str(row.get("id")) for row in offered if isinstance(row, dict)} if isinstance(offered, list) else set()
    if names and not names & {name, settings.dspy_model}:
        shown = ", ".join(sorted(names)[:5])
        return Answer("FAIL", f"{name} is not offered there", f"set DSPY_MODEL to one of: {shown}")
    return Answer("OK", f"{settings.dspy_model} at {settings.dspy_api_base}")


def docker_hub(facts: Facts) -> Answer:
    """Images can be pushed."""
    settings = facts.settings
    token = settings.dockerhub_token.get_secret_value()
    if not settings.dockerhub_username and not token:
        return Answer("SKIP", "not set; images stay here", "DOCKERHUB_USERNAME=..., DOCKERHUB_TOKEN=dckr_pat_...")
    if not settings.dockerhub_username or not token:
        missing = "DOCKERHUB_TOKEN" if settings.dockerhub_username else "DOCKERHUB_USERNAME"
        return Answer("FAIL", f"{missing} is not set", f"set {missing}: both are needed to push")
    login = {"identifier": settings.dockerhub_username, "secret": token}
    reply = ask(f"{settings.dockerhub_url.rstrip('/')}/v2/auth/token", settings, send=login)
    if reply.ok:
        return Answer("OK", f"{settings.dockerhub_username} can log in")
    what = "make a new access token at https://app.docker.com/settings/personal-access-tokens"
    return _refused(reply, settings.dockerhub_username, what, "FC_DOCKERHUB_URL")


def registries(facts: Facts) -> Answer:
    """The registries can be read, and there is a login for each; nothing is asked."""
    places = read_places(facts.settings.registries)
    if not places:
        return Answer("SKIP", "not set; images stay here", "FC_REGISTRIES=docker.io/formulacode,ghcr.io/acme")
    named = ", ".join(f"{place.host}/{place.namespace}" for place in places)
    without = [place.host for place in places if not login_of(place.host, facts.settings).user]
    if not without:
        return Answer("OK", named)
    todo = f"docker login {without[0]}, or DOCKERHUB_USERNAME and DOCKERHUB_TOKEN for docker.io"
    return Answer("FAIL", f"{named}: no login for {', '.join(without)}", todo)


def hugging_face(facts: Facts) -> Answer:
    """Datasets can be published."""
    settings = facts.settings
    token, origin = settings.hf_token.get_secret_value(), "HF_TOKEN"
    if not token and settings.hf_token_path is None:
        return Answer("SKIP", "not set; the dataset stays here", "HF_TOKEN=hf_..., or HF_TOKEN_PATH=/path/to/token")
    if not token:
        token, origin = settings.hub_token, str(settings.hf_token_path)
    reply = ask(f"{settings.hf_endpoint.rstrip('/')}/api/whoami-v2", settings, token=token)
    if reply.ok:
        return Answer("OK", f"{origin}, as {reply.at('name') or 'somebody'}")
    return _refused(reply, origin, "make a new token at https://huggingface.co/settings/tokens", "HF_ENDPOINT")


def _refused(reply: Reply, what: str, todo: str, setting: str) -> Answer:
    """The failure, told apart: nobody there, not let in, or something else answered."""
    if reply.status == 0:
        return Answer("FAIL", f"{what}: not reachable: {reply.problem}", _UNREACHABLE.format(name=setting))
    if reply.status in {401, 403}:
        return Answer("FAIL", f"{what}: refused with HTTP {reply.status}", todo)
    return Answer("FAIL", f"{what}: unexpected answer, HTTP {reply.status}", _UNREACHABLE.format(name=setting))
