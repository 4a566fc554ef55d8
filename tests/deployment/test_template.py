"""What a deployment of the template comes to: who may call what, what is kept, and what fits together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meridian.engine.http import CALL_SECONDS
from scripts.finish_build import stamp
from tests.deployment.cloudformation import TEMPLATE, Deployed, statements, transformed

ISSUER = {"JwtIssuer": "https://issuer.example", "JwtAudience": "meridian", "JwtClientId": "console"}
OWN_DATABASE = {
    "CreateDatabase": "true",
    "CreateDatabaseProxy": "true",
    "DatabaseSecretArn": "",
    "VpcId": "vpc-0a1b2c3d",
    "SubnetIds": "subnet-0a1b2c3d,subnet-1a1b2c3d",
}
RESTATE_CLOUD = {
    "RestateApiKeySecretArn": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:restate-a1b2c3",
    "RestatePrincipalArn": "arn:aws:iam::654654156625:root",
    "RestateExternalId": "env_1",
}
TOKENS = {
    "DatabaseSecretArn": "",
    "DatabaseIamAuth": "true",
    "DatabaseUrl": "postgresql://meridian@database.example/meridian",
    "DatabaseUserArn": "arn:aws:rds-db:eu-west-1:123456789012:dbuser:cluster-A1/meridian",
}
KEY = {"KmsKeyArn": "arn:aws:kms:eu-west-1:123456789012:key/a1b2c3d4-0000-4000-8000-000000000000"}

DEPLOYMENTS = {
    "beside a database": {},
    "with everything": ISSUER | OWN_DATABASE | RESTATE_CLOUD | KEY,
    "with tokens": TOKENS,
}
OPEN_ROUTES = {("get", "/healthz"), ("get", "/readyz")}
CONSOLE_ROUTES = {("get", "/"), ("get", "/console/{page+}")}
"""The console's files: a browser asks for them before anybody has signed in, and they hold no data."""

WILDCARDS_WITH_A_REASON = {
    "CallWorkflowMemory": "the three routes of workflow memory",
    "CallAnyVersionOfTheEngine": "a run stays with the version that it began on",
}


@pytest.fixture(params=DEPLOYMENTS.values(), ids=list(DEPLOYMENTS))
def deployed(request: pytest.FixtureRequest) -> Deployed:
    return Deployed(**request.param)


def routes(deployed: Deployed, api: str) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """The operations of an API, by method and path."""
    for path, operations in deployed.of_type("AWS::ApiGatewayV2::Api")[api]["Body"]["paths"].items():
        for method, operation in operations.items():
            yield (method, path), operation


def text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def test_no_rule_is_broken_by_a_complete_deployment(deployed: Deployed) -> None:
    assert deployed.broken_rules == []


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"RestateUrl": ""}, "RestateUrl is missing"),
        ({"DatabaseSecretArn": ""}, "There is no database"),
        ({"CreateDatabase": "true", "DatabaseSecretArn": ""}, "VpcId and SubnetIds are missing"),
        ({"CreateDatabase": "true", "VpcId": "vpc-0a1b2c3d"}, "give one"),
        (OWN_DATABASE | {"SecurityGroupIds": "sg-0a1b2c3d"}, "give no SecurityGroupIds"),
        ({"VpcId": "vpc-0a1b2c3d"}, "SubnetIds are missing"),
        ({"DatabaseIamAuth": "true", "DatabaseSecretArn": ""}, "DatabaseUserArn"),
        ({"JwtIssuer": "https://issuer.example", "JwtAudience": "meridian"}, "JwtClientId is missing"),
        ({"JwtIssuer": "https://issuer.example", "JwtClientId": "console"}, "JwtAudience is missing"),
    ],
)
def test_deployment_that_cannot_work_is_refused_in_words(parameters: dict[str, str], told: str) -> None:
    assert told in " ".join(Deployed(**parameters).broken_rules)


def test_with_an_issuer_every_public_route_but_the_health_checks_and_the_page_asks_for_a_token() -> None:
    deployed = Deployed(**ISSUER)
    without = {route for route, operation in routes(deployed, "PublicApi") if "security" not in operation}
    assert without == OPEN_ROUTES | CONSOLE_ROUTES
    secured = [operation["security"] for route, operation in routes(deployed, "PublicApi") if route not in without]
    assert all(security == [{"Token": []}] for security in secured)
    scheme = deployed.of_type("AWS::ApiGatewayV2::Api")["PublicApi"]["Body"]["components"]["securitySchemes"]["Token"]
    authorizer = scheme["x-amazon-apigateway-authorizer"]
    assert authorizer["type"] == "jwt"
    assert authorizer["jwtConfiguration"] == {"issuer": "https://issuer.example", "audience": ["meridian"]}


def test_without_an_issuer_the_outputs_say_that_the_api_is_open() -> None:
    deployed = Deployed()
    assert not any("security" in operation for _, operation in routes(deployed, "PublicApi"))
    assert "THE PUBLIC API IS OPEN" in deployed.outputs["ApiSecurity"]
    assert "OPEN" not in text(Deployed(**ISSUER).outputs["ApiSecurity"])


def test_every_route_has_a_function_and_every_function_its_routes(deployed: Deployed) -> None:
    """The routes stand in the API for their security and at the functions for the rest: both are the same."""
    for api in ("PublicApi", "InternalApi"):
        assert all("x-amazon-apigateway-integration" in operation for _, operation in routes(deployed, api))
    permissions = [
        text(permission["SourceArn"])
        for permission in deployed.of_type("AWS::Lambda::Permission").values()
        if permission["Principal"] == "apigateway.amazonaws.com"
    ]
    declared = [route for api in ("PublicApi", "InternalApi") for route, _ in routes(deployed, api)]
    assert len(permissions) == len(declared)


def test_nothing_of_the_internal_api_is_on_the_public_one(deployed: Deployed) -> None:
    assert not any(path.startswith("/api/internal") for (_, path), _ in routes(deployed, "PublicApi"))
    assert all(path.startswith("/api/internal/") for (_, path), _ in routes(deployed, "InternalApi"))


def test_every_internal_route_asks_for_iam_and_the_engine_alone_is_granted_it(deployed: Deployed) -> None:
    operations = [operation for _, operation in routes(deployed, "InternalApi")]
    assert len(operations) == 3
    assert all(operation["security"] == [{"AWS_IAM": []}] for operation in operations)
    granted = {name for name, statement in statements(deployed) if "execute-api" in text(statement["Action"])}
    assert granted == {"EngineFunctionRole"}


def test_no_wildcard_is_granted_without_a_reason(deployed: Deployed) -> None:
    for name, statement in statements(deployed):
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        assert not any("*" in action for action in actions), (name, actions)
        if "*" in text(statement.get("Resource", "")):
            assert statement["Sid"] in WILDCARDS_WITH_A_REASON, (name, statement)


def test_each_function_has_a_role_of_its_own(deployed: Deployed) -> None:
    functions = deployed.of_type("AWS::Lambda::Function")
    assert len({text(function["Role"]) for function in functions.values()}) == len(functions) == 10


def test_console_and_engine_cannot_log_in_to_the_database(deployed: Deployed) -> None:
    roles = deployed.of_type("AWS::IAM::Role")
    holders = {name for name, role in roles.items() if {"Ref": "DatabaseAccess"} in role.get("ManagedPolicyArns", [])}
    assert {"ConsoleFunctionRole", "EngineFunctionRole"}.isdisjoint(holders)
    assert len(holders) == 8


def test_every_function_has_a_log_with_a_retention_and_is_traced(deployed: Deployed) -> None:
    logs = deployed.of_type("AWS::Logs::LogGroup")
    for name, function in deployed.of_type("AWS::Lambda::Function").items():
        assert logs[function["LoggingConfig"]["LogGroup"]["Ref"]]["RetentionInDays"] == "90", name
        assert function["TracingConfig"] == {"Mode": "Active"}, name
        assert function["Architectures"] == ["arm64"], name
        assert function["Runtime"] == "python3.13", name


def test_every_queue_has_a_dead_letter_queue_and_is_encrypted(deployed: Deployed) -> None:
    queues = deployed.of_type("AWS::SQS::Queue")
    ends = {
        queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
        for queue in queues.values()
        if "RedrivePolicy" in queue
    }
    for name, queue in queues.items():
        assert name in ends or "RedrivePolicy" in queue, name
        assert queue.get("SqsManagedSseEnabled") is True or "KmsMasterKeyId" in queue, name
        assert ("SqsManagedSseEnabled" in queue) != ("KmsMasterKeyId" in queue), name


def test_queue_hides_a_message_for_six_times_as_long_as_its_function_may_take(deployed: Deployed) -> None:
    queues, functions = deployed.of_type("AWS::SQS::Queue"), deployed.of_type("AWS::Lambda::Function")
    sources = deployed.of_type("AWS::Lambda::EventSourceMapping")
    assert len(sources) == 2
    for source in sources.values():
        queue = queues[source["EventSourceArn"]["Fn::GetAtt"][0]]
        timeout = functions[next(name for name in functions if name in text(source["FunctionName"]))]["Timeout"]
        assert queue["VisibilityTimeout"] >= 6 * timeout
        assert queue["RedrivePolicy"]["maxReceiveCount"] * queue["VisibilityTimeout"] <= queue["MessageRetentionPeriod"]
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_functions_behind_an_api_end_before_it_gives_up(deployed: Deployed) -> None:
    functions = deployed.of_type("AWS::Lambda::Function")
    for api in ("PublicApi", "InternalApi"):
        for _, operation in routes(deployed, api):
            uri = text(operation["x-amazon-apigateway-integration"]["uri"])
            assert functions[next(name for name in functions if name in uri)]["Timeout"] < 30


def test_a_call_of_a_node_ends_before_the_engines_function_does(deployed: Deployed) -> None:
    assert deployed.of_type("AWS::Lambda::Function")["EngineFunction"]["Timeout"] - CALL_SECONDS >= 5


def test_one_settlement_pass_at_a_time(deployed: Deployed) -> None:
    assert deployed.of_type("AWS::Lambda::Function")["SettlementFunction"]["ReservedConcurrentExecutions"] == 1


@pytest.mark.parametrize(
    ("minutes", "expression", "state"),
    [("1", "rate(1 minute)", "ENABLED"), ("5", "rate(5 minutes)", "ENABLED"), ("0", "rate(1 day)", "DISABLED")],
)
def test_schedules_tick_by_minutes_and_0_switches_them_off(minutes: str, expression: str, state: str) -> None:
    deployed = Deployed(SettlementIntervalMinutes=minutes, ExpiryIntervalMinutes=minutes)
    rules = deployed.of_type("AWS::Events::Rule")
    for name in ("SettlementFunctionTick", "ExpiryFunctionTick"):
        schedule = rules[name]["ScheduleExpression"]
        assert schedule in (expression, {"Fn::Sub": expression})
        assert rules[name]["State"] == state
    assert ("SettlementStopped" in deployed.resources) == (state == "ENABLED")


def test_functions_that_people_and_restate_wait_for_start_from_a_snapshot() -> None:
    functions = Deployed().of_type("AWS::Lambda::Function")
    started = {name for name, function in functions.items() if "SnapStart" in function}
    assert started == {f"{name}Function" for name in ("Ingestion", "Runs", "Workflows", "Memory", "Console", "Engine")}
    older = Deployed(Runtime="python3.11").of_type("AWS::Lambda::Function")
    assert not any("SnapStart" in function for function in older.values())


def test_schema_is_up_to_date_before_a_function_of_the_release_runs(deployed: Deployed) -> None:
    using = {f"{name}Function" for name in ("Ingestion", "Runs", "Workflows", "Memory", "Settlement", "FollowUp")}
    for name in using | {"ExpiryFunction"}:
        depends = deployed.resources[name]["DependsOn"]
        assert "Schema" in ([depends] if isinstance(depends, str) else depends), name


def test_schema_waits_for_what_answers_for_the_database() -> None:
    def needed(**parameters: str) -> str:
        return str(Deployed(**parameters).of_type("Custom::Schema")["Schema"]["Database"])

    assert needed(**OWN_DATABASE) == "{'Ref': 'DatabaseProxyTargets'}"
    assert needed(**OWN_DATABASE | {"CreateDatabaseProxy": "false"}) == "{'Ref': 'DatabaseInstance'}"
    assert needed() == ""


def test_every_build_publishes_every_function_that_has_an_alias(tmp_path: Path) -> None:
    """SAM publishes what has changed in the template, where a parameter with another value has not."""

    def versions(template: Path) -> set[str]:
        resources = transformed(template)["Resources"]
        return {name for name, resource in resources.items() if resource["Type"] == "AWS::Lambda::Version"}

    builds = []
    for name in ("first.yaml", "second.yaml"):
        template = tmp_path / name
        template.write_text(TEMPLATE.read_text())
        stamp(template)
        builds.append(versions(template))

    first, second = builds
    assert len(first) == len(second) == len(versions(TEMPLATE)) == 7
    assert first.isdisjoint(second)


def test_engine_is_registered_by_a_version_that_outlives_the_next_deployment() -> None:
    deployed = Deployed()
    version = deployed.of_type("Custom::EngineRegistration")["EngineRegistration"]["EngineVersionArn"]["Ref"]
    assert deployed.resources[version]["Type"] == "AWS::Lambda::Version"
    assert deployed.resources[version]["DeletionPolicy"] == "Retain"
    unregistered = Deployed(RestateAdminUrl="")
    assert "EngineRegistration" not in unregistered.resources
    assert "NOT REGISTERED" in unregistered.outputs["EngineRegistration"]


def test_restate_of_another_account_calls_the_engine_alone_and_gives_its_external_id() -> None:
    role = Deployed(**RESTATE_CLOUD).of_type("AWS::IAM::Role")["EngineInvokerRole"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"AWS": RESTATE_CLOUD["RestatePrincipalArn"]}
    assert trust["Condition"] == {"StringEquals": {"sts:ExternalId": "env_1"}}
    (statement,) = role["Policies"][0]["PolicyDocument"]["Statement"]
    assert statement["Action"] == "lambda:InvokeFunction"
    assert statement["Resource"] == {"Fn::Sub": "${EngineFunction.Arn}:*"}


def test_deletion_of_the_stack_keeps_the_data() -> None:
    deployed = Deployed(**OWN_DATABASE)
    cluster = deployed.resources["DatabaseCluster"]
    assert (cluster["DeletionPolicy"], cluster["UpdateReplacePolicy"]) == ("Snapshot", "Snapshot")
    assert cluster["Properties"]["DeletionProtection"] is True
    assert cluster["Properties"]["StorageEncrypted"] is True


@pytest.mark.parametrize(
    ("parameters", "url"),
    [
        ({}, ""),
        (TOKENS, TOKENS["DatabaseUrl"]),
        (OWN_DATABASE, {"Fn::Sub": "postgresql://${DatabaseProxy.Endpoint}:5432/meridian"}),
        (
            OWN_DATABASE | {"CreateDatabaseProxy": "false"},
            {"Fn::Sub": "postgresql://${DatabaseCluster.Endpoint.Address}:${DatabaseCluster.Endpoint.Port}/meridian"},
        ),
    ],
)
def test_functions_are_told_where_the_database_is(parameters: dict[str, str], url: Any) -> None:
    for function in Deployed(**parameters).of_type("AWS::Lambda::Function").values():
        assert function["Environment"]["Variables"]["RUN_DB_URL"] == url


def test_each_parameter_is_described_and_shown_in_a_group() -> None:
    from tests.deployment.cloudformation import transformed

    template = transformed()
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    shown = [name for group in groups for name in group["Parameters"]]
    assert sorted(shown) == sorted(template["Parameters"])
    assert all(len(parameter["Description"]) > 20 for parameter in template["Parameters"].values())


def test_alarms_cover_what_wakes_somebody(deployed: Deployed) -> None:
    watched = {
        alarm.get("MetricName")
        or next(m["MetricStat"]["Metric"]["MetricName"] for m in alarm["Metrics"] if "MetricStat" in m)
        for alarm in deployed.of_type("AWS::CloudWatch::Alarm").values()
    }
    assert watched >= {
        "ApproximateNumberOfMessagesVisible",
        "ApproximateAgeOfOldestMessage",
        "5xx",
        "Errors",
        "meridian.settlement.passes",
        "meridian.ready",
        "meridian.runs.oldest_live",
    }


def test_no_access_log_holds_a_path_or_a_query(deployed: Deployed) -> None:
    """A path parameter or a query may name a subject; the route's pattern does not."""
    for stage in deployed.of_type("AWS::ApiGatewayV2::Stage").values():
        log_format = stage["AccessLogSettings"]["Format"]
        assert "$context.routeKey" in log_format
        for variable in ("$context.path", "$context.http", "$context.requestParameters", "queryString"):
            assert variable not in log_format


def test_template_is_valid_to_the_linter() -> None:
    import subprocess

    from tests.services.stack import stack_python

    command = [str(stack_python().with_name("sam")), "validate", "--lint", "--template", str(TEMPLATE)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={"SAM_CLI_TELEMETRY": "0", "HOME": "/tmp", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
