"""Prints a SAM template as the CloudFormation template that AWS makes of it, as JSON. Runs where SAM CLI is installed.

python transform_template.py TEMPLATE
"""

import json
import sys
from pathlib import Path

from boto3.session import Session
from samcli.lib.translate.sam_template_validator import SamTemplateValidator
from samcli.yamlhelper import yaml_parse


class ManagedPolicies:
    """The ARNs of AWS's own policies, which SAM otherwise asks IAM for."""

    def load(self) -> dict[str, str]:
        return {
            name: f"arn:aws:iam::aws:policy/{path}{name}"
            for path, name in (
                ("service-role/", "AWSLambdaBasicExecutionRole"),
                ("service-role/", "AWSLambdaVPCAccessExecutionRole"),
                ("", "AWSXrayWriteOnlyAccess"),
                ("service-role/", "AWSLambdaSQSQueueExecutionRole"),
            )
        }


def main() -> None:
    template = yaml_parse(Path(sys.argv[1]).read_text())
    validator = SamTemplateValidator(template, ManagedPolicies(), region="eu-west-1")
    validator.boto3_session = Session(region_name="eu-west-1")
    json.dump(yaml_parse(validator.get_translated_template_if_valid()), sys.stdout)


if __name__ == "__main__":
    main()
