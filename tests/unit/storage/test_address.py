"""What a database's URL means for the connections to it."""

import pytest
from sqlalchemy import make_url

from datasmith.errors import ConfigError
from datasmith.storage.address import CONNECT_S, KEEPALIVES, connect_arguments, refuse_rest_only


def test_a_transaction_pooler_gets_no_prepared_statements() -> None:
    """On Supabase's port 6543 the next statement may reach another server process, which does not know them."""
    pooled = make_url("postgresql://u:p@pooler.example.org:6543/postgres")
    assert connect_arguments(pooled) == {"connect_timeout": CONNECT_S, **KEEPALIVES, "prepare_threshold": None}
    assert connect_arguments(pooled.set(port=5432)) == {"connect_timeout": CONNECT_S, **KEEPALIVES}


def test_the_users_own_time_limits_stay() -> None:
    """They stand in the URL, and are not given twice."""
    own = "connect_timeout=3&keepalives_idle=9&keepalives_interval=9&keepalives_count=9"
    assert connect_arguments(make_url(f"postgresql://h/d?{own}")) == {
        "tcp_user_timeout": KEEPALIVES["tcp_user_timeout"]
    }


@pytest.mark.parametrize(
    ("address", "example"),
    [
        ("http://127.0.0.1:54321", "postgres:postgres@127.0.0.1:54322"),
        ("https://abc.supabase.co", "POOLER_HOST:5432"),
    ],
)
def test_the_rest_interface_alone_is_refused_with_the_address_to_try(address: str, example: str) -> None:
    """Another one for Supabase on this machine than for Supabase's own servers."""
    with pytest.raises(ConfigError, match="DATABASE_URL") as raised:
        refuse_rest_only(address)
    assert example in str(raised.value)
