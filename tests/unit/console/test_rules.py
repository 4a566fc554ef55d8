"""The rules of the page that need no page: run by Node.js, which the project has for Restate's server."""

import shutil
import subprocess
from pathlib import Path


def test_the_rules_of_the_page() -> None:
    node = shutil.which("node")
    assert node is not None, "Node.js was not found on PATH."
    tests = Path(__file__).with_name("rules.test.mjs")
    result = subprocess.run([node, "--test", str(tests)], capture_output=True, text=True, timeout=60, check=False)

    assert result.returncode == 0, result.stdout + result.stderr
