"""Does what its path parameter, or the `do` of its event, says."""

import json
import os
import time
from typing import Any

from shared_by_layer import WORD

invocations = 0


def handler(event: dict[str, Any], context: Any) -> Any:
    global invocations  # noqa: PLW0603 - the state of an execution environment
    invocations += 1
    what = event.get("pathParameters", {}).get("what") or event.get("do")
    if what == "fail":
        raise RuntimeError("as asked")
    if what == "exit":
        os._exit(3)
    if what == "hang":
        time.sleep(60)
    if what == "nonsense":
        return {"statusCode": "many"}
    if what == "binary":
        return {
            "statusCode": 200,
            "headers": {"Content-Type": "image/png"},
            "body": "iVBORw==",
            "isBase64Encoded": True,
        }
    if what == "half-second":
        time.sleep(0.5)
    print("handled", json.dumps({"do": what, "event": event}))
    return {
        "statusCode": 200,
        "headers": {"content-type": "application/json", "x-invocations": str(invocations)},
        "cookies": ["a=1", "b=2"],
        "body": json.dumps(
            {
                "event": event,
                "layer": WORD,
                "pid": os.getpid(),
                "remaining": context.get_remaining_time_in_millis(),
                "arn": context.invoked_function_arn,
                "environment": {
                    k: v
                    for k, v in os.environ.items()
                    if k in ("GREETING", "RUN_DB_URL", "RESTATE_URL", "RUN_DB_SECRET_ARN", "AWS_ACCESS_KEY_ID")
                },
            }
        ),
    }
