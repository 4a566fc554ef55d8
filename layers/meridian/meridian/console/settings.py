"""How people sign in to the console, from its settings."""

from meridian.config import Settings
from meridian.console.headers import origin
from meridian.errors import ConfigurationError


def sign_in(settings: Settings) -> dict[str, str] | None:
    """The OpenID Connect client of the page, or None where the API has no authorizer.

    Raises `ConfigurationError` for an issuer without a client.
    """
    issuer = settings.url("JWT_ISSUER")
    if issuer is None:
        return None
    client_id = settings.required("JWT_CLIENT_ID", "the client that the console signs people in with")
    return {"issuer": issuer, "clientId": client_id, "audience": settings.text("JWT_AUDIENCE") or client_id}


def identity_origins(settings: Settings) -> list[str]:
    """The provider's origins besides the issuer's: Amazon Cognito gives its tokens out on another host."""
    urls = (settings.text("JWT_ORIGINS") or "").split()
    if not all(url.startswith(("http://", "https://")) for url in urls):
        raise ConfigurationError("JWT_ORIGINS must be http:// or https:// addresses, separated by spaces.")
    return [origin(url) for url in urls]
