"""Lambda's Invoke API on one machine, called with the AWS SDK, and what is taken for later."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import botocore.config
import httpx
import pytest

from local.waiting import wait_until
from tests.integration.local.conftest import Application

ARN = "arn:aws:lambda:eu-west-1:123456789012:function:Probe:1"


@pytest.fixture
def client(application: Application) -> Any:
    once = botocore.config.Config(retries={"total_max_attempts": 1})
    return boto3.client(
        "lambda",
        endpoint_url=application.lambda_url,
        region_name="eu-west-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=once,
    )


def test_a_function_is_called_by_its_arn(client: Any) -> None:
    answer = client.invoke(FunctionName=ARN, Payload=b'{"do": "look"}')

    assert "FunctionError" not in answer
    assert json.loads(json.loads(answer["Payload"].read())["body"])["event"] == {"do": "look"}


def test_a_functions_error_is_told_as_such(client: Any) -> None:
    answer = client.invoke(FunctionName=ARN, Payload=b'{"do": "fail"}')

    assert answer["FunctionError"] == "Unhandled"
    assert json.loads(answer["Payload"].read())["errorMessage"] == "as asked"


def test_an_unknown_function_is_not_found(client: Any) -> None:
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.invoke(FunctionName="Nobody")


def test_a_call_without_waiting_is_answered_at_once(client: Any, application: Application) -> None:
    answer = client.invoke(FunctionName="Probe", InvocationType="Event", Payload=b'{"do": "asynchronously"}')

    assert answer["StatusCode"] == 202
    log = application.logs / "Probe.log"
    assert wait_until(lambda: log.exists() and "asynchronously" in log.read_text(), 10)


def test_with_one_reserved_environment_a_second_call_is_throttled(client: Any) -> None:
    client.invoke(FunctionName="Single", Payload=b'{"do": "look"}')

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(client.invoke, FunctionName="Single", Payload=b'{"do": "half-second"}')
        time.sleep(0.2)
        with pytest.raises(client.exceptions.TooManyRequestsException):
            client.invoke(FunctionName="Single", Payload=b'{"do": "look"}')

    assert "FunctionError" not in first.result()


def test_a_follow_up_reaches_its_function_as_a_message_of_a_queue(application: Application) -> None:
    posted = {"runIds": ["e-1:potassium"], "delaySeconds": 0.2}

    answer = httpx.post(f"{application.lambda_url}/local/follow-ups", json=posted)

    assert answer.status_code == 202
    log = application.logs / "FollowUpFunction.log"
    assert wait_until(lambda: log.exists() and "aws:sqs" in log.read_text(), 10)
    assert "e-1:potassium" in log.read_text()


def test_what_is_no_follow_up_is_refused(application: Application) -> None:
    assert httpx.post(f"{application.lambda_url}/local/follow-ups", content=b"{}").status_code == 400
