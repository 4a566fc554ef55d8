"""The authorities that the layer carries for the databases of AWS."""

import re
import warnings
from datetime import UTC, datetime

import pytest
from cryptography import x509

from meridian.database.logins import AMAZON_ROOTS


@pytest.fixture(scope="module")
def names() -> dict[str, x509.Certificate]:
    """The certificates by their common name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one region's serial number is not what RFC 5280 asks for
        certificates = x509.load_pem_x509_certificates(AMAZON_ROOTS.read_bytes())
    return {str(c.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value): c for c in certificates}


def test_every_certificate_is_a_valid_root_that_signs_itself(names: dict[str, x509.Certificate]) -> None:
    for certificate in names.values():
        certificate.verify_directly_issued_by(certificate)
        assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        assert certificate.not_valid_after_utc > datetime.now(UTC)


def test_each_region_has_its_three_authorities(names: dict[str, x509.Certificate]) -> None:
    regions = {match[1] for name in names if (match := re.match(r"Amazon RDS (\S+) Root CA", name))}
    assert {"eu-west-1", "eu-west-3", "eu-central-1", "us-east-1"} <= regions
    for region in regions:
        for kind in ("RSA2048", "RSA4096", "ECC384"):
            assert f"Amazon RDS {region} Root CA {kind} G1" in names


def test_authorities_of_rds_proxy_are_among_them(names: dict[str, x509.Certificate]) -> None:
    assert {f"Amazon Root CA {number}" for number in (1, 2, 3, 4)} <= names.keys()
