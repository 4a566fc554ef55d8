"""What the console answers: the page, its files by their release, and how it signs in."""

import base64
import gzip
from pathlib import Path
from typing import Any

import pytest

from meridian.config import Settings
from meridian.console.assets import Assets, imported_by
from meridian.console.service import Console
from meridian.console.settings import identity_origins, sign_in
from meridian.errors import ConfigurationError

STATIC = Path(__file__).resolve().parents[3] / "functions" / "console" / "static"
SIGN_IN = {"issuer": "https://id.example/realm", "clientId": "console", "audience": "console"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text('{{preloads}}<script src="{{assets}}/app.js"></script>')
    (tmp_path / "app.js").write_text('import { a } from "./lib/a.js";\nconst b = () => import("./later.js");\n')
    (tmp_path / "later.js").write_text("")
    (tmp_path / "LICENSE.txt").write_text("")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.js").write_text('export {\n  c,\n} from "../c.js";\n')
    (tmp_path / "c.js").write_text("export const c = 1;\n")
    return tmp_path


def get(console: Console, path: str, **headers: str) -> dict[str, Any]:
    return console.answer(path, {name.replace("_", "-"): value for name, value in headers.items()})


def body(answer: dict[str, Any]) -> str:
    return base64.b64decode(answer["body"]).decode()


def test_the_page_names_its_files_by_their_release_and_preloads_what_is_imported_at_once(root: Path) -> None:
    assets = Assets(root)
    page = body(get(Console(assets, None), "/console/runs"))

    assert f'src="/console/assets/{assets.release}/app.js"' in page
    assert f"/console/assets/{assets.release}/lib/a.js" in page
    assert f"/console/assets/{assets.release}/c.js" in page
    assert "later.js" not in page


def test_the_release_changes_with_any_file(root: Path) -> None:
    before = Assets(root).release
    (root / "c.js").write_text("export const c = 2;\n")
    assert Assets(root).release != before


def test_a_file_of_this_release_is_kept_for_ever_and_one_of_another_is_not(root: Path) -> None:
    assets = Assets(root)
    console = Console(assets, None)

    own = get(console, f"/console/assets/{assets.release}/c.js")
    assert own["headers"]["Cache-Control"] == "public, max-age=31536000, immutable"
    older = get(console, "/console/assets/0123456789abcdef/c.js")
    assert (older["statusCode"], older["headers"]["Cache-Control"]) == (200, "no-store")


@pytest.mark.parametrize("name", ["nothing.js", "index.html", "LICENSE.txt", "../app.py", ""])
def test_what_is_no_file_of_the_page_is_not_found(root: Path, name: str) -> None:
    assets = Assets(root)
    assert get(Console(assets, None), f"/console/assets/{assets.release}/{name}")["statusCode"] == 404


def test_a_body_is_compressed_for_those_who_take_it_under_another_validator(root: Path) -> None:
    assets = Assets(root)
    console, path = Console(assets, None), f"/console/assets/{assets.release}/c.js"

    plain, compressed = get(console, path), get(console, path, accept_encoding="br, gzip")
    assert gzip.decompress(base64.b64decode(compressed["body"])).decode() == body(plain)
    assert compressed["headers"]["Content-Encoding"] == "gzip"
    assert plain["headers"]["Vary"] == compressed["headers"]["Vary"] == "Accept-Encoding"
    assert plain["headers"]["ETag"] != compressed["headers"]["ETag"]


def test_what_the_browser_has_is_not_sent_again(root: Path) -> None:
    console = Console(Assets(root), None)
    etag = get(console, "/console/runs")["headers"]["ETag"]

    assert get(console, "/console/runs", if_none_match=etag) == {
        "statusCode": 304,
        "headers": get(console, "/console/runs", if_none_match=etag)["headers"],
    }
    assert get(console, "/console/runs", if_none_match='"another"')["statusCode"] == 200


def test_every_answer_carries_the_policy(root: Path) -> None:
    console = Console(Assets(root), SIGN_IN, ["https://login.example"])
    for path in ("/", "/console/config.json", "/console/runs", "/console/assets/x/none.js"):
        policy = get(console, path)["headers"]["Content-Security-Policy"]
        assert "connect-src 'self' https://id.example https://login.example;" in policy
        assert "unsafe" not in policy


def test_the_page_is_told_how_to_sign_in_or_that_nobody_has_to(root: Path) -> None:
    assert body(get(Console(Assets(root), None), "/console/config.json")) == '{"signIn":null}'
    assert '"clientId":"console"' in body(get(Console(Assets(root), SIGN_IN), "/console/config.json"))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"JWT_ISSUER": "", "JWT_CLIENT_ID": "console"}, None),
        (
            {"JWT_ISSUER": "https://id.example/", "JWT_CLIENT_ID": "console"},
            {"issuer": "https://id.example", "clientId": "console", "audience": "console"},
        ),
        (
            {"JWT_ISSUER": "https://id.example", "JWT_CLIENT_ID": "console", "JWT_AUDIENCE": "api"},
            {"issuer": "https://id.example", "clientId": "console", "audience": "api"},
        ),
    ],
)
def test_signing_in_follows_from_the_settings(environment: dict[str, str], expected: dict[str, str] | None) -> None:
    assert sign_in(Settings(environment)) == expected


def test_settings_that_cannot_be_used_are_named() -> None:
    with pytest.raises(ConfigurationError, match="JWT_CLIENT_ID"):
        sign_in(Settings({"JWT_ISSUER": "https://id.example"}))
    with pytest.raises(ConfigurationError, match="JWT_ORIGINS"):
        identity_origins(Settings({"JWT_ORIGINS": "login.example"}))


def test_the_modules_of_the_page_import_only_modules_that_are_there() -> None:
    files = {file.relative_to(STATIC).as_posix(): file.read_text() for file in STATIC.rglob("*.js")}
    for module in files:
        assert set(imported_by(module, files)) <= files.keys()
