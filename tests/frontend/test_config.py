"""`config`: checked fields, overrides for a block and a thread."""

import threading

import pytest

from workbench.config import Config, Settings


@pytest.fixture
def config():
    return Config(Settings())


def test_fields_are_read_and_set(config):
    assert config.strict is False and config.threads == 0
    config.strict = True
    config.threads = 3
    assert config.strict is True and config.threads == 3
    assert "threads=3" in repr(config)


def test_overrides_last_for_their_block_and_nest(config):
    with config(strict=True):
        assert config.strict
        with config(strict=False, threads=2):
            assert not config.strict and config.threads == 2
        assert config.strict and config.threads == 0
    assert not config.strict


def test_overrides_are_the_threads_own(config):
    seen = []
    with config(strict=True):
        thread = threading.Thread(target=lambda: seen.append(config.strict))
        thread.start()
        thread.join()
    assert seen == [False]


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("nothing", 1, AttributeError),
        ("threads", -1, ValueError),
        ("threads", True, TypeError),
        ("strict", 1, TypeError),
    ],
)
def test_mistakes_are_told(config, name, value, error):
    with pytest.raises(error):
        setattr(config, name, value)
    with pytest.raises(error), config(**{name: value}):
        pass


def test_unknown_fields_name_the_known_ones(config):
    with pytest.raises(AttributeError, match="threads"):
        config.nothing  # noqa: B018


def test_the_environment_sets_defaults(monkeypatch):
    monkeypatch.setenv("WORKBENCH_DUMP", "somewhere")
    monkeypatch.setenv("WORKBENCH_STRICT", "1")
    assert Config().dump_dir == "somewhere"
    assert Config().strict is True
