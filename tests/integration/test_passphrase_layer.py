"""Second layer of the grab function, as deployed."""

import io
import json
import zipfile
from typing import Any

from local.stack import Stack

PROBE = """
import sys
from redpacket.containers import containers
def handler(event, context):
    before = {"opencc", "pypinyin", "rapidfuzz"} & set(sys.modules)
    alike = containers.packets.phrases.similarity(event["said"], event["phrase"])
    simplified = containers.packets.phrases.simplified(event["said"])
    import opencc, pypinyin, rapidfuzz
    return {"before": sorted(before), "similarity": alike, "simplified": simplified,
            "from": [opencc.__file__, pypinyin.__file__, rapidfuzz.__file__]}
"""


def _probe(stack: Stack, like: str) -> Any:
    """Deploy a function with the layers of the function *like*, and return the new function's
    result.
    """
    functions = stack.aws("lambda")
    its = functions.get_function_configuration(FunctionName=stack.outputs[like])
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as code:
        code.writestr("app.py", PROBE)
    name = f"probe-{like}"
    functions.create_function(
        FunctionName=name,
        Runtime=its["Runtime"],
        Role=its["Role"],
        Handler="app.handler",
        Code={"ZipFile": archive.getvalue()},
        Layers=[layer["Arn"] for layer in its["Layers"]],
        Environment=its["Environment"],
        Timeout=20,
    )
    help_body = {"said": "恭禧發才", "phrase": "恭喜发财"}
    answer = functions.invoke(FunctionName=name, Payload=json.dumps(help_body).encode())
    return json.loads(answer["Payload"].read())


def test_a_grab_can_compare_by_sound_and_imports_the_libraries_only_then(stack: Stack) -> None:
    answer = _probe(stack, "GrabFunction")

    assert (answer["before"], answer["similarity"]) == ([], 100), answer
    assert answer["simplified"] == "恭禧发才"
    assert not any("venv" in file for file in answer["from"]), "the layer's, not this machine's"


def test_no_other_function_has_these_libraries(stack: Stack) -> None:
    answer = _probe(stack, "SendFunction")

    assert answer["errorMessage"] == "No module named 'pypinyin'", answer
