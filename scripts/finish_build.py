"""Finishes what `sam build` made: bytecode beside every source, and nothing twice that Lambda's runtime has.

    finish_build.py [FOLDER]         the folder of the build, .aws-sam/build by default

Lambda's disk is read-only: a package without bytecode is compiled again at each cold start. The bytecode is of the
kind `unchecked-hash`, which Python takes without comparing it with the time or the content of its source; times do
not survive a deployment. Run it with the Python that the functions run on.

Functions are published by what SAM finds changed in the template, where a parameter is only its name. So an id of
the build stands in each of them: a deployment that changes a parameter alone reaches what is published too.

botocore comes with the X-Ray SDK into the layer, 30 MB of it. The runtime has one of its own, which fits its boto3.
"""

from __future__ import annotations

import compileall
import py_compile
import re
import secrets
import shutil
import sys
from pathlib import Path

BUILD = Path(__file__).resolve().parent.parent / ".aws-sam" / "build"
OF_THE_RUNTIME = ("botocore",)
PUBLISHED = re.compile(
    r"^( +)(AutoPublishAliasAllProperties: true\b[^\n]*)(\n +AutoPublishCodeSha256: [^\n]*)?", re.MULTILINE
)


def finish(artifact: Path) -> None:
    """Finishes one function or layer. Raises `SystemExit` when it cannot be compiled."""
    for package in OF_THE_RUNTIME:
        for found in (*artifact.glob(f"python/{package}"), *artifact.glob(f"python/{package}-*.dist-info")):
            shutil.rmtree(found)
    compiled = compileall.compile_dir(
        artifact,
        quiet=1,
        force=True,
        workers=0,
        stripdir=str(artifact),  # a trace names /var/task/app.py and not a folder of the build machine
        prependdir="/opt" if (artifact / "python").is_dir() else "/var/task",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    if not compiled:
        raise SystemExit(f"{artifact} could not be compiled, see above.")


def stamp(template: Path) -> None:
    """Gives every function that is published an id of this build. Raises `SystemExit` when there is none."""
    text = template.read_text(encoding="utf-8")
    build = secrets.token_hex(5)  # SAM takes ten characters of it
    stamped, functions = PUBLISHED.subn(rf'\1\2\n\1AutoPublishCodeSha256: "{build}"', text)
    if not functions:
        raise SystemExit(f"{template} has no function that is published.")
    template.write_text(stamped, encoding="utf-8")


def main(arguments: list[str]) -> None:
    build = Path(arguments[0]) if arguments else BUILD
    if not (build / "template.yaml").is_file():
        raise SystemExit(f"There is no build in {build}: run sam build first.")
    stamp(build / "template.yaml")
    artifacts = [folder for folder in sorted(build.iterdir()) if folder.is_dir()]
    for artifact in artifacts:
        finish(artifact)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(f"Compiled {len(artifacts)} functions and layers with Python {version}.")


if __name__ == "__main__":
    main(sys.argv[1:])
