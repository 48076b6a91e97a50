"""Requests made from the description of both APIs, in two ways: none is answered with a 5xx."""

from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from running_server import Serve

from transduce.apps.projects.project import Projects

pytestmark = pytest.mark.slow

EXAMPLES = 15  # of each of some thirty operations that take anything: some 500
SERVED = {"source": "en", "target": "de", "source_lang": "en", "target_lang": "de", "project": "shop"}
FILES = ("/memory", "/glossary")
"""The ends of paths whose bodies are files: no bytes break their description."""


@pytest.mark.thorough
@pytest.mark.parametrize("is_valid", [True, False], ids=["described", "broken"])
def test_no_generated_request_is_a_mistake_of_the_server(
    serve: Serve, tiny_run: Path, tmp_path: Path, is_valid: bool
) -> None:
    import schemathesis  # takes seconds, which processes that only collect this test need not wait for
    from schemathesis.checks import not_a_server_error

    mode = schemathesis.GenerationMode.POSITIVE if is_valid else schemathesis.GenerationMode.NEGATIVE
    answers: Counter[tuple[str, int]] = Counter()

    def ask(case: Any) -> None:
        if isinstance(case.body, dict):
            case.body.update({name: value for name, value in SERVED.items() if name in case.body})
        if len(case.path_parameters.get("name", "")) % 2:  # the others stay what was made up
            case.path_parameters["name"] = SERVED["project"]
        answers[case.path, case.call_and_validate(checks=[not_a_server_error]).status_code] += 1

    projects = Projects(tmp_path)
    projects.create("shop", "en", "de")
    running = serve(tiny_run, projects=projects, max_characters=2000)
    settings = hypothesis.settings(max_examples=EXAMPLES, suppress_health_check=list(hypothesis.HealthCheck))
    schema = schemathesis.openapi.from_url(f"{running.url}/openapi.json")
    operations = [operation.ok() for operation in schema.get_all_operations()]
    for operation in operations:
        if not is_valid and operation.path.endswith(FILES):
            continue
        if operation.body or (operation.path_parameters and is_valid):
            settings(hypothesis.given(operation.as_strategy(generation_mode=mode))(ask))()
    told = f"{answers.total()} answers: {answers}"
    assert answers.total() >= (25 if is_valid else 5) * EXAMPLES, told
    if is_valid:
        assert answers["/v1/translate", 200] > EXAMPLES / 10, told  # which requests are refused is chance
