"""Withdrawing the validation request of a run that ended while it waited for the decision."""

import logging
from collections.abc import Collection, Mapping
from urllib.parse import quote

from meridian.clock import now
from meridian.errors import RestateUnavailable
from meridian.restate.ingress import Ingress
from meridian.runs.model import RunRow
from meridian.settlement.deadline import Timeout

logger = logging.getLogger("meridian.runs")

PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))


def withdraw_request(
    ingress: Ingress, row: RunRow, pending_id: str, record_ports: Collection[str], timeout: Timeout
) -> bool:
    """Sends the closure `withdrawn` for each subject of the run whose kind has a record port.

    True once every send was accepted. A send that is repeated, by another pass or another replica, carries the
    same idempotency key and is discarded by Restate.
    """
    sent = [
        _withdraw_one(ingress, row, pending_id, kind, subject_id, timeout())
        for kind, subject_id in sorted(row.subjects.items())
        if kind in record_ports
    ]
    return all(sent)


def _withdraw_one(ingress: Ingress, row: RunRow, pending_id: str, kind: str, subject_id: str, timeout: float) -> bool:
    where = {"runId": row.id, "workflow": row.slug, "kind": kind}
    nobody = {"by": None, "comment": None, "data": None}
    closure = {"requestId": f"{row.id}:{pending_id}", "outcome": "withdrawn", **nobody, "closedAt": now()}
    message: Mapping[str, object] = {"kind": kind, "id": subject_id, "closure": closure}
    try:
        ingress.send_closure(message, idempotency_key(row.id, pending_id, kind), timeout)
    except RestateUnavailable as error:
        logger.warning(
            "retrait de la demande de validation impossible : run non figé, repris au règlement suivant",
            extra={**where, "error": error.detail},
        )
        return False
    logger.debug("demande de validation retirée", extra=where)
    return True


def idempotency_key(run_id: str, pending_id: str, kind: str) -> str:
    """The spec's key; what a header cannot hold (an event id may be in any script) is percent-encoded."""
    return quote(f"withdraw:{run_id}:{pending_id}:{kind}", safe=PRINTABLE)
