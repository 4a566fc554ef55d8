"""The headers of everything that the console answers: what the page may load, and who may embed it."""

from collections.abc import Mapping, Sequence


def security_headers(identity_origins: Sequence[str]) -> Mapping[str, str]:
    """The headers; `identity_origins` are those of the identity provider, the only other hosts the page speaks to.

    Scripts, styles and images come from files of the page's own host alone: nothing inline, nothing evaluated, and
    no text is ever parsed as HTML (Trusted Types without a policy). A page's address may hold a subject, so it is
    told to nobody.
    """
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "connect-src": " ".join(["'self'", *identity_origins]),
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "Referrer-Policy": "no-referrer",
        "Strict-Transport-Security": "max-age=31536000",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }


def origin(url: str) -> str:
    """The origin of a URL, as a policy names it."""
    from urllib.parse import urlsplit  # noqa: PLC0415 (only with an identity provider, and not at every cold start)

    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
