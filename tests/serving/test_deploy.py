"""The unit and the image run the server with no more rights than it needs."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from transduce.apps.cli.main import app
from transduce.apps.serving.server_settings import ServerSettings

DEPLOY = Path(__file__).parents[2] / "deploy"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, and what they say."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ")
    found = [line.split(None, 1) for line in whole.splitlines() if line.strip()]
    return [(name.upper(), rest) for name, rest in found]


def unit() -> dict[str, list[str]]:
    """The settings of the unit."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "transduce.service").read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_the_image_is_pinned_rootless_and_watched() -> None:
    found = instructions()
    names = [name for name, _ in found]
    (base,) = [rest for name, rest in found if name == "ARG"]
    assert re.fullmatch(r"BASE=\S+:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", base)
    assert [rest.split()[0] for name, rest in found if name == "FROM"] == ["${BASE}"] * 2
    last = max(n for n, name in enumerate(names) if name == "FROM")
    stage = dict(found[last:])
    uid, _, gid = stage["USER"].partition(":")
    assert int(uid) > 0 and int(gid) > 0
    assert "/health" in stage["HEALTHCHECK"]
    check = json.loads(stage["HEALTHCHECK"].partition("CMD")[2])
    compile(check[2], "health check", "exec")
    assert json.loads(stage["ENTRYPOINT"]) == ["transduce", "serve"]
    assert "pip" not in " ".join(rest for name, rest in found[last:] if name == "RUN")
    (install,) = [rest for name, rest in found if name == "RUN" and "pip install" in rest]
    assert "https://download.pytorch.org/whl/cpu" in shlex.split(install) and "constraints.txt" in install


def test_the_unit_has_limits_and_ends_after_the_grace() -> None:
    found = unit()
    for name in ("MemoryMax", "LimitNOFILE", "TasksMax", "SystemCallFilter", "WatchdogSec", "User"):
        assert found[name] != [""]
    (start,) = found["ExecStart"]
    words = shlex.split(start)
    assert int(found["TimeoutStopSec"][0]) > int(words[words.index("--grace") + 1])


def test_the_unit_names_options_that_there_are() -> None:
    text = "".join((DEPLOY / name).read_text(encoding="utf-8") for name in ("transduce.service", "nginx.conf"))
    serve = app.all_commands()["serve"]
    options = {option for parameter in serve.params for option in parameter.opts}
    assert set(re.findall(r"--(?!system|home)[a-z-]+", text)) <= options


def test_the_proxy_has_the_limits_of_the_server() -> None:
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    found = dict(re.findall(r"^ +(\w+) ([^;{]+);", text, re.MULTILINE))
    limits = ServerSettings()
    assert found["client_max_body_size"] == f"{limits.max_upload_bytes // 2**20}m"
    assert found["client_header_timeout"] == f"{limits.header_timeout}s"
    assert found["client_body_timeout"] == found["send_timeout"] == f"{limits.body_timeout}s"
    assert found["proxy_read_timeout"] == f"{10 * limits.timeout}s" and found["proxy_pass"].endswith("transduce")
    assert text.count("{") == text.count("}")


def test_the_unit_is_hardened() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(DEPLOY / "transduce.service")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    if told is None:
        pytest.skip(f"systemd-analyze says nothing of a file: {done.stderr.strip()[:100]}")
    assert float(told[1]) < 2.0
