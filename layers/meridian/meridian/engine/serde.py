"""How values travel through Restate: as our JSON, so that every digit is kept."""

from typing import Any

from restate.serde import Serde

from meridian import jsontext


class JsonText(Serde[Any]):
    """JSON by `meridian.jsontext`; nothing at all reads as null."""

    def deserialize(self, buf: bytes) -> Any:
        return jsontext.parse(bytes(buf)) if buf else None

    def serialize(self, obj: Any) -> bytes:
        """A lone surrogate, which UTF-8 cannot hold, is written as JSON's escape of it."""
        return jsontext.serialize(obj).encode("utf-8", "backslashreplace")


JSON = JsonText()
