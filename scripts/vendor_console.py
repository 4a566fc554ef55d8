"""Writes what the console ships and does not own: its libraries, from the installed npm packages, and the samples.

The packages' versions are pinned in `package.json`, their digests in `package-lock.json`. Each file is taken as its
package publishes it but for two things: a module named bare (`from "preact"`) is named by its file, since a page
under a strict policy has no import map, and the line naming a source map, which is not shipped, is left out.

    vendor_console.py           writes the files
    vendor_console.py --check   says which files are not what it would write; 1 when there is one
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "node_modules"
STATIC = ROOT / "functions" / "console" / "static"
SAMPLES = ROOT / "events" / "samples"

LIBRARIES = {  # the vendored file, the module that it is, and the name that it has for the type checker
    "preact.js": ("preact", "dist/preact.mjs", "preact"),
    "preact-hooks.js": ("preact", "hooks/dist/hooks.mjs", "preact/hooks"),
    "htm.js": ("htm", "dist/htm.mjs", "htm"),
    "dagre.js": ("@dagrejs/dagre", "dist/dagre.esm.js", "@dagrejs/dagre"),
}
WITH_DEFAULT = {"htm"}
BARE_NAMES = {"preact": "./preact.js"}


def main() -> int:
    wanted = {**vendored(), "samples.json": samples()}
    if "--check" in sys.argv[1:]:
        stale = [name for name, text in wanted.items() if current(name) != text]
        for name in stale:
            print(f"functions/console/static/{name} is not what scripts/vendor_console.py writes.")
        return 1 if stale else 0
    for name, text in wanted.items():
        (STATIC / name).write_text(text, "utf-8")
    return 0


def vendored() -> dict[str, str]:
    """The text of each vendored file by its path."""
    files: dict[str, str] = {}
    for name, (package, module, typed) in LIBRARIES.items():
        folder = MODULES / package
        about = json.loads((folder / "package.json").read_text("utf-8"))
        library = package.rpartition("/")[2]
        banner = f"/*! {package} {about['version']}, {about['license']}: see LICENSE.{library}.txt */\n"
        files[f"vendor/{name}"] = banner + browser_module((folder / module).read_text("utf-8"))
        default = f'export {{ default }} from "{typed}";\n' if typed in WITH_DEFAULT else ""
        files[f"vendor/{name.replace('.js', '.d.ts')}"] = f'{default}export * from "{typed}";\n'
        files[f"vendor/LICENSE.{library}.txt"] = (folder / "LICENSE").read_text("utf-8")
    return files


def samples() -> str:
    """The sample events, for the form that sends one."""
    found = [
        {"name": file.stem, "event": json.loads(file.read_text("utf-8"))} for file in sorted(SAMPLES.glob("*.json"))
    ]
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def browser_module(source: str) -> str:
    """A published module as a browser can load it without an import map."""
    source = re.sub(r"\n?//# sourceMappingURL=.*\s*$", "\n", source)
    for bare, file in BARE_NAMES.items():
        source = source.replace(f'from"{bare}"', f'from"{file}"')
    return source if source.endswith("\n") else source + "\n"


def current(name: str) -> str | None:
    file = STATIC / name
    return file.read_text("utf-8") if file.is_file() else None


if __name__ == "__main__":
    sys.exit(main())
