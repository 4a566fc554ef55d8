"""Follow-ups: settles the runs that an ingestion started or a signal reached, a few seconds later."""

from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from meridian.config import Settings
from meridian.errors import RestateUnavailable
from meridian.observability import observed
from meridian.settlement.deadline import Deadline, request_timeout
from meridian.settlement.follow_ups import runs_of
from meridian.wiring import Wiring

# What the end of the invocation may take.
MARGIN_SECONDS = 3.0

wiring = Wiring(Settings(), needs_definitions=False)
processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> Any:
    """A batch of messages `{"runIds": […]}`; only those that failed are delivered again, a few times."""
    deadline = Deadline(context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS)

    def timeout() -> float:
        """Half of the time that is left: one run that Restate does not answer for leaves some to the others."""
        return request_timeout(deadline.remaining() / 2)

    def settle(record: SQSRecord) -> None:
        settled = [wiring.settlement.settle_by_id(run_id, timeout) for run_id in runs_of(record.body)]
        if not all(settled):
            raise RestateUnavailable("Restate did not tell the end of every run.")

    return process_partial_response(event, settle, processor, context)
