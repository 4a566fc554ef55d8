"""A CloudFormation template as it is with given parameters: conditions decided, parameters put in their places."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.services.stack import stack_python

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template.yaml"

GIVEN = {
    "RestateUrl": "https://restate.example:8080",
    "RestateAdminUrl": "https://restate.example:9070",
    "DatabaseSecretArn": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:meridian-a1b2c3",
}
"""The parameters of a deployment beside an existing database."""

_NOTHING = object()


@cache
def transformed(template: Path = TEMPLATE) -> dict[str, Any]:
    """A template after SAM's transform, with its conditions and parameters in it."""
    command = [str(stack_python()), str(Path(__file__).with_name("transform_template.py")), str(template)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    transformed: dict[str, Any] = json.loads(done.stdout)
    return transformed


class Deployed:
    """The resources and outputs of the transformed template, as a deployment with these parameters has them."""

    def __init__(self, **parameters: str) -> None:
        template = transformed()
        declared = template["Parameters"]
        self._values = {name: str(declaration.get("Default", "")) for name, declaration in declared.items()}
        self._values |= GIVEN | parameters
        for name in [name for name, declaration in declared.items() if "List" in declaration["Type"]]:
            self._values[name] = self._values[name].split(",")  # type: ignore[assignment]
        self._conditions = template["Conditions"]
        self.resources: dict[str, Any] = {
            name: self._resolve(resource)
            for name, resource in template["Resources"].items()
            if "Condition" not in resource or self.holds(resource["Condition"])
        }
        self.outputs: dict[str, Any] = {
            name: self._resolve(output["Value"])
            for name, output in template["Outputs"].items()
            if "Condition" not in output or self.holds(output["Condition"])
        }
        self.broken_rules = [
            assertion["AssertDescription"]
            for rule in template["Rules"].values()
            if "RuleCondition" not in rule or self._is_true(rule["RuleCondition"])
            for assertion in rule["Assertions"]
            if not self._is_true(assertion["Assert"])
        ]

    def of_type(self, kind: str) -> dict[str, Any]:
        """The properties of the resources of a type, by their logical id."""
        return {
            name: resource.get("Properties", {})
            for name, resource in self.resources.items()
            if resource["Type"] == kind
        }

    def holds(self, condition: str) -> bool:
        return self._is_true(self._conditions[condition])

    def _is_true(self, expression: Any) -> bool:
        ((operator, operands),) = expression.items()
        match operator:
            case "Condition":
                return self.holds(operands)
            case "Fn::Equals":
                left, right = (self._resolve(operand) for operand in operands)
                return bool(left == right)
            case "Fn::Not":
                return not self._is_true(operands[0])
            case "Fn::And":
                return all(map(self._is_true, operands))
            case "Fn::Or":
                return any(map(self._is_true, operands))
            case "Fn::Contains":
                values, value = (self._resolve(operand) for operand in operands)
                return value in values
        raise ValueError(f"The condition has {operator}, which is not known here.")

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, list):
            return [item for item in map(self._resolve, value) if item is not _NOTHING]
        if not isinstance(value, dict):
            return value
        if value == {"Ref": "AWS::NoValue"}:
            return _NOTHING
        if set(value) == {"Ref"} and value["Ref"] in self._values:
            return self._values[value["Ref"]]
        if set(value) == {"Fn::If"}:
            condition, then, otherwise = value["Fn::If"]
            return self._resolve(then if self.holds(condition) else otherwise)
        if set(value) == {"Fn::Join"} and isinstance(items := self._resolve(value["Fn::Join"][1]), list):
            separator = value["Fn::Join"][0]
            return separator.join(items) if all(isinstance(item, str) for item in items) else value
        if set(value) == {"Fn::Sub"} and isinstance(value["Fn::Sub"], str):
            return {"Fn::Sub": self._substituted(value["Fn::Sub"])}
        resolved = {name: self._resolve(item) for name, item in value.items()}
        return {name: item for name, item in resolved.items() if item is not _NOTHING}

    def _substituted(self, text: str) -> str:
        for name, value in self._values.items():
            text = text.replace(f"${{{name}}}", value if isinstance(value, str) else ",".join(value))
        return text


def statements(deployed: Deployed) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every statement of every policy in the template, with the resource that it stands in."""
    for name, resource in deployed.resources.items():
        properties = resource.get("Properties", {})
        documents = [properties[key] for key in ("PolicyDocument", "AssumeRolePolicyDocument") if key in properties]
        documents += [
            policy["PolicyDocument"] for policy in properties.get("Policies", ()) if "PolicyDocument" in policy
        ]
        for document in documents:
            for statement in document["Statement"]:
                yield name, statement
