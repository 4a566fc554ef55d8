"""Calls of the internal API are signed as API Gateway's IAM authorization asks."""

import re

import pytest

from meridian.engine.signing import SigV4Signer
from meridian.errors import ConfigurationError


def test_a_request_is_signed_for_the_api_of_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")

    signer = SigV4Signer()
    url = "https://abc.execute-api.eu-west-1.amazonaws.com/api/internal/memory/read"
    headers = signer("POST", url, {"content-type": "application/json"}, b"{}")

    assert set(headers) == {"X-Amz-Date", "X-Amz-Security-Token", "Authorization"}
    assert re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\d{8}/eu-west-1/execute-api/aws4_request, "
        r"SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}",
        headers["Authorization"],
    )
    assert signer("POST", url, {"content-type": "application/json"}, b"[]") != headers


def test_without_a_region_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/none")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with pytest.raises(ConfigurationError, match="API_INTERNAL_AUTH"):
        SigV4Signer()("POST", "https://internal.example/", {}, b"")
