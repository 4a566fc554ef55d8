"""Writes the certificates that Amazon's databases are checked against, from the bundles in PEM on standard input.

    curl https://truststore.pki.rds.amazonaws.com/global/global-bundle.pem \
         https://www.amazontrust.com/repository/AmazonRootCA{1,2,3,4}.pem | python scripts/database_certificates.py

RDS and Aurora present certificates of the regions' RDS authorities, RDS Proxy those of Amazon Trust Services. Only
roots that sign themselves, are named so, and have not expired are kept.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

TARGET = Path(__file__).resolve().parent.parent / "layers/meridian/meridian/database/amazon-roots.pem"
PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
NAME = re.compile(r"CN=(Amazon RDS \S+ Root CA \w+ G\d+|Amazon Root CA \d|Starfield Services Root .+ - G2)(,|$)")


def roots(text: str) -> Iterator[tuple[str, x509.Certificate]]:
    """The certificates to keep, each with its common name. Raises `InvalidSignature` for a forged one."""
    for pem in PEM.findall(text):
        certificate = x509.load_pem_x509_certificate(pem.encode())
        name = NAME.search(certificate.subject.rfc4514_string())
        if name is None or certificate.not_valid_after_utc < datetime.now(UTC):
            continue
        certificate.verify_directly_issued_by(certificate)
        yield name[1], certificate


def main() -> None:
    found = {
        certificate.fingerprint(hashes.SHA256()): (name, certificate) for name, certificate in roots(sys.stdin.read())
    }
    ordered = sorted(found.values(), key=lambda item: item[0])
    with TARGET.open("w") as file:
        for name, certificate in ordered:
            file.write(f"# {name}, until {certificate.not_valid_after_utc:%Y-%m-%d}\n")
            file.write(certificate.public_bytes(serialization.Encoding.PEM).decode())
    print(f"{len(ordered)} certificates in {TARGET}", file=sys.stderr)


if __name__ == "__main__":
    main()
