"""API reference: one page with openapi.json, rendered by Swagger UI.

The page needs no server: a browser can open it as a file.
"""

import json
import shutil
from typing import Final

from local import places

PAGE: Final = places.LOCAL / "reference" / "index.html"
_RENDERER: Final = places.ROOT / "web" / "node_modules" / "swagger-ui-dist"
_FILES: Final = ("swagger-ui.css", "swagger-ui-bundle.js")
_HTML: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>redpacket: API</title>
<link rel="stylesheet" href="swagger-ui.css">
<div id="api"></div>
<script src="swagger-ui-bundle.js"></script>
<!-- Swagger UI resolves no reference against a file. -->
<base href="http://localhost/">
<script>SwaggerUIBundle({dom_id: "#api", supportedSubmitMethods: [], spec: %s})</script>
</html>
"""


def main() -> None:
    """Write the page, and copy Swagger UI beside the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        shutil.copy(_RENDERER / name, PAGE.parent)
    contract = json.loads((places.ROOT / "openapi.json").read_text(encoding="utf-8"))
    # Escape the contract, so that no text in the contract can close the script element.
    PAGE.write_text(_HTML % json.dumps(contract).replace("</", "<\\/"), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(places.ROOT)}: open it in a browser")


if __name__ == "__main__":
    main()
