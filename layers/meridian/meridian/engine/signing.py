"""Signature Version 4, with which API Gateway's IAM authorization knows the engine's role."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import httpx

from meridian.errors import ConfigurationError

SERVICE = "execute-api"


class SigV4Signer:
    """Signs with the credentials and the region of the environment; botocore is imported on first use."""

    def __call__(self, method: str, url: str, headers: Mapping[str, str], content: bytes) -> dict[str, str]:
        """The headers that make the request authorized, to be sent beside `headers`, whose names are lower-case."""
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - only where calls are signed
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415

        sent = httpx.URL(url)  # percent-encoded as it will be sent; botocore takes a URL as it is given
        request = AWSRequest(
            method=method,
            url=str(sent.copy_with(query=None, fragment=None)),
            params=sent.params.multi_items(),  # type: ignore[arg-type]  # pairs: a name may be repeated
            headers=dict(headers),
            data=content,
        )
        credentials = self._session.get_credentials()
        region = self._session.get_config_variable("region")
        if credentials is None or region is None:
            raise ConfigurationError("API_INTERNAL_AUTH is iam, but there are no AWS credentials or no region.")
        SigV4Auth(credentials.get_frozen_credentials(), SERVICE, region).add_auth(request)
        return {name: value for name, value in request.headers.items() if name.lower() not in headers}

    @cached_property
    def _session(self) -> Any:
        from botocore.session import get_session  # noqa: PLC0415

        return get_session()
