"""Checkov over the template and over what a deployment with every option makes of it: no check fails.

An exception stands with its reason in the metadata of its resource, and none stands there that checkov does not use.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.deployment.cloudformation import TEMPLATE, Deployed
from tests.deployment.test_template import DEPLOYMENTS
from tests.services.stack import ROOT

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def everything() -> dict[str, Any]:
    return Deployed(**DEPLOYMENTS["with everything"]).resources


@pytest.fixture(scope="module")
def report(everything: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What checkov says of both, in one run: it takes most of its time to start."""
    folder = tmp_path_factory.mktemp("checkov")
    deployed = folder / "deployed.json"
    deployed.write_text(json.dumps({"AWSTemplateFormatVersion": "2010-09-09", "Resources": everything}))
    done = subprocess.run(
        [
            ROOT / ".venvs" / f"audit-{VERSION}" / "bin" / "checkov",
            *("--file", TEMPLATE, deployed),
            *("--framework", "cloudformation", "--output", "json", "--skip-download"),
        ],
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "CKV_SKIP_PACKAGE_UPDATE_CHECK": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_no_check_fails(report: dict[str, Any], everything: dict[str, Any]) -> None:
    failed = [
        f"{check['check_id']} {check['resource']} in {Path(check['file_path']).name}: {check['check_name']}"
        for check in report["results"]["failed_checks"]
    ]
    assert failed == []
    assert report["results"]["parsing_errors"] == []
    looked_at = {Path(check["file_path"]).name for check in report["results"]["passed_checks"]}
    assert looked_at == {TEMPLATE.name, "deployed.json"}
    assert report["summary"]["resource_count"] > len(everything)


def test_every_exception_has_its_reason_and_is_used(report: dict[str, Any], everything: dict[str, Any]) -> None:
    written = {
        (name, exception["id"]): exception["comment"]
        for name, resource in everything.items()
        if resource["Type"] != "AWS::Lambda::EventInvokeConfig"  # SAM makes it with its function's metadata
        for exception in resource.get("Metadata", {}).get("checkov", {}).get("skip", ())
    }
    used = {(check["resource"].rpartition(".")[2], check["check_id"]) for check in report["results"]["skipped_checks"]}
    assert written.keys() == used
    assert all(len(reason) > 20 for reason in written.values())
